package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/container"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
)

const (
	// last is how long the end of the output, and the news of a kill for
	// memory, may come after the end itself.
	last = 2 * time.Second

	// patience is how long docker gets to end a container that is to be
	// killed, before the answer is that it does not.
	patience = 20 * time.Second
)

// box is one running container.
type box struct {
	*container.Life
	engine *Engine
	client *client.Client
	image  string // id
	id     string
	watch  *watch
	conn   client.HijackedResponse

	halfClose sync.Once
	memory    atomic.Bool
}

// watch is the connections on which docker reports the end of a container.
type watch struct {
	stop   context.CancelFunc
	exit   client.ContainerWaitResult
	events client.EventsResult
}

// drop ends the connections. The client's answer to a wait has to be taken, or
// it stays behind with its goroutine; one that was taken is nil.
func (w *watch) drop() {
	w.stop()
	if w.exit.Error == nil {
		return
	}
	select {
	case <-w.exit.Result:
	case <-w.exit.Error:
	}
}

// attend carries the guest's output until the container is removed, and finds
// out how it ended.
func (b *box) attend(w *watch) {
	carried := make(chan error, 1)
	go func() {
		// Frames are as large as docker's own buffer, whatever the guest writes.
		_, err := stdcopy.StdCopy(b.Out, b.Err, b.conn.Reader)
		carried <- err
	}()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		b.watchMemory(w.events)
	}()
	b.await(w)
	b.Release()
	b.conn.Conn.SetReadDeadline(time.Now().Add(last))
	err := <-carried
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	b.conn.Close()
	// Docker tells of a container's end on one connection and of its memory on
	// another. On that one, too, the removal is the last.
	timer := time.AfterFunc(last, w.stop)
	<-watched
	timer.Stop()
	w.drop()
	b.Out.End(err)
	b.Err.End(nil)
	if b.Exit.Signal == int(syscall.SIGKILL) && !container.IsClosed(b.Killed) && !b.OutOfMemory() && b.away() {
		// A daemon that is told to end ends its containers first.
		b.Exit.Engine = errAway
	}
	close(b.Done)
	b.engine.all.Drop(b)
}

// await waits for the container's removal, which a kill begins.
func (b *box) await(w *watch) {
	b.Exit = sandbox.Exit{Code: -1}
	var impatient <-chan time.Time
	killed := b.Killed
	for {
		select {
		case r := <-w.exit.Result:
			w.exit = client.ContainerWaitResult{}
			b.Exit = container.ExitOf(int(r.StatusCode))
			if r.Error != nil {
				// It has ended, but docker could not remove it.
				b.engine.remove(b.client, b.id)
			}
			return
		case err := <-w.exit.Error:
			w.exit = client.ContainerWaitResult{}
			b.abandoned(err)
			return
		case <-killed:
			killed = nil
			go b.engine.remove(b.client, b.id)
			timer := time.NewTimer(patience)
			defer timer.Stop()
			impatient = timer.C
		case <-impatient:
			b.abandoned(fmt.Errorf("it has not killed the container within %s", patience))
			return
		}
	}
}

// abandoned is what there is to do when docker does not tell of the container
// any more: it may have been restarted, and the container be alive or not.
func (b *box) abandoned(err error) {
	b.Exit = sandbox.Exit{Code: -1, Engine: errAway}
	b.engine.log.Warn("docker went away", "container", b.id, "cause", err)
	b.engine.remove(b.client, b.id)
	b.engine.unlink(b.client)
}

var errAway = errors.New("docker went away")

// away tells whether the daemon takes no more connections.
func (b *box) away() bool {
	ctx, cancel := context.WithTimeout(context.Background(), last)
	defer cancel()
	conn, err := b.client.Dialer()(ctx)
	if err != nil {
		b.engine.unlink(b.client)
		return true
	}
	conn.Close()
	return false
}

// watchMemory notes kills for memory until the container is removed. The
// container's state is about its first process only, if it says so at all.
func (b *box) watchMemory(events client.EventsResult) {
	for {
		select {
		case m := <-events.Messages:
			switch m.Action {
			case "oom":
				b.memory.Store(true)
			case "destroy":
				return
			}
		case <-events.Err:
			return
		}
	}
}

// Stdin is the guest's fd 0.
func (b *box) Stdin() io.WriteCloser { return (*stdin)(b) }

// OutOfMemory reports whether a process of the sandbox was killed for memory.
func (b *box) OutOfMemory() bool { return b.memory.Load() }

// stdin is the guest's fd 0.
type stdin box

func (s *stdin) Write(p []byte) (int, error) {
	if container.IsClosed(s.Done) {
		return 0, syscall.EPIPE
	}
	return s.conn.Conn.Write(p)
}

// Close ends what the guest reads; what it writes goes on.
func (s *stdin) Close() error {
	var err error
	s.halfClose.Do(func() { err = s.conn.CloseWrite() })
	return err
}
