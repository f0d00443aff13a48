package native

import (
	"math"
	"math/bits"
	"sync/atomic"

	"bridge/sandbox"
	"bridge/sandbox/native/stage"

	"golang.org/x/sys/unix"
)

// withDefaults fills in what the spec leaves open.
func withDefaults(l sandbox.Limits) sandbox.Limits {
	or := func(value, otherwise int64) int64 {
		if value > 0 {
			return value
		}
		return otherwise
	}
	l.Memory = or(l.Memory, 512<<20)
	l.PIDs = or(l.PIDs, 64)
	l.Files = or(l.Files, 256)
	l.Tmp = or(l.Tmp, 64<<20)
	l.Workspace = or(l.Workspace, 64<<20)
	l.Shm = or(l.Shm, 64<<20)
	if !(l.CPUs > 0) { // NaN too
		l.CPUs = 1
	}
	return l
}

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

// turn makes sandboxes start at different processors.
var turn atomic.Uint32

// affinity picks as many of the processors of this process as the limit has,
// rounded up. It is nil where that is all of them.
func affinity(cpus float64) []uint64 {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return nil
	}
	have, want := all.Count(), int(math.Ceil(min(cpus, 1<<16)))
	if want >= have {
		return nil
	}
	list := make([]int, 0, have)
	for cpu := 0; len(list) < have; cpu++ {
		if all.IsSet(cpu) {
			list = append(list, cpu)
		}
	}
	var some unix.CPUSet
	first := int(turn.Add(1))
	for i := range want {
		some.Set(list[(first+i)%have])
	}
	mask := make([]uint64, len(some))
	for i, word := range some {
		mask[i] = uint64(word)
	}
	// The kernel takes a shorter mask than its own; the rest is zero.
	for len(mask) > 1 && bits.OnesCount64(mask[len(mask)-1]) == 0 {
		mask = mask[:len(mask)-1]
	}
	return mask
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
