package native

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"bridge/sandbox"

	"golang.org/x/sys/unix"
)

// hold is a cgroup with the limits of one sandbox in force. A nil hold holds
// nothing.
type hold struct {
	dir  string
	own  bool // the folder is ours to remove; systemd removes its own
	held map[string]string

	process *os.Process
	killed  atomic.Bool
	events  *os.File // memory.events
	wake    *os.File // ends the wait for them
	done    chan struct{}
}

// newHold believes the kernel, not who was asked: the limits are read back
// from the folder. A memory limit that is not in force is an error; the
// others may be held otherwise.
func newHold(dir string, process *os.Process, l sandbox.Limits) (*hold, error) {
	page := int64(os.Getpagesize())
	if got := read(dir, "memory.max"); got != fmt.Sprint(l.Memory/page*page) {
		return nil, fmt.Errorf("memory.max of %s is %q", dir, got)
	}
	h := &hold{dir: dir, process: process, held: map[string]string{"memory": "cgroup"}, done: make(chan struct{})}
	if read(dir, "pids.max") == fmt.Sprint(l.PIDs) {
		h.held["pids"] = "cgroup"
	}
	if inForce(read(dir, "cpu.max"), l.CPUs) {
		h.held["cpus"] = "cgroup"
	}
	events, err := os.Open(filepath.Join(dir, "memory.events"))
	if err != nil {
		return nil, err
	}
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		events.Close()
		return nil, err
	}
	h.events, h.wake = events, os.NewFile(uintptr(fd), "wake")
	go h.listen()
	return h, nil
}

// inForce tells whether a cpu.max is the limit that was asked for, in
// whatever period and rounding.
func inForce(max string, cpus float64) bool {
	var used, period float64
	if n, _ := fmt.Sscan(max, &used, &period); n < 2 || period <= 0 {
		return false
	}
	return used/period <= cpus*1.01+0.01
}

// listen takes note of out-of-memory kills as they happen. Afterwards is too
// late: when the last process is gone, systemd removes the folder.
func (h *hold) listen() {
	defer close(h.done)
	fds := []unix.PollFd{
		{Fd: int32(h.events.Fd()), Events: unix.POLLPRI},
		{Fd: int32(h.wake.Fd()), Events: unix.POLLIN},
	}
	for {
		h.look()
		if _, err := unix.Poll(fds, -1); err != nil && err != unix.EINTR {
			return
		}
		if fds[1].Revents != 0 {
			h.look()
			return
		}
	}
}

// look reads the count of the processes that the kernel has killed. One of
// them is the end of the sandbox, as it is with the watchdog: what is left
// when the largest process is gone is nobody's intention.
func (h *hold) look() {
	b := make([]byte, 1024)
	n, err := h.events.ReadAt(b, 0)
	if n == 0 && err != nil {
		return // the folder is gone
	}
	for line := range strings.Lines(string(b[:n])) {
		if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
			if kills, err := strconv.Atoi(strings.TrimSpace(count)); err == nil && kills > 0 {
				h.killed.Store(true)
				h.process.Kill()
			}
		}
	}
}

func (h *hold) outOfMemory() bool {
	if h == nil {
		return false
	}
	select {
	case <-h.done:
	default:
		h.look()
	}
	return h.killed.Load()
}

// close is called when no process is left in the cgroup.
func (h *hold) close() {
	if h == nil {
		return
	}
	h.wake.Write([]byte{1, 0, 0, 0, 0, 0, 0, 0})
	<-h.done
	h.events.Close()
	h.wake.Close()
	if h.own {
		os.Remove(h.dir)
	}
}
