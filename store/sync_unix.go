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
