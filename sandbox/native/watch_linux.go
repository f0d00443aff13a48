package native

import (
	"os"
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
