package native

import (
	"io"
	"maps"
	"os"
	"sync"
	"syscall"

	"bridge/sandbox"
)

// box is one running sandbox. Its process is the first of a pid namespace:
// when that ends, for whatever reason, the kernel kills the others and lets it
// be waited for only when none is left.
type box struct {
	process *os.Process
	stdin   *os.File
	stdout  *output
	stderr  *output
	mounts  *os.File  // the mount namespace that the tree is in
	hold    *hold     // nil without a cgroup
	watch   *watchdog // nil with one
	held    map[string]string

	done chan struct{}
	exit sandbox.Exit // set before done is closed
}

func newBox(process *os.Process, pipes *plumbing, mounts *os.File, h *hold, asking int, limits sandbox.Limits) (*box, error) {
	b := &box{
		process: process,
		stdin:   pipes.stdin,
		stdout:  &output{file: pipes.stdout},
		stderr:  &output{file: pipes.stderr},
		mounts:  mounts,
		hold:    h,
		held:    holders(),
		done:    make(chan struct{}),
	}
	if h != nil {
		maps.Copy(b.held, h.held)
	}
	if b.held["memory"] == "watchdog" {
		var err error
		if b.watch, err = newWatchdog(process, limits.Memory, asking); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// attend waits for the sandbox to end and puts away what it was held by.
func (b *box) attend(then func()) {
	defer close(b.done)
	defer then()
	b.exit = sandbox.Exit{Code: -1}
	if state, err := b.process.Wait(); err == nil {
		b.exit.Code = state.ExitCode()
		if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			b.exit.Signal = int(ws.Signal())
		}
	}
	b.watch.close()
	b.hold.close()
	b.mounts.Close()
	b.stdin.Close()
	b.stdout.settle()
	b.stderr.settle()
}

func (b *box) Stdin() io.WriteCloser { return b.stdin }
func (b *box) Stdout() io.Reader     { return b.stdout }
func (b *box) Stderr() io.Reader     { return b.stderr }

// Kill ends the first process, and with it all of them. It acts on a
// descriptor of the process, never on a number that may be another's by now.
func (b *box) Kill() { b.process.Kill() }

func (b *box) Wait() sandbox.Exit {
	<-b.done
	return b.exit
}

func (b *box) OutOfMemory() bool { return b.watch.killed() || b.hold.outOfMemory() }

func (b *box) Limits() map[string]string { return maps.Clone(b.held) }

// output is the reading end of one of the guest's pipes. When the sandbox has
// ended, what is left in the pipe is kept here and the descriptor given back,
// whether anybody reads on or not.
type output struct {
	mu   sync.Mutex
	file *os.File // nil once settled
	rest []byte
	err  error
}

func (o *output) Read(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file != nil {
		return o.file.Read(p)
	}
	if len(o.rest) == 0 {
		if o.err != nil {
			return 0, o.err
		}
		return 0, io.EOF
	}
	n := copy(p, o.rest)
	o.rest = o.rest[n:]
	return n, nil
}

// settle reads to the end, which is near: no writer is left, and a pipe holds
// a megabyte at most (fs.pipe-max-size, for a process without privileges).
func (o *output) settle() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rest, o.err = io.ReadAll(o.file)
	o.file.Close()
	o.file = nil
}
