package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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
	engine *Engine
	client *client.Client
	image  string // id
	id     string
	watch  *watch
	held   map[string]string
	conn   client.HijackedResponse
	stdout *container.Stream
	stderr *container.Stream

	halfClose sync.Once
	kill      sync.Once
	killed    chan struct{} // closed when the kill has begun
	memory    atomic.Bool

	done chan struct{}
	exit sandbox.Exit // set before done is closed
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
		_, err := stdcopy.StdCopy(b.stdout, b.stderr, b.conn.Reader)
		carried <- err
	}()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		b.watchMemory(w.events)
	}()
	orphan := b.await(w)
	b.stdout.Release()
	b.stderr.Release()
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
	b.stdout.End(err)
	b.stderr.End(nil)
	if b.exit.Signal == int(syscall.SIGKILL) && !b.wasKilled() && !b.OutOfMemory() && b.away() {
		// A daemon that is told to end ends its containers first.
		b.exit.Engine = errAway
	}
	b.engine.forget(b, orphan)
	close(b.done)
}

// await waits for the container's removal. It tells whether the container may
// still be there.
func (b *box) await(w *watch) (orphan bool) {
	b.exit = sandbox.Exit{Code: -1}
	var impatient <-chan time.Time
	killed := b.killed
	for {
		select {
		case r := <-w.exit.Result:
			w.exit = client.ContainerWaitResult{}
			b.exit = container.ExitOf(int(r.StatusCode))
			if r.Error == nil {
				return false
			}
			// It has ended, but docker could not remove it.
			return !b.engine.remove(b.client, b.id)
		case err := <-w.exit.Error:
			w.exit = client.ContainerWaitResult{}
			return b.abandoned(err)
		case <-killed:
			killed = nil
			timer := time.NewTimer(patience)
			defer timer.Stop()
			impatient = timer.C
		case <-impatient:
			return b.abandoned(fmt.Errorf("it has not killed the container within %s", patience))
		}
	}
}

// abandoned is what there is to do when docker does not tell of the container
// any more: it may have been restarted, and the container be alive or not.
func (b *box) abandoned(err error) (orphan bool) {
	b.exit = sandbox.Exit{Code: -1, Engine: errAway}
	b.engine.log.Warn("docker went away", "container", b.id, "cause", err)
	removed := b.engine.remove(b.client, b.id)
	b.engine.unlink(b.client)
	return !removed
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

func (b *box) wasKilled() bool { return container.IsClosed(b.killed) }

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

func (b *box) Stdin() io.WriteCloser { return (*stdin)(b) }
func (b *box) Stdout() io.Reader     { return b.stdout }
func (b *box) Stderr() io.Reader     { return b.stderr }

// Kill has docker kill and remove the container, in the background.
func (b *box) Kill() {
	b.kill.Do(func() {
		close(b.killed)
		if !container.IsClosed(b.done) {
			go b.engine.remove(b.client, b.id)
		}
	})
}

func (b *box) Wait() sandbox.Exit {
	<-b.done
	return b.exit
}

func (b *box) OutOfMemory() bool { return b.memory.Load() }

func (b *box) Limits() map[string]string { return maps.Clone(b.held) }

// stdin is the guest's fd 0.
type stdin box

func (s *stdin) Write(p []byte) (int, error) {
	if container.IsClosed(s.done) {
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
