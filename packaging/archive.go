package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path"
	"time"
)

// file is one of an archive.
type file struct {
	name string
	data []byte
	run  bool // whether it is a program
}

func (f file) mode() os.FileMode {
	if f.run {
		return 0o755
	}
	return 0o644
}

// tarball packs files as .tar.gz, always to the same bytes.
func tarball(files []file, at time.Time) ([]byte, error) {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: int64(f.mode()), Size: int64(len(f.data)), ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err = z.Close()
	return packed.Bytes(), err
}

// zipped packs files as .zip, always to the same bytes.
func zipped(files []file, at time.Time) ([]byte, error) {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode())
		to, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return packed.Bytes(), err
}

// documents come with every archive.
func (r *release) documents() ([]file, error) {
	all := []file{{name: "NOTICES", data: r.notices}}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, file{name: name, data: data})
	}
	return all, nil
}

// archives are a folder each, with the binary, its documents, manual pages and
// completions.
func (r *release) archives() error {
	documents, err := r.documents()
	if err != nil {
		return err
	}
	manual, err := manuals("bridge", r.version, r.made)
	if err != nil {
		return err
	}
	completions, err := completions("bridge")
	if err != nil {
		return err
	}
	for _, t := range r.targets {
		binary, err := os.ReadFile(t.binary)
		if err != nil {
			return err
		}
		folder := fmt.Sprintf("bridge_%s_%s_%s", r.version, t.os, t.arch)
		files := []file{{t.program(), binary, true}}
		files = append(append(append(files, documents...), manual...), completions...)
		for i := range files {
			files[i].name = path.Join(folder, files[i].name)
		}
		pack, ending := tarball, ".tar.gz"
		if t.os == "windows" {
			pack, ending = zipped, ".zip"
		}
		packed, err := pack(files, r.made)
		if err != nil {
			return err
		}
		if err := r.write(folder+ending, packed); err != nil {
			return err
		}
	}
	return nil
}
