package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A Mount is a folder or a file of the host that the guest sees.
type Mount struct {
	Source   string // an absolute path on the host
	Target   string // an absolute path in the sandbox
	Writable bool
	Optional bool // leave it out where the engine does not see the source
	Relabel  bool // let SELinux give the source a label of its own
}

// How far Inspect looks into a folder, whatever its size.
const (
	inspectEntries = 200_000
	inspectTime    = 500 * time.Millisecond
)

// Inspect is an error if what is mounted is or holds a socket, a named pipe or
// a device: a way to programs of the host that a read-only mount leaves open.
// It looks at the outer folders first, and gives up in one that is too large.
func (m Mount) Inspect() error {
	info, err := os.Stat(m.Source)
	if err != nil {
		return nil // whoever mounts it says so
	}
	if !info.IsDir() {
		return m.leads(m.Source, info.Mode())
	}
	until := time.Now().Add(inspectTime)
	left := inspectEntries
	for folders := []string{m.Source}; len(folders) > 0 && left > 0 && time.Now().Before(until); folders = folders[1:] {
		more, err := m.inspect(folders[0], &left)
		if err != nil {
			return err
		}
		folders = append(folders, more...)
	}
	return nil
}

// inspect looks at one folder, and returns those in it. What cannot be read is
// left out.
func (m Mount) inspect(folder string, left *int) (folders []string, err error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	for *left > 0 {
		entries, err := f.ReadDir(1000)
		*left -= len(entries)
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			if err := m.leads(path, e.Type()); err != nil {
				return nil, err
			}
			if e.IsDir() {
				folders = append(folders, path)
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return folders, nil
			}
			break
		}
	}
	return folders, nil
}

// leads is an error if a file of this kind leads to something else of the host.
func (m Mount) leads(path string, mode fs.FileMode) error {
	what := ""
	switch {
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	default:
		return nil
	}
	return fmt.Errorf("mount %q: %q is %s, by which code could reach what is outside of the sandbox; remove it, or mount a folder without it", m.Source, path, what)
}
