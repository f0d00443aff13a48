package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one process of a family, told apart from a later one of the same
// number by the time it was started.
type process struct {
	pid     int
	name    string
	started string
}

func (p process) String() string { return fmt.Sprintf("%d (%s)", p.pid, p.name) }

// descendants lists a process's children, their children, and so on.
func descendants(pid int) []process {
	children := map[int][]process{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		if parent, p, ok := stat(path); ok {
			children[parent] = append(children[parent], p)
		}
	}
	var family []process
	for open := []int{pid}; len(open) > 0; open = open[1:] {
		for _, c := range children[open[0]] {
			family = append(family, c)
			open = append(open, c.pid)
		}
	}
	return family
}

// stat reads what matters here of a process's state. A zombie is not alive.
func stat(path string) (parent int, p process, ok bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, p, false
	}
	head, tail, _ := strings.Cut(string(b), ") ")
	number, name, _ := strings.Cut(head, " (")
	fields := strings.Fields(tail) // from the third field of proc_pid_stat(5) on
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return 0, p, false
	}
	p.pid, _ = strconv.Atoi(number)
	p.name, p.started = name, fields[19]
	parent, _ = strconv.Atoi(fields[1])
	return parent, p, true
}

// outlive returns those of a family that are still alive after a time. It
// returns early when none is.
func outlive(family []process, wait time.Duration) []process {
	for deadline := time.Now().Add(wait); ; {
		var alive []process
		for _, p := range family {
			if _, now, ok := stat(fmt.Sprintf("/proc/%d/stat", p.pid)); ok && now.started == p.started {
				alive = append(alive, p)
			}
		}
		if len(alive) == 0 || time.Now().After(deadline) {
			return alive
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// endChildren ends all that this process has started, until it has no more
// children or, if that is not nil, until finished is closed: a scenario that
// has lost a command may start the next.
func endChildren(finished <-chan struct{}) {
	for {
		family := descendants(os.Getpid())
		for _, p := range family {
			signal(p, syscall.SIGTERM)
		}
		for _, p := range outlive(family, 3*time.Second) {
			signal(p, syscall.SIGKILL)
		}
		if finished == nil {
			return
		}
		select {
		case <-finished:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func signal(p process, sig syscall.Signal) {
	if proc, err := os.FindProcess(p.pid); err == nil {
		proc.Signal(sig)
		proc.Release()
	}
}

// PeakMemory is the most memory that a process has had in use so far, in bytes.
func PeakMemory(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("process %d: no VmHWM", pid)
}

// A Family is a process and those that it has started, as they were at one
// moment.
type Family []process

// FamilyOf is the family of a process.
func FamilyOf(pid int) Family { return descendants(pid) }

// Outlive returns those that are still alive after a time, or none as soon as
// none is.
func (f Family) Outlive(wait time.Duration) []string {
	var names []string
	for _, p := range outlive(f, wait) {
		names = append(names, p.String())
	}
	return names
}
