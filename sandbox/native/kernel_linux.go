package native

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// kernel is the memory that the kernel holds for a sandbox beside its pages,
// where a process can have much of it: what sockets buffer, locks on files, and
// mappings.
type kernel struct {
	first  int
	limit  int64
	lists  int64         // bytes of locks and mappings
	looked time.Duration // what the processes had spent in the kernel when these were counted last
}

// mappingSize is what a mapping takes at most, with what leads to it.
const mappingSize = 512

// maxLocks are as many as a sandbox may have: each counts as that part of its
// memory. They take less, but the list of locks is slow to read, and reading it
// keeps others on the machine from locking.
const maxLocks = 8192

// size counts a socket with all that it may buffer, whether it does or not: its
// own limit, and, for a datagram that begins below that, as much again.
func (k *kernel) size(pids []int) int64 {
	if k.busy(pids) {
		k.count(pids)
	}
	return sockets(k.first)*2*socketBuffer() + k.lists
}

func (k *kernel) count(pids []int) {
	k.lists = locks(pids)*(k.limit/maxLocks+1) + mappings(pids, k.limit/mappingSize)*mappingSize
}

// sockets counts those of a network namespace, by one of its processes: those
// that no process has open any more, too, as long as something is buffered.
func sockets(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/sockstat", pid))
	var used int64
	fmt.Sscanf(string(text), "sockets: used %d", &used)
	return used
}

// socketBuffer is what a socket may buffer. The filter keeps the guest from
// raising it.
var socketBuffer = sync.OnceValue(func() int64 {
	text, _ := os.ReadFile("/proc/sys/net/core/wmem_default")
	size, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 212992 // as the kernel has it
	}
	return size
})

// busy tells whether the processes have spent long enough in the kernel to have
// many more locks and mappings than before.
func (k *kernel) busy(pids []int) bool {
	const enough = 100 * time.Millisecond
	var spent time.Duration
	for _, pid := range pids {
		spent += system(pid)
	}
	if spent < k.looked {
		k.looked = spent // some have ended
	}
	if spent-k.looked < enough {
		return false
	}
	k.looked = spent
	return true
}

// locks counts the processes' locks, up to one more than there may be.
func locks(pids []int) (n int64) {
	file, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer file.Close()
	left := 8 * maxLocks // of the whole machine's
	for text := bufio.NewScanner(file); n <= maxLocks && left > 0 && text.Scan(); left-- {
		// 1: POSIX ADVISORY WRITE PID …; who waits for one has an arrow before its kind.
		fields := strings.Fields(text.Text())
		if len(fields) < 5 {
			continue
		}
		if pid, err := strconv.Atoi(fields[4]); err == nil && slices.Contains(pids, pid) {
			n++
		}
	}
	return n
}

// mappings counts the processes' mappings, up to more than there may be.
func mappings(pids []int, most int64) (n int64) {
	text := make([]byte, 64<<10)
	for _, pid := range pids {
		file, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil {
			continue
		}
		for n <= most {
			got, err := file.Read(text)
			n += int64(bytes.Count(text[:got], []byte("\n")))
			if err != nil {
				break
			}
		}
		file.Close()
	}
	return n
}

// system is the time that a process has spent in the kernel.
func system(pid int) time.Duration {
	const tick = 10 * time.Millisecond // USER_HZ, the same on all architectures of Go
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	ticks, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(ticks) * tick
}
