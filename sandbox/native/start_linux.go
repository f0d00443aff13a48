package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/native/stage"

	"golang.org/x/sys/unix"
)

// plumbing is the pipes between the engine and one sandbox. The guest's
// three are always pipes: an inherited file would show its path on the host.
type plumbing struct {
	stdin, config          *os.File // to be written
	stdout, stderr, status *os.File // to be read
	child                  []*os.File
}

func newPlumbing() (*plumbing, error) {
	p := &plumbing{child: make([]*os.File, 5)}
	for fd, end := range []struct {
		ours **os.File
		name string
	}{{&p.stdin, "stdin"}, {&p.stdout, "stdout"}, {&p.stderr, "stderr"}, {&p.config, "config"}, {&p.status, "status"}} {
		// The child's end must block: Python expects it to, and whether it
		// does is shared by all who hold it.
		var fds [2]int
		if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
			p.close()
			if cause := crowded(err); cause != nil {
				return nil, cause
			}
			return nil, fmt.Errorf("making a pipe: %w", err)
		}
		ours, theirs := fds[0], fds[1]
		if end.ours == &p.stdin || end.ours == &p.config {
			ours, theirs = theirs, ours
		}
		p.child[fd] = os.NewFile(uintptr(theirs), end.name)
		err := unix.SetNonblock(ours, true)
		*end.ours = os.NewFile(uintptr(ours), end.name)
		if err != nil {
			p.close()
			return nil, fmt.Errorf("making a pipe: %w", err)
		}
	}
	return p, nil
}

func (p *plumbing) closeChild() {
	for _, f := range p.child {
		f.Close() // closing a nil file is an error, not a fault
	}
	p.child = nil
}

func (p *plumbing) close() {
	p.closeChild()
	for _, f := range []*os.File{p.stdin, p.config, p.stdout, p.stderr, p.status} {
		f.Close()
	}
}

// startWait bounds a start. It takes milliseconds, unless something of the
// host hangs: a network file system below /usr, or the bus.
const startWait = 30 * time.Second

// start makes the process and sees it become a sandbox.
func (e *Engine) start(ctx context.Context, cfg *stage.Config, who identity, limits sandbox.Limits) (*box, error) {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	pipes, err := newPlumbing()
	if err != nil {
		return nil, err
	}
	process, err := e.creator.start("/proc/self/exe", []string{stage.Name}, &os.ProcAttr{
		Files: pipes.child,
		// Nothing of ours; no threads that the stage has no work for, and no
		// signals to share them out.
		Env: []string{"GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1", "GOGC=off"},
		Sys: who.attr(),
	})
	pipes.closeChild()
	if err != nil {
		pipes.close()
		if errors.Is(err, errClosed) {
			return nil, err
		}
		return nil, refusal(err)
	}
	stop := context.AfterFunc(ctx, func() { process.Kill() })
	// The stage makes the tree in this mount namespace and leaves it.
	mounts, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", process.Pid))
	if cause := crowded(err); cause != nil {
		err = cause
	}
	var hold *hold
	if err == nil {
		hold, err = e.bringUp(ctx, process, pipes, cfg, limits)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	var b *box
	if err == nil {
		b, err = newBox(process, pipes, mounts, hold, limits)
	}
	if err == nil {
		if e.add(b) {
			go b.attend(func() { e.remove(b) })
			return b, nil
		}
		b.watch.close()
		err = errClosed
	}
	process.Kill()
	process.Wait()
	hold.close()
	mounts.Close() // closing a nil file is an error, not a fault
	pipes.close()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, err
}

// bringUp tells the stage what to become, puts it under its limits while it
// is at it, and returns when the interpreter is being executed.
func (e *Engine) bringUp(ctx context.Context, process *os.Process, pipes *plumbing, cfg *stage.Config, limits sandbox.Limits) (*hold, error) {
	// The first to go when the machine runs out of memory. Not every kernel
	// lets it be said; then it is one among others.
	os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", process.Pid), []byte("1000"), 0)
	text := stage.Encode(cfg)
	// If the stage is gone, it says why on the status pipe.
	_, sent := pipes.config.Write(append(stage.EncodeNumber(uint64(len(text))), text...))
	var h *hold
	if sent == nil {
		h = e.cgroups.hold(ctx, process, limits)
		_, sent = pipes.config.Write([]byte{stage.Running})
	}
	pipes.config.Close()
	status, err := io.ReadAll(io.LimitReader(pipes.status, 1<<16))
	pipes.status.Close()
	if len(status) == 1 && status[0] == stage.Running && sent == nil && err == nil {
		return h, nil
	}
	var f stage.Failure
	if stage.Decode(bytes.TrimPrefix(status, []byte{stage.Running}), &f) == nil {
		return h, refusal(&f)
	}
	return h, refusal(&stage.Failure{Step: "stage", Text: "ended without a word"})
}
