//go:build !linux

package podman

import (
	"os"
	"syscall"
)

// known tells whether a process has certainly ended, all that can be asked
// without /proc.
func known(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return true
	}
	defer p.Release()
	err = p.Signal(syscall.Signal(0))
	return err == os.ErrProcessDone || err == syscall.ESRCH
}
