package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/atomicwriter"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// A Project is what is kept for one profile.
//
// Its folder holds nothing that is ever locked: a sandbox that is shown it
// could hold such a lock for ever.
type Project struct {
	dir   string
	lock  string        // the file that bridges lock before they write
	local chan struct{} // held by the one goroutine that writes, or waits for the lock
}

// Dir is the folder, which a sandbox can be shown.
func (p *Project) Dir() string { return p.dir }

func (p *Project) memory() string { return filepath.Join(p.dir, "memory") }

// Bounds are how much may be kept.
type Bounds struct {
	Bytes int64 // of the memory and the saved tools together
	Keys  int   // of the memory
}

// A FullError is a bound that would be passed.
type FullError struct{ What string }

func (e *FullError) Error() string { return e.What }

// A CorruptError is a file that is not as this package writes it.
type CorruptError struct {
	File string // relative to the project's folder, with slashes
	Path string // on the host
	Why  string
}

func (e *CorruptError) Error() string { return fmt.Sprintf("%s is corrupt: %s", e.File, e.Why) }

// exclusive does something while no other goroutine or process writes.
func (p *Project) exclusive(ctx context.Context, do func() error) error {
	select {
	case p.local <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	type lock struct {
		release func()
		err     error
	}
	got := make(chan lock, 1)
	go func() {
		release, err := lockedfile.MutexAt(p.lock).Lock()
		got <- lock{release, err}
	}()
	leave := func(l lock) {
		if l.err == nil {
			l.release()
		}
		<-p.local
	}
	select {
	case l := <-got:
		defer leave(l)
		if l.err != nil {
			return fmt.Errorf("locking the store: %w", l.err)
		}
		return do()
	case <-ctx.Done():
		// Nothing ends the waiting for a process that holds the lock and does
		// not go on. Until it is over, all others wait for this.
		go func() { leave(<-got) }()
		return ctx.Err()
	}
}

// used is how many bytes are kept, but for the file named, and how many keys.
// What a bridge that was killed has left half written goes away. The caller
// holds the lock.
func (p *Project) used(besides string) (size int64, keys int, err error) {
	for _, dir := range []string{p.dir, p.memory()} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return 0, 0, err
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			info, err := e.Info()
			switch {
			case errors.Is(err, fs.ErrNotExist), path == besides, e.IsDir():
				continue
			case err != nil:
				return 0, 0, err
			case strings.HasPrefix(e.Name(), partial):
				if err := os.Remove(path); err != nil {
					return 0, 0, err
				}
				continue
			}
			size += info.Size()
			if dir != p.dir {
				keys++
			}
		}
	}
	return size, keys, nil
}

// partial begins the names of files that are being written.
const partial = ".tmp-"

// replace writes a file so that it is there as it was or as it is to be, and
// nothing between, even if the machine stops.
func replace(path string, data []byte) error {
	const mode = 0o644 // for the user of the sandbox
	if err := atomicwriter.WriteFile(path, data, mode); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// fileName is a name that any file system takes, and another one for every
// text: a text that is not plain has its hash in it. Nor are two the same
// where upper and lower case, or forms of Unicode, are.
func fileName(text string) string {
	const most = 40
	var b strings.Builder
	for _, r := range text {
		plain := r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_'
		if !plain {
			r = '_'
		}
		if b.Len() < most {
			b.WriteRune(r)
		}
	}
	if b.String() == text && text != "" && !reserved(text) {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return b.String() + "~" + hex.EncodeToString(sum[:])
}

// reserved tells whether Windows has a device of that name.
func reserved(name string) bool {
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (strings.HasPrefix(name, "com") || strings.HasPrefix(name, "lpt"))
}
