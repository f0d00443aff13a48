//go:build unix

package store

import (
	"errors"
	"os"
	"syscall"
)

// syncDir makes sure that a name in a folder outlives a stop of the machine.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err // some file systems have no such thing for folders
	}
	return nil
}

// unlessLocked does something while a file is locked, or nothing if another has
// locked it, and tells which. A file system without locks has none.
func unlessLocked(path string, do func() error) (done bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return true, do()
}
