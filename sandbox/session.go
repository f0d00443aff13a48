package sandbox

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	// maxRequests bounds the guest's requests that are served at once. The
	// guest keeps to it, and queues the rest.
	maxRequests = 256

	// maxCarried bounds the bytes of their parameters, but for a single
	// request. The guest keeps to it, too.
	maxCarried = 16 << 20

	// maxQueue bounds the bytes of answers that wait for the guest to read.
	maxQueue = 16 << 20

	// interval is how often a run that is to end is asked to, within the grace.
	interval = 50 * time.Millisecond

	// stderrKept is how much of the first process's stderr is kept of its
	// beginning and of its end.
	stderrKept = 2 << 10
)

// Session is one Python session in a sandbox. It may be used by several
// goroutines.
type Session struct {
	box     Sandbox
	handler Handler
	running chan struct{} // holds a value while a run goes on
	ready   chan struct{} // closed when the guest is
	gone    chan struct{} // closed when no process of the sandbox is left
	ending  chan struct{} // closed when the end has begun
	workers sync.WaitGroup

	answering sync.Mutex // held while an answer waits for room, before mu

	Python string // the guest's Python version, set once the session is open

	mu      sync.Mutex // guards what follows
	serial  int64
	run     *active
	reads   map[int64]chan read // by id; nil for one that is given up
	closing bool                // the guest has been told to end
	lost    *Loss
	exit    *Exit // what the first process reported of the session's Python
	stderr  capture
	queue   [][]byte
	queued  int // bytes
	changed sync.Cond
}

// Open starts a sandbox and the session in it, and waits until it can run
// code. The context bounds the start, and what takes long in it is reported to
// progress. The caller closes the session.
func Open(ctx context.Context, e Engine, spec Spec, h Handler, progress io.Writer) (*Session, error) {
	args, frame, err := guestProgram()
	if err != nil {
		return nil, err
	}
	box, err := e.Start(ctx, spec, args, progress)
	if err != nil {
		return nil, err
	}
	s := &Session{
		box:     box,
		handler: h,
		running: make(chan struct{}, 1),
		ready:   make(chan struct{}),
		gone:    make(chan struct{}),
		ending:  make(chan struct{}),
		stderr:  capture{limit: stderrKept},
		reads:   map[int64]chan read{},
	}
	s.changed.L = &s.mu
	stderrDone := make(chan struct{})
	s.workers.Add(2)
	go s.write()
	go s.readStderr(stderrDone)
	go s.read(stderrDone)
	_ = s.send(frame)
	select {
	case <-s.ready:
		return s, nil
	case <-s.gone:
		err = s.lossError()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.Close()
	if text := s.stderrText(); text != "" {
		return nil, fmt.Errorf("starting the session's Python: %w: %s", err, text)
	}
	return nil, fmt.Errorf("starting the session's Python: %w", err)
}

// Prepare has an engine that can do so make the next session's sandbox ahead.
func Prepare(ctx context.Context, e Engine, spec Spec) error {
	p, can := e.(Preparer)
	if !can {
		return nil
	}
	args, _, err := guestProgram()
	if err != nil {
		return err
	}
	return p.Prepare(ctx, spec, args)
}

// Done is closed when the session has ended and nothing of its sandbox is
// left.
func (s *Session) Done() <-chan struct{} { return s.gone }

// End has the session's Python end as one does that has run its program: it
// waits for its threads, runs what is registered with atexit, and writes out
// its files. A run that is going on is interrupted. What is left after Grace is
// killed, and then it is as after Close.
func (s *Session) End() {
	frame, _ := encodeFrame(message{Method: "end"})
	s.mu.Lock()
	s.closing = true
	s.enqueue(frame)
	s.mu.Unlock()
	timer := time.NewTimer(Grace)
	defer timer.Stop()
	select {
	case <-s.gone:
	case <-timer.C:
	}
	s.Close()
}

// Close kills the sandbox and waits until nothing of it is left and no
// handler runs; the context of a handler has ended by then.
func (s *Session) Close() {
	s.lose(Loss{Closed: true})
	<-s.gone
	s.workers.Wait()
}

// begin makes a run the one that is going on.
func (s *Session) begin(ctx context.Context, r Run) *active {
	// The run's requests end with its context: after the deadline nothing
	// more is done for it, whatever its code still tries.
	ctx, stop := context.WithCancel(ctx)
	run := &active{
		ctx:    ctx,
		stop:   stop,
		stream: r.Stream,
		captures: map[string]*capture{
			"stdout":     {limit: r.Output},
			"stderr":     {limit: r.Output},
			"background": {limit: r.Output},
		},
		flight: map[int64]int{},
		answer: make(chan ended, 1),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	run.id = s.serial
	s.run = run
	return run
}

// finish ends a run; what the guest asks for it after this is refused.
func (s *Session) finish(run *active) {
	run.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == run {
		s.run = nil
	}
	s.changed.Broadcast()
}

func (s *Session) stderrText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stderr.output()
	text := out.Text
	if out.Skipped > 0 {
		text = text[:out.Gap] + "…" + text[out.Gap:]
	}
	return strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
}

// readStderr keeps the end of what the first process complains about: an
// interpreter that does not start says why there.
func (s *Session) readStderr(done chan<- struct{}) {
	defer s.workers.Done()
	defer close(done)
	buffer := make([]byte, 4<<10)
	for {
		n, err := s.box.Stderr().Read(buffer)
		s.mu.Lock()
		s.stderr.add(string(buffer[:n]), 0)
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// leftover bounds the frames that are still taken once the session has been
// ended from outside. A guest can have filled the pipe with any number of them.
const leftover = 1000

// killed tells whether the session was ended from outside.
func (s *Session) killed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost != nil
}

// read takes the guest's frames until the wire ends, then waits for the
// sandbox's end and tells everyone.
func (s *Session) read(stderrDone <-chan struct{}) {
	frames := newFrames(s.box.Stdout())
	var broken error
	late := 0
	for broken == nil {
		line, err := frames.next()
		if err == nil && s.killed() {
			late++
		}
		if err == nil && late <= leftover {
			err = s.take(line)
		}
		broken = err
	}
	if s.reason(broken) != "" {
		s.box.Kill()
	}
	// After the wire's end nothing keeps the sandbox: it ends by itself, or
	// it is ended.
	exit := s.waitBox()
	<-stderrDone
	s.settle(exit, s.reason(broken))
	close(s.gone)
}
