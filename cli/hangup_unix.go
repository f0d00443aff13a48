//go:build unix

package cli

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// hangup calls gone when nobody can read from f any more. A client that has
// crashed closes the bridge's stdin, as one does that wants its last answers:
// its end of the bridge's stdout tells them apart.
func hangup(f *os.File, gone func()) {
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	for {
		_, err := unix.Poll(fds, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
			gone()
		}
		return
	}
}
