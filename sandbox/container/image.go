package container

import (
	"archive/tar"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"time"
)

// Repository is the name of the bridge's own images, without the tag.
const Repository = "localhost/bridge-python"

// OwnImage is the name of the image that a Containerfile builds. Its tag is a
// digest of the Containerfile, so a bridge never runs the image of another version.
func OwnImage(containerfile []byte) string {
	sum := sha256.Sum256(containerfile)
	return Repository + ":" + hex.EncodeToString(sum[:])[:12]
}

// A Build is an image to build. Its context holds the Containerfile alone.
type Build struct {
	Tag           string
	Containerfile []byte
	Args          map[string]string // values of its ARG lines
	Output        io.Writer         // the build's output, nil to drop it
	Network       string            // of its RUN lines; "" is host
}

// An Image is one name of an image that an engine has.
type Image struct {
	Name    string // with its tag
	ID      string
	Size    int64 // bytes
	Created time.Time
}

// SortImages sorts by name.
func SortImages(list []Image) {
	slices.SortFunc(list, func(a, b Image) int { return cmp.Compare(a.Name, b.Name) })
}

// BuildContext packs what a builder is sent: the Containerfile, under a name.
func BuildContext(name string, containerfile []byte) (io.Reader, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(containerfile))}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(containerfile); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return &packed, nil
}
