package container

import (
	"crypto/rand"
	"io"
	"maps"
	"strings"
	"sync"

	"bridge/sandbox"
)

// Life is what every box has, whatever its engine: the container's name, the
// guest's output, and how the sandbox is killed and ends.
type Life struct {
	name   string
	held   map[string]string
	Out    *Stream // what the guest writes to fd 1
	Err    *Stream // and to fd 2
	Killed chan struct{}
	Done   chan struct{}
	Exit   sandbox.Exit // set before Done is closed
	kill   sync.Once
}

// NewLife is that of a new container, on which limits are held as the engine
// says.
func NewLife(held map[string]string) *Life {
	return &Life{
		name: "bridge-" + strings.ToLower(rand.Text()), held: held,
		Out: NewStream(), Err: NewStream(),
		Killed: make(chan struct{}), Done: make(chan struct{}),
	}
}

// Name is the name of the container.
func (l *Life) Name() string { return l.name }

// Stdout is what the guest writes to fd 1.
func (l *Life) Stdout() io.Reader { return l.Out }

// Stderr is what the guest writes to fd 2.
func (l *Life) Stderr() io.Reader { return l.Err }

// Kill closes Killed, for the engine to kill the container.
func (l *Life) Kill() { l.kill.Do(func() { close(l.Killed) }) }

// Release lets the engine read on without anybody who reads the output.
func (l *Life) Release() {
	l.Out.Release()
	l.Err.Release()
}

// Wait waits until Done is closed.
func (l *Life) Wait() sandbox.Exit {
	<-l.Done
	return l.Exit
}

// Limits says how each limit is held.
func (l *Life) Limits() map[string]string { return maps.Clone(l.held) }
