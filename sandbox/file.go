package sandbox

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"
)

// This file is what a session gives beside text: pictures, and the files of
// /workspace. All of it is the guest's word.

// Image is a picture.
type Image struct {
	MIME string // image/png, image/jpeg, image/gif, image/webp or image/svg+xml
	Data []byte
}

// File is a file of /workspace.
type File struct {
	Path string `json:"path"` // below /workspace
	Size int64  `json:"size"` // in bytes
}

const (
	// maxImages and maxImageBytes bound the pictures that are taken of one run.
	maxImages     = 64
	maxImageBytes = 16 << 20

	// maxFiles bounds the files that a run reports.
	maxFiles = 100

	// MaxRead is the size in bytes of the largest file that can be read.
	MaxRead = 8 << 20

	// readTimeout bounds a guest's answer to a read. Its code may keep it from
	// answering for as long as it does not let other threads run.
	readTimeout = 20 * time.Second
)

// image takes a picture that the guest shows.
func (run *active) image(m message) error {
	var p struct {
		Run  int64  `json:"run"`
		MIME string `json:"mime"`
		Data []byte `json:"data"`
	}
	if err := strict(m.Params, &p); err != nil {
		return err
	}
	switch p.MIME {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml":
	default:
		return fmt.Errorf("a picture of type %q", clip(p.MIME, 40))
	}
	if p.Run != run.id {
		return fmt.Errorf("a picture for run %d in run %d", p.Run, run.id)
	}
	if len(run.images) >= maxImages || run.imageBytes+len(p.Data) > maxImageBytes {
		run.moreImages++
		return nil
	}
	run.images = append(run.images, Image{p.MIME, p.Data})
	run.imageBytes += len(p.Data)
	return nil
}

// files are those of an answer that can be: the guest is not believed that
// they are, and what it calls them must not mean another file, be of any length,
// or hold what a terminal or a line of text takes for more than a name. No more
// of them are read than are taken.
type files []File

// UnmarshalJSON reads the list.
func (list *files) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if start, err := d.Token(); err != nil || start == nil {
		return err
	} else if start != json.Delim('[') {
		return errors.New("files that are not a list")
	}
	for n := 0; d.More() && n < 10*maxFiles; n++ {
		var f File
		if err := d.Decode(&f); err != nil {
			return err
		}
		if f.Size >= 0 && ValidPath(f.Path) && !strings.ContainsFunc(f.Path, unseen) && len(*list) < maxFiles {
			*list = append(*list, f)
		}
	}
	return nil
}

// saved are the files of pictures of an answer that can be.
func saved(list []string) []string {
	var good []string
	for _, f := range list {
		if path.IsAbs(f) && len(f) <= 1000 && !strings.ContainsFunc(f, unseen) && len(good) < maxFiles {
			good = append(good, f)
		}
	}
	return good
}

// unseen tells whether a character is not seen as itself: it ends a line, is a
// control character, or turns the direction of writing.
func unseen(r rune) bool {
	return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar
}

// ValidPath tells whether a path names a file below /workspace, in its
// shortest form.
func ValidPath(name string) bool {
	return name != "" && len(name) <= 1000 && name[0] != '/' && path.Clean(name) == name &&
		name != "." && name != ".." && !strings.HasPrefix(name, "../") && !strings.ContainsRune(name, 0)
}

// Read reads a file of /workspace, also while a run is going on. The error is
// one that can be told to the agent.
func (s *Session) Read(ctx context.Context, name string) ([]byte, error) {
	if !ValidPath(name) {
		return nil, errors.New("no path below /workspace")
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	answer := make(chan read, 1)
	s.mu.Lock()
	s.serial++
	id := s.serial
	s.reads[id] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, open := s.reads[id]; open {
			s.reads[id] = nil // its answer may still come
		}
	}()
	frame, err := encodeFrame(message{ID: &id, Method: "read", Params: mustRaw(map[string]any{"path": name, "most": MaxRead})})
	if err != nil {
		return nil, err
	}
	if err := s.send(frame); err != nil {
		return nil, err
	}
	select {
	case r := <-answer:
		if r.Error != "" {
			return nil, errors.New(clip(r.Error, 200))
		}
		return base64.StdEncoding.DecodeString(r.Data)
	case <-s.gone:
		return nil, s.lossError()
	case <-ctx.Done():
		return nil, fmt.Errorf("the session does not answer: %w", ctx.Err())
	}
}

// read is the guest's answer to a read.
type read struct {
	Data  string `json:"data"`
	Error string `json:"error"`
}

// fetched takes an answer if it is one to a read.
func (s *Session) fetched(m message) (taken bool, err error) {
	s.mu.Lock()
	answer, open := s.reads[*m.ID]
	delete(s.reads, *m.ID)
	s.mu.Unlock()
	if !open {
		return false, nil
	}
	if m.Error != nil {
		return true, errors.New("an error in answer to a read")
	}
	var r read
	if err := strict(m.Result, &r); err != nil {
		return true, err
	}
	if answer != nil {
		answer <- r
	}
	return true, nil
}
