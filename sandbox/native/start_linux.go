package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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
		var err error
		if end.ours == &p.status { // which can bring a descriptor
			fds, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		} else {
			err = unix.Pipe2(fds[:], unix.O_CLOEXEC)
		}
		if err != nil {
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
		err = unix.SetNonblock(ours, true)
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
	asking := -1
	if err == nil {
		hold, asking, err = e.bringUp(ctx, process, pipes, cfg, limits)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	var b *box
	if err == nil {
		b, err = newBox(process, pipes, mounts, hold, asking, limits)
	} else if asking >= 0 {
		unix.Close(asking)
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
// is at it, and returns when the interpreter is being executed. Without a hold,
// the descriptor is of the filter that has the kernel ask; else it is -1.
func (e *Engine) bringUp(ctx context.Context, process *os.Process, pipes *plumbing, cfg *stage.Config, limits sandbox.Limits) (h *hold, asking int, err error) {
	// The first to go when the machine runs out of memory. Not every kernel
	// lets it be said; then it is one among others.
	os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", process.Pid), []byte("1000"), 0)
	text := stage.Encode(cfg)
	// If the stage is gone, it says why on the status pipe.
	_, sent := pipes.config.Write(append(stage.EncodeNumber(uint64(len(text))), text...))
	if sent == nil {
		h = e.cgroups.hold(ctx, process, limits)
		how := []byte{stage.Running}
		if h == nil {
			how[0] = stage.Watched
		}
		_, sent = pipes.config.Write(how)
	}
	pipes.config.Close()
	status, asking, err := readStatus(pipes.status)
	if len(status) == 1 && status[0] == stage.Running && sent == nil && err == nil && (h == nil) == (asking >= 0) {
		return h, asking, nil
	}
	var f stage.Failure
	if stage.Decode(bytes.TrimPrefix(status, []byte{stage.Running}), &f) == nil {
		return h, asking, refusal(&f)
	}
	return h, asking, refusal(&stage.Failure{Step: "stage", Text: "ended without a word"})
}

// readStatus reads what the stage says until it is gone, and takes the
// descriptor that comes with it, if there is one.
func readStatus(f *os.File) (status []byte, asking int, err error) {
	asking = -1
	conn, err := net.FileConn(f)
	f.Close()
	if err != nil {
		return nil, asking, err
	}
	defer conn.Close()
	text, control := make([]byte, 1<<16), make([]byte, unix.CmsgSpace(4))
	for err == nil && len(status) < 1<<16 {
		var n, got int
		n, got, _, _, err = conn.(*net.UnixConn).ReadMsgUnix(text, control)
		status = append(status, text[:max(n, 0)]...)
		messages, _ := unix.ParseSocketControlMessage(control[:got])
		for _, m := range messages {
			if fds, err := unix.ParseUnixRights(&m); err == nil && len(fds) == 1 && asking < 0 {
				asking = fds[0]
			}
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return status, asking, err
}
