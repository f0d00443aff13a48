package native

import (
	"math"

	"bridge/sandbox"
	"bridge/sandbox/native/stage"

	"golang.org/x/sys/unix"
)

// rlimits are what the kernel counts for each process, or, since Linux 5.14,
// for each user in its namespace (NPROC, SIGPENDING, MSGQUEUE, MEMLOCK).
func rlimits(l sandbox.Limits) []stage.Rlimit {
	const slack = 1 << 20
	return []stage.Rlimit{
		{Resource: unix.RLIMIT_CORE},
		{Resource: unix.RLIMIT_MEMLOCK},
		{Resource: unix.RLIMIT_MSGQUEUE},
		{Resource: unix.RLIMIT_NICE},
		{Resource: unix.RLIMIT_RTPRIO},
		{Resource: unix.RLIMIT_SIGPENDING, Value: 256},
		{Resource: unix.RLIMIT_NOFILE, Value: uint64(l.Files)},
		{Resource: unix.RLIMIT_NPROC, Value: uint64(l.PIDs)},
		// A little above the largest tmpfs, so that a full one is "no space
		// left on device" and not a signal.
		{Resource: unix.RLIMIT_FSIZE, Value: uint64(max(l.Tmp, l.Workspace, l.Shm) + slack)},
		// DATA counts heaps and stacks that could be written to; AS counts all
		// that is mapped, shared anonymous memory too, but also libraries and
		// the arenas that malloc reserves, and so needs the room.
		{Resource: unix.RLIMIT_DATA, Value: uint64(l.Memory)},
		{Resource: unix.RLIMIT_AS, Value: uint64(l.Memory) + 1<<30},
	}
}

// processors are those of this process, as a mask, and how many of them a
// sandbox may use: its limit, rounded up. The stage picks which.
func processors(cpus float64) (mask []uint64, count uint64) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return nil, 0
	}
	count = uint64(math.Ceil(min(cpus, float64(all.Count()))))
	for _, word := range all {
		mask = append(mask, uint64(word))
	}
	return mask, count
}

// holders says how each limit is held when no cgroup does.
func holders() map[string]string {
	return map[string]string{
		"memory":    "watchdog",
		"cpus":      "affinity",
		"pids":      "rlimit",
		"files":     "rlimit",
		"tmp":       "tmpfs",
		"workspace": "tmpfs",
		"shm":       "tmpfs",
	}
}
