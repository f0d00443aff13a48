//go:build !unix

package store

import "github.com/rogpeppe/go-internal/lockedfile"

// syncDir does nothing: these systems write names through.
func syncDir(string) error { return nil }

// unlessLocked does something while a file is locked, which it waits for.
func unlessLocked(path string, do func() error) (done bool, err error) {
	release, err := lockedfile.MutexAt(path).Lock()
	if err != nil {
		return false, err
	}
	defer release()
	return true, do()
}
