package native

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// listsChildren tells whether the kernel lists the children of a process
// (CONFIG_PROC_CHILDREN).
var listsChildren = sync.OnceValue(func() bool {
	_, err := os.Stat("/proc/thread-self/children")
	return err == nil
})

// descendants are the processes of a sandbox: whoever loses its parent inside
// becomes a child of the first, so the tree below that is all of them.
func descendants(first int) []int {
	of := children
	if !listsChildren() {
		all := parents()
		of = func(pid int) []int { return all[pid] }
	}
	pids := []int{first}
	for i := 0; i < len(pids); i++ {
		pids = append(pids, of(pids[i])...)
	}
	return pids
}

func children(pid int) []int {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	var pids []int
	for _, t := range tasks {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// parents lists the children of every process of the machine.
func parents() map[int][]int {
	all := make(map[int][]int)
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		// The name, in parentheses, may hold anything; state and parent follow.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			all[parent] = append(all[parent], pid)
		}
	}
	return all
}

// resident is what a process has in memory, in bytes.
func resident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		if unix.Kill(pid, 0) == unix.ESRCH {
			return 0 // it has ended since it was listed
		}
		// With hidepid on the host's /proc a process can hide by executing a
		// file that cannot be read. What cannot be measured is too much.
		return math.MaxInt32 << 20
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// worked is how long a thread has run.
func worked(thread int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", thread))
	var ns int64
	fmt.Sscan(string(text), &ns)
	return time.Duration(ns)
}

// proportional is what a process has in memory, with what it shares divided
// by how many share it, and how much of that is shared memory or in a tmpfs.
func proportional(pid int) (size, shared int64, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, 0, false
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) < 2:
		case fields[0] == "Pss:":
			size, ok = kib(fields[1]), true
		case fields[0] == "Pss_Shmem:":
			shared = kib(fields[1])
		}
	}
	return size, shared, ok
}
