package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ToolsFile is the name of the file of saved tools in a project's folder.
const ToolsFile = "user_tools.py"

// Tools are the source of the saved tools, and another version for every state
// of it. Both are "" if there are none.
type Tools struct {
	Source  string `json:"source"`
	Version string `json:"version"`
}

// Tools returns the saved tools.
func (p *Project) Tools() (Tools, error) {
	f, err := os.Open(filepath.Join(p.dir, ToolsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Tools{}, nil
	}
	if err != nil {
		return Tools{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxTools+1))
	if err != nil {
		return Tools{}, err
	}
	if len(data) > maxTools {
		return Tools{}, &CorruptError{File: ToolsFile, Path: f.Name(), Why: fmt.Sprintf("it has more than %d bytes", maxTools)}
	}
	sum := sha256.Sum256(data)
	return Tools{Source: string(data), Version: hex.EncodeToString(sum[:16])}, nil
}

// maxTools bounds the file: every session reads it.
const maxTools = 1 << 20

// SaveTools replaces the saved tools as long as they are still of the version
// that t names. If not it saves nothing and returns what is there, and false.
func (p *Project) SaveTools(ctx context.Context, t Tools, b Bounds) (Tools, bool, error) {
	saved := false
	err := p.exclusive(ctx, func() error {
		now, err := p.Tools()
		if err != nil {
			return err
		}
		if now.Version != t.Version {
			t = now
			return nil
		}
		path := filepath.Join(p.dir, ToolsFile)
		size, _, err := p.used(path)
		switch {
		case err != nil:
			return err
		case len(t.Source) > maxTools:
			return &FullError{fmt.Sprintf("the saved tools would have %d bytes, of at most %d", len(t.Source), maxTools)}
		case size+int64(len(t.Source)) > b.Bytes:
			return &FullError{fmt.Sprintf("the saved tools would take %d bytes, and %d of at most %d are in use", len(t.Source), size, b.Bytes)}
		}
		saved = true
		return replace(path, []byte(t.Source))
	})
	return t, saved && err == nil, err
}
