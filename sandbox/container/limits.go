package container

import (
	"fmt"
	"strings"

	"bridge/sandbox"
)

const (
	// startMemory is what runc's first step takes: it runs under the
	// container's rlimits and compiles the seccomp profile.
	startMemory = 128 << 20

	// addressSpace is what a process may reserve beyond its memory.
	addressSpace = 1 << 30

	// inodes is how many files one tmpfs can hold.
	inodes = 16384

	// userProcesses bounds the processes of all sandboxes of one user, where a
	// cgroup bounds each sandbox: RLIMIT_NPROC counts by user.
	userProcesses = 4096

	userSignals = 4096 // pending, of one user
)

// Held says how an engine holds each limit, given which cgroup controllers it
// may use. "" means that it does not.
func Held(memory, cpus, pids bool) map[string]string {
	held := map[string]string{
		"memory": "", "cpus": "", "pids": "rlimit",
		"files": "rlimit", "tmp": "tmpfs", "workspace": "tmpfs", "shm": "tmpfs",
	}
	for name, is := range map[string]bool{"memory": memory, "cpus": cpus, "pids": pids} {
		if is {
			held[name] = "cgroup"
		}
	}
	return held
}

// An Rlimit bounds each process of the guest; soft and hard limit are the same.
type Rlimit struct {
	Name  string // as in ulimits of docker and podman: "nofile"
	Value int64
}

// Rlimits are the limits that the kernel counts for each process or user. An
// engine may not be able to set all: see Lowered.
func Rlimits(l sandbox.Limits, held map[string]string) []Rlimit {
	processes := l.PIDs
	if held["pids"] == "cgroup" {
		processes = max(userProcesses, l.PIDs)
	}
	const slack = 1 << 20
	return []Rlimit{
		{"core", 0},
		{"memlock", 0},
		{"msgqueue", 0},
		{"nice", 0},
		{"rtprio", 0},
		{"sigpending", userSignals},
		{"nofile", l.Files},
		{"nproc", processes},
		// Above the largest tmpfs, so that a full one means "no space left on
		// device" and not a signal.
		{"fsize", max(l.Tmp, l.Workspace, l.Shm) + slack},
		// A single process that asks for too much gets a MemoryError, which
		// loses less than a kill. Below startMemory only the cgroup can bound it.
		{"data", max(l.Memory, startMemory)},
		{"as", l.Memory + addressSpace},
	}
}

// A Tmpfs is a place where the guest may write.
type Tmpfs struct {
	Target string
	Size   int64 // bytes
	Exec   bool  // whether programs in it may be run: compiled parts of packages, scripts
}

// Writable are all places where the guest may write.
func Writable(l sandbox.Limits) []Tmpfs {
	return []Tmpfs{{"/tmp", l.Tmp, true}, {"/workspace", l.Workspace, true}, {"/dev/shm", l.Shm, false}}
}

// Options are those of the mount, for a user as User returns it.
func (t Tmpfs) Options(user string) []string {
	uid, gid, _ := strings.Cut(user, ":")
	exec := "noexec"
	if t.Exec {
		exec = "exec"
	}
	return []string{
		"rw", "nosuid", "nodev", exec,
		"mode=0700", "uid=" + uid, "gid=" + gid, fmt.Sprintf("size=%d", t.Size), fmt.Sprintf("nr_inodes=%d", inodes),
	}
}
