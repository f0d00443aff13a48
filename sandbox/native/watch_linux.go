package native

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// poll is how often the watchdog looks. What a process can touch in this time
// is how far it can get over the limit.
const poll = 50 * time.Millisecond

// A watchdog bounds the memory of all processes of a sandbox together where
// no cgroup does, by killing the sandbox. It does not count files in a tmpfs,
// which their own size bounds.
type watchdog struct {
	process *os.Process
	limit   int64
	over    atomic.Bool
	quit    chan struct{}
	done    chan struct{}
}

func newWatchdog(process *os.Process, limit int64) *watchdog {
	w := &watchdog{process: process, limit: limit, quit: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

func (w *watchdog) killed() bool { return w != nil && w.over.Load() }

func (w *watchdog) close() {
	if w == nil {
		return
	}
	close(w.quit)
	<-w.done
}

func (w *watchdog) run() {
	defer close(w.done)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-tick.C:
		}
		if !w.exceeded() {
			continue
		}
		w.over.Store(true)
		if w.process.Kill() != nil {
			w.over.Store(false) // it had ended by itself
		}
		return
	}
}

// exceeded adds up resident sizes first. They are cheap, and count what is
// shared more than once: only a sum over the limit is worth the exact figure.
func (w *watchdog) exceeded() bool {
	pids := descendants(w.process.Pid)
	sizes := make([]int64, len(pids))
	var total int64
	for i, pid := range pids {
		sizes[i] = resident(pid)
		total += sizes[i]
	}
	if total <= w.limit {
		return false
	}
	total = 0
	for i, pid := range pids {
		// A process can keep its map from being read, by executing a file that
		// cannot be; then its resident size has to do.
		if size, ok := proportional(pid); ok {
			total += size
		} else {
			total += sizes[i]
		}
	}
	return total > w.limit
}

// descendants are the processes of the sandbox: whoever loses its parent
// inside becomes a child of the first, so the tree below it is all of them.
func descendants(pid int) []int {
	pids := []int{pid}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return pids
	}
	for _, t := range tasks {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				pids = append(pids, descendants(child)...)
			}
		}
	}
	return pids
}

// resident is what a process has in memory, in bytes.
func resident(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// proportional is what a process has in memory, with what it shares divided
// by how many share it.
func proportional(pid int) (int64, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}
