//go:build linux

package native

import (
	"bufio"
	"os"
	"strconv"
	"testing"

	"bridge/sandbox/enginetest"

	"golang.org/x/sys/unix"
)

// gone waits until the process behind a descriptor has ended.
func gone(t *testing.T, pidfd int) {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 5000)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n != 1 {
			t.Errorf("a process is alive after five seconds (%v)", err)
		}
		return
	}
}

// TestKilledEngine kills a process that holds sandboxes: nothing of them is
// left, whatever it has done to stay.
func TestKilledEngine(t *testing.T) {
	newEngine(t)
	cmd := enginetest.Helper(t, "hold")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	var pidfds []int
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "held"; {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(lines.Text())
		}
		// A descriptor, since the number may be another's afterwards.
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		pidfds = append(pidfds, fd)
	}
	if len(pidfds) != 10 {
		t.Fatalf("%d processes in two sandboxes, want 10", len(pidfds))
	}
	fds := []unix.PollFd{{Fd: int32(pidfds[0]), Events: unix.POLLIN}}
	if n, _ := unix.Poll(fds, 200); n != 0 {
		t.Fatal("a sandbox has ended before its engine was killed")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, fd := range pidfds {
		gone(t, fd)
	}
}
