package native

import (
	"errors"
	"os"
	"runtime"
	"sync"
)

var errClosed = errors.New("the native engine is closed")

// A creator starts processes from one thread that lives as long as it does.
// A sandbox dies with the thread that made it, not with the process (that is
// how the kernel means PR_SET_PDEATHSIG), and the threads of a Go program
// come and go.
type creator struct {
	once sync.Once
	work chan func()
	quit chan struct{}
	done chan struct{}
}

func newCreator() *creator {
	return &creator{work: make(chan func()), quit: make(chan struct{}), done: make(chan struct{})}
}

func (c *creator) start(name string, argv []string, attr *os.ProcAttr) (p *os.Process, err error) {
	c.once.Do(func() { go c.run() })
	ended := make(chan struct{})
	job := func() {
		defer close(ended)
		p, err = os.StartProcess(name, argv, attr)
	}
	select {
	case c.work <- job:
		<-ended
		return p, err
	case <-c.quit:
		return nil, errClosed
	}
}

func (c *creator) run() {
	defer close(c.done)
	// Never unlocked: the thread ends with the goroutine.
	runtime.LockOSThread()
	for {
		select {
		case job := <-c.work:
			job()
		case <-c.quit:
			return
		}
	}
}

// close ends the thread, and with it whatever it has started. It must be
// called once.
func (c *creator) close() {
	started := true
	c.once.Do(func() { started = false })
	close(c.quit)
	if started {
		<-c.done
	}
}
