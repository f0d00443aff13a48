package native

import (
	"os"
	"sync/atomic"
	"time"
)

// poll is how often the watchdog looks. What a process can touch in this time
// is how far it can get over the limit.
const poll = 50 * time.Millisecond

// mapText bounds how much of the processes' memory maps is read at each look.
const mapText = 4 << 20

// A watchdog bounds the memory of all processes of a sandbox together, and of
// the files in its tmpfs mounts, where no cgroup does: it kills the sandbox.
type watchdog struct {
	process *os.Process
	files   *files
	limit   int64
	over    atomic.Bool
	quit    chan struct{}
	done    chan struct{}
}

// newWatchdog is for a sandbox that no code of the guest has run in yet.
func newWatchdog(process *os.Process, limit int64) (*watchdog, error) {
	files, err := openFiles(process.Pid)
	if err != nil {
		return nil, err
	}
	w := &watchdog{process: process, files: files, limit: limit, quit: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w, nil
}

func (w *watchdog) killed() bool { return w != nil && w.over.Load() }

func (w *watchdog) close() {
	if w == nil {
		return
	}
	close(w.quit)
	<-w.done
	w.files.close()
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
// shared more than once: only a sum over the limit is worth a closer look.
func (w *watchdog) exceeded() bool {
	pids := descendants(w.process.Pid)
	files := w.files.size()
	total := files
	for _, pid := range pids {
		total += resident(pid)
	}
	if total <= w.limit {
		return false
	}
	total = files
	left := int64(mapText)
	for _, pid := range pids {
		size, shared, ok := proportional(pid)
		switch {
		case !ok:
			// A process can keep its map from being read, by executing a file
			// that cannot be; then its resident size has to do. One that has
			// ended since has none.
			size = resident(pid)
		case shared > 0:
			size = w.files.besides(pid, size, &left)
		}
		total += size
	}
	return total > w.limit
}
