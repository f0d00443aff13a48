package podman

import (
	"bufio"
	"context"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/container"
)

const (
	// lonely is how long a container may go on that nobody can speak to.
	lonely = sandbox.Grace + time.Second

	// lastTry bounds how long the engine tries to end a container when podman
	// does not answer. After that its owner's label is what it is ended by.
	lastTry = 20 * time.Second
)

// box is one running sandbox. Its container's first process is the first of a
// pid namespace: when that ends, the kernel kills the others.
type box struct {
	*container.Life
	engine *Engine
	wire   net.Conn
	reader *bufio.Reader // of the wire
	stdin  *input
	spoken chan struct{} // closed when something came, or nothing will

	// Of one that was prepared: what it was made of, and on which service.
	image   string
	service *service

	oom bool // set before Done is closed
}

// attend watches the container until nothing of it is left.
func (b *box) attend(s *service) {
	var others sync.WaitGroup
	ended := make(chan struct{})
	others.Go(func() {
		select {
		case <-b.Killed:
			b.Release()
			b.killContainer(ended)
		case <-ended:
		}
	})
	found := make(chan *counter, 1)
	others.Go(func() { found <- b.counter(s) })
	go func() {
		defer b.engine.all.Drop(b)
		defer close(b.Done)
		b.demux()
		// Before podman comes to remove the cgroup.
		select {
		case c := <-found:
			b.oom = c.kills() > 0
			found <- c
		default:
		}
		b.stdin.Close()
		b.wire.Close()
		ours := container.IsClosed(b.Killed)
		b.settle()
		if !ours {
			b.Exit.Engine = lost(s)
		}
		close(ended)
		others.Wait()
		(<-found).close()
	}()
}

// counter looks for the kernel's count, when Python has come up: podman has no
// time for it before, and a session runs no code.
func (b *box) counter(s *service) *counter {
	if !s.local() || b.Limits()["memory"] != "cgroup" {
		return nil
	}
	select {
	case <-b.spoken:
	case <-time.After(100 * time.Millisecond):
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	is, err := s.inspect(ctx, b.Name())
	if err != nil {
		return nil
	}
	return openCounter(is.CgroupPath)
}

// Stdin is the guest's fd 0.
func (b *box) Stdin() io.WriteCloser { return b.stdin }

// OutOfMemory reports whether a process of the sandbox was killed for memory.
func (b *box) OutOfMemory() bool { return container.IsClosed(b.Done) && b.oom }

// killContainer sends SIGKILL until podman has taken it or nothing is left to
// kill.
func (b *box) killContainer(ended <-chan struct{}) {
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := b.call(func(ctx context.Context, s *service) error { return s.kill(ctx, b.Name()) })
		if err == nil || answered(err) {
			return
		}
		select {
		case <-ended:
			return
		case <-time.After(pause):
		}
	}
}

// settle finds out how the container ended, before podman forgets it, and sees
// it removed.
func (b *box) settle() {
	b.Exit = sandbox.Exit{Code: -1}
	started := time.Now()
	for pause := 2 * time.Millisecond; time.Since(started) < lastTry; pause = min(2*pause, 250*time.Millisecond) {
		running, err := b.look()
		if err == nil && !running {
			break
		}
		if time.Since(started) > lonely {
			b.Kill()
		}
		time.Sleep(pause)
	}
	b.remove()
}

// look asks podman how the container is, and notes how it ended.
func (b *box) look() (running bool, err error) {
	err = b.call(func(ctx context.Context, s *service) error {
		is, err := s.inspect(ctx, b.Name())
		if err != nil {
			return err
		}
		if running = is.Running || is.Status == "stopping"; !running {
			b.Exit = container.ExitOf(is.ExitCode)
			b.oom = b.oom || is.OOMKilled
		}
		return nil
	})
	if answered(err) {
		// Podman has removed it already.
		if container.IsClosed(b.Killed) {
			b.Exit = sandbox.Exit{Code: -1, Signal: int(syscall.SIGKILL)}
		}
		return false, nil
	}
	return running, err
}

// remove sees that the container is not there any more.
func (b *box) remove() {
	err := b.call(func(ctx context.Context, s *service) error { return s.remove(ctx, b.Name()) })
	if err != nil {
		b.engine.log.Warn("a container could not be removed; it is at the next start", "container", b.Name(), "cause", err)
	}
}

// Abandon takes back a container that did not come up.
func (b *box) Abandon() {
	if b.wire != nil {
		b.wire.Close()
	}
	b.remove()
	b.engine.all.Drop(b)
}

// call asks the service that there is now: the one that made the container may
// have been restarted.
func (b *box) call(do func(context.Context, *service) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := b.engine.again(ctx)
	if err != nil {
		return err
	}
	return do(ctx, s)
}
