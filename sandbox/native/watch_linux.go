package native

import (
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// poll is how often the watchdog looks. What a process can touch in this time
// is how far it can get over the limit.
const poll = 50 * time.Millisecond

// mapText bounds how much of the processes' memory maps is read at each look.
const mapText = 4 << 20

// A watchdog bounds the memory of all processes of a sandbox together, of the
// files in its tmpfs mounts, and of what the kernel holds for it, where no
// cgroup does: it kills the sandbox.
type watchdog struct {
	process  *os.Process
	files    *files
	shared   *shared
	listener *listener
	kernel   kernel
	limit    int64
	over     atomic.Bool
	quit     chan struct{}
	done     chan struct{}
}

// newWatchdog is for a sandbox that no code of the guest has run in yet. The
// descriptor is of the filter that has the kernel ask; it is the watchdog's.
func newWatchdog(process *os.Process, limit int64, asking int) (w *watchdog, err error) {
	w = &watchdog{process: process, kernel: kernel{first: process.Pid, limit: limit}, limit: limit, quit: make(chan struct{}), done: make(chan struct{})}
	if w.files, err = openFiles(process.Pid); err != nil {
		unix.Close(asking)
		return nil, err
	}
	if w.shared, err = newShared(process.Pid, limit); err == nil {
		w.listener, err = newListener(asking, w.shared)
	}
	if err != nil {
		unix.Close(asking)
		w.files.close()
		return nil, err
	}
	w.files.devices = append(w.files.devices, w.shared.device)
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
	w.listener.close()
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
	kernel := w.kernel.size(pids)
	total := files + kernel + w.shared.size()
	for _, pid := range pids {
		total += resident(pid)
	}
	if total <= w.limit {
		return false
	}
	total = files + kernel + w.shared.refresh()
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
	if old := w.kernel.lists; total > w.limit && total-old <= w.limit {
		w.kernel.count(pids)
		total += w.kernel.lists - old
	}
	return total > w.limit
}
