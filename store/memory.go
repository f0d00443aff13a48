package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Memory is one value that is kept under a key. Value and Metadata are JSON,
// and are kept as they are.
type Memory struct {
	Key      string          `json:"key"`
	Value    json.RawMessage `json:"value,omitempty"`
	Metadata json.RawMessage `json:"metadata"`
	Created  string          `json:"created_at"` // such as 2026-11-29T18:04:05.000000+00:00
	Updated  string          `json:"updated_at"`

	version string
}

// stamp is the form of times: one that every Python can read, and whose order
// is that of its letters.
const stamp = "2006-01-02T15:04:05.000000+00:00"

// Version is another one for every state of a memory, "" if it is not there.
func (m *Memory) Version() string {
	if m == nil {
		return ""
	}
	return m.version
}

// Load returns the memory of a key, nil if there is none. A file that is no
// memory is a *CorruptError.
func (p *Project) Load(key string) (*Memory, error) {
	return p.read(fileName(key) + ".json")
}

// maxFile bounds what is read of a file. This package writes none so large.
const maxFile = 64 << 20

func (p *Project) read(name string) (*Memory, error) {
	path := filepath.Join(p.memory(), name)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, err
	}
	corrupt := func(why string) error {
		return &CorruptError{File: "memory/" + name, Path: path, Why: why}
	}
	m := &Memory{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, corrupt(err.Error())
	}
	switch {
	case m.Value == nil:
		return nil, corrupt("it has no value")
	case fileName(m.Key)+".json" != name:
		return nil, corrupt(fmt.Sprintf("it holds the key %q, whose file is another", m.Key))
	}
	for _, at := range []string{m.Created, m.Updated} {
		if _, err := time.Parse(time.RFC3339, at); err != nil {
			return nil, corrupt(fmt.Sprintf("%q is not a time", at))
		}
	}
	if m.Metadata == nil {
		m.Metadata = json.RawMessage("{}")
	}
	sum := sha256.Sum256(data)
	m.version = hex.EncodeToString(sum[:16])
	return m, nil
}

// Save keeps a value under a key. If only is not nil it does so only as long
// as the version of what is there is still that one; if not it saves nothing
// and returns what is there, and false. The time is that of the change.
//
// Without a condition it replaces whatever is there, also a corrupt file.
func (p *Project) Save(ctx context.Context, m Memory, only *string, b Bounds, now time.Time) (*Memory, bool, error) {
	saved := false
	result := &m
	err := p.exclusive(ctx, func() error {
		old, err := p.Load(m.Key)
		var corrupt *CorruptError
		if err != nil && (only != nil || !errors.As(err, &corrupt)) {
			return err
		}
		if only != nil && old.Version() != *only {
			result = old
			return nil
		}
		m.Created = now.UTC().Format(stamp)
		m.Updated = m.Created
		if old != nil {
			m.Created = old.Created
		}
		if m.Metadata == nil && only != nil && old != nil {
			m.Metadata = old.Metadata
		}
		if m.Metadata == nil {
			m.Metadata = json.RawMessage("{}")
		}
		saved = true
		return p.write(&m, b)
	})
	return result, saved && err == nil, err
}

// write writes a memory's file. The caller holds the lock.
func (p *Project) write(m *Memory, b Bounds) error {
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return err
	}
	path := filepath.Join(p.memory(), fileName(m.Key)+".json")
	size, keys, err := p.used(path)
	switch {
	case err != nil:
		return err
	case keys+1 > b.Keys:
		return &FullError{fmt.Sprintf("there are %d keys already, of at most %d", keys, b.Keys)}
	case size+int64(data.Len()) > b.Bytes:
		return &FullError{fmt.Sprintf("this takes %d bytes, and %d of at most %d are in use", data.Len(), size, b.Bytes)}
	}
	return replace(path, data.Bytes())
}

// Delete forgets a key, whatever state its file is in, and tells whether there
// was one.
func (p *Project) Delete(ctx context.Context, key string) (bool, error) {
	found := false
	err := p.exclusive(ctx, func() error {
		path := filepath.Join(p.memory(), fileName(key)+".json")
		err := os.Remove(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		found = true
		return syncDir(filepath.Dir(path))
	})
	return found, err
}

// List returns the memories without their values, in the order of their keys.
func (p *Project) List(ctx context.Context) ([]Memory, error) {
	// One at a time: it may be much to read.
	select {
	case p.local <- struct{}{}:
		defer func() { <-p.local }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	entries, err := os.ReadDir(p.memory())
	if err != nil {
		return nil, err
	}
	list := []Memory{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m, err := p.read(e.Name())
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue // deleted meanwhile
		}
		m.Value = nil
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b Memory) int { return strings.Compare(a.Key, b.Key) })
	return list, nil
}
