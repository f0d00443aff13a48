package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"bridge/sandbox"

	"golang.org/x/sys/unix"
)

// cgroupRoot is where version 2 of cgroups is mounted, if it is used.
const cgroupRoot = "/sys/fs/cgroup"

// cgroups finds out how this process may bound others with cgroups: by making
// folders of its own where it was given a part of the tree, else by asking
// systemd, else not at all.
type cgroups struct{ scopes *scopes }

func newCgroups() *cgroups { return &cgroups{scopes: &scopes{}} }

// hold puts a process, and what it will start, under its limits. It returns
// nil where that cannot be done: the rlimits and the watchdog then hold it.
func (c *cgroups) hold(ctx context.Context, process *os.Process, l sandbox.Limits) *hold {
	if !unified() {
		return nil
	}
	if parent := delegated(); parent != "" {
		// The pid of a sandbox is nobody else's as long as its folder is there.
		dir := filepath.Join(parent, fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), process.Pid))
		if h, err := holdIn(dir, process, l); err == nil {
			return h
		}
	}
	dir, err := c.scopes.start(ctx, process.Pid, l)
	if err != nil {
		return nil
	}
	h, err := newHold(dir, process, l)
	if err != nil {
		return nil
	}
	return h
}

func (c *cgroups) close() { c.scopes.close() }

// unified tells whether cgroups are of version 2 alone. In the hybrid layout
// the controllers are in version 1, where no part of the tree can safely be
// given to an ordinary user.
func unified() bool {
	var fs unix.Statfs_t
	return unix.Statfs(cgroupRoot, &fs) == nil && fs.Type == unix.CGROUP2_SUPER_MAGIC
}

// prefix begins the names of our folders; the process id of their maker
// follows.
const prefix = "bridge-"

// delegated is the folder in which this process may make cgroups with
// controllers, or "". It is looked for once in a process, which it may move.
//
// A cgroup with controllers for its children cannot have processes itself
// ("no internal processes", Documentation/admin-guide/cgroup-v2.rst), so the
// bridge and what it has started first move to a child. That is done only in
// a cgroup that was given to the bridge, and that nobody else is in.
var delegated = sync.OnceValue(func() string {
	own := filepath.Join(cgroupRoot, membership(os.Getpid()))
	if !has(own, "cgroup.subtree_control", "memory", "pids") {
		if !has(own, "cgroup.controllers", "memory", "pids") || !given(own) || !vacate(own) {
			return ""
		}
		if write(own, "cgroup.subtree_control", "+memory +pids") != nil {
			return ""
		}
		write(own, "cgroup.subtree_control", "+cpu") // without it, affinity holds
	}
	sweep(own)
	return own
})

// vacate moves the processes of a cgroup to a child of it, if all of them are
// this one and its descendants. The root cgroup may have controllers and
// processes.
func vacate(own string) bool {
	if _, err := os.Stat(filepath.Join(own, "cgroup.type")); err != nil {
		return true
	}
	child := filepath.Join(own, prefix+"self")
	for range 10 { // while they start others
		pids := strings.Fields(read(own, "cgroup.procs"))
		if len(pids) == 0 {
			return true
		}
		ours := descendants(os.Getpid())
		for _, field := range pids {
			if pid, err := strconv.Atoi(field); err != nil || !slices.Contains(ours, pid) {
				return false
			}
		}
		if err := os.Mkdir(child, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return false
		}
		for _, pid := range pids {
			write(child, "cgroup.procs", pid) // it may have ended
		}
	}
	return false
}

// given tells whether a cgroup is this process's to divide. Where systemd
// runs, it marks those that are; elsewhere, as in a container, what can be
// written to is.
func given(dir string) bool {
	if unix.Access(dir, unix.W_OK) != nil || unix.Access(filepath.Join(dir, "cgroup.subtree_control"), unix.W_OK) != nil {
		return false
	}
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return true
	}
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		mark := make([]byte, 8)
		if n, err := unix.Getxattr(dir, name, mark); err == nil && string(mark[:n]) == "1" {
			return true
		}
	}
	return false
}

// sweep removes the folders of bridges that were killed. One that still holds
// a process cannot be removed.
func sweep(parent string) {
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), prefix)
		number, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(number)
		if ok && err == nil && unix.Kill(pid, 0) == unix.ESRCH {
			os.Remove(filepath.Join(parent, e.Name()))
		}
	}
}

// holdIn makes a folder with the limits and moves the process to it.
func holdIn(dir string, process *os.Process, l sandbox.Limits) (*hold, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	h, err := func() (*hold, error) {
		for _, limit := range [][2]string{
			{"memory.max", fmt.Sprint(l.Memory)},
			{"pids.max", fmt.Sprint(l.PIDs)},
			{"cgroup.procs", fmt.Sprint(process.Pid)},
		} {
			if err := write(dir, limit[0], limit[1]); err != nil {
				return nil, err
			}
		}
		write(dir, "memory.swap.max", "0") // not there without swap
		write(dir, "cpu.max", quota(l.CPUs))
		return newHold(dir, process, l)
	}()
	if err != nil {
		os.Remove(dir)
		return nil, err
	}
	h.own = true
	return h, nil
}

const cpuPeriod = 100000 // µs, the kernel's own default

func quota(cpus float64) string {
	const least = 1000 // below it, the kernel refuses
	return fmt.Sprintf("%d %d", max(least, int64(cpus*cpuPeriod)), cpuPeriod)
}

// membership is the cgroup of a process, as a path below cgroupRoot.
func membership(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			return strings.TrimSuffix(path, "\n")
		}
	}
	return ""
}

func read(dir, name string) string {
	text, _ := os.ReadFile(filepath.Join(dir, name))
	return strings.TrimSpace(string(text))
}

func write(dir, name, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(value)
	return err
}

// has tells whether a file of a cgroup lists all of the words.
func has(dir, name string, words ...string) bool {
	listed := " " + read(dir, name) + " "
	for _, w := range words {
		if !strings.Contains(listed, " "+w+" ") {
			return false
		}
	}
	return true
}
