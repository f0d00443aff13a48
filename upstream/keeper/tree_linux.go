package keeper

import (
	"bytes"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// tree is the server's process and all that came of it.
type tree struct {
	server int
	reaped atomic.Bool // the server's pid may belong to somebody else by now
}

// end asks every process of the tree to end, and kills what is left after the
// grace until nothing is.
func (t *tree) end(gone <-chan struct{}) {
	for _, pid := range descendants() {
		syscall.Kill(pid, syscall.SIGTERM)
	}
	select {
	case <-gone:
		return
	case <-time.After(grace):
	}
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		t.kill()
		select {
		case <-gone:
			return
		case <-time.After(pause):
		}
	}
}

// kill stops the processes before it kills them: whoever is stopped cannot
// fork, so a process that forks faster than it is killed gains nothing.
func (t *tree) kill() {
	stopped := map[int]bool{}
	for range 100 {
		grown := false
		for _, pid := range descendants() {
			if !stopped[pid] {
				syscall.Kill(pid, syscall.SIGSTOP)
				stopped[pid], grown = true, true
			}
		}
		if !grown {
			break
		}
	}
	for pid := range stopped {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	// Without /proc there is still the group.
	if len(stopped) == 0 && !t.reaped.Load() {
		syscall.Kill(-t.server, syscall.SIGKILL)
	}
}

// descendants lists the processes below this one that have not ended yet.
func descendants() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	children := map[int][]int{}
	ended := map[int]bool{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		parent, state, ok := parseStat(stat)
		if !ok {
			continue
		}
		children[parent] = append(children[parent], pid)
		ended[pid] = state == 'Z' || state == 'X'
	}
	var all []int
	queue := children[os.Getpid()]
	for len(queue) > 0 {
		pid := queue[0]
		queue = append(queue[1:], children[pid]...)
		if !ended[pid] {
			all = append(all, pid)
		}
	}
	return all
}

// parseStat reads the parent and the state from a /proc/PID/stat line: "PID
// (NAME) STATE PARENT …", where NAME may hold anything (proc(5)).
func parseStat(stat []byte) (parent int, state byte, ok bool) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, 0, false
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 2 || len(fields[0]) != 1 {
		return 0, 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, fields[0][0], err == nil
}
