package sandbox

import (
	"context"
	"encoding/json"
	"errors"
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

	// maxQueue bounds the bytes of answers that wait for the guest to read.
	maxQueue = 32 << 20

	// stderrKept is how much of the first process's stderr is kept of its
	// beginning and of its end.
	stderrKept = 2 << 10
)

// Session is one Python session in a sandbox. It may be used by several
// goroutines.
type Session struct {
	box     Sandbox
	handler Handler
	turn    chan struct{}
	ready   chan struct{} // closed when the guest is
	gone    chan struct{} // closed when no process of the sandbox is left
	ending  chan struct{} // closed when the end has begun
	workers sync.WaitGroup

	Python string // the guest's Python version, set once the session is open

	mu      sync.Mutex // guards what follows
	serial  int64
	run     *active
	lost    *Loss
	exit    *Exit // what the first process reported of the session's Python
	stderr  capture
	queue   [][]byte
	queued  int // bytes
	changed sync.Cond
}

// Open starts a sandbox and the session in it, and waits until it can run
// code. The context bounds the start. The caller closes the session.
func Open(ctx context.Context, e Engine, spec Spec, h Handler) (*Session, error) {
	args, frame, err := guestProgram()
	if err != nil {
		return nil, err
	}
	box, err := e.Start(ctx, spec, args)
	if err != nil {
		return nil, err
	}
	s := &Session{
		box:     box,
		handler: h,
		turn:    make(chan struct{}, 1),
		ready:   make(chan struct{}),
		gone:    make(chan struct{}),
		ending:  make(chan struct{}),
		stderr:  capture{limit: stderrKept},
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

// Done is closed when the session has ended and nothing of its sandbox is
// left.
func (s *Session) Done() <-chan struct{} { return s.gone }

// Loss returns how the session ended, nil while it has not.
func (s *Session) Loss() *Loss {
	select {
	case <-s.gone:
		return s.loss()
	default:
		return nil
	}
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
		flight: map[int64]struct{}{},
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

// lose begins the session's end. The first cause is the one that is told.
func (s *Session) lose(l Loss) {
	s.mu.Lock()
	if s.lost == nil {
		s.lost = &l
		close(s.ending)
		s.changed.Broadcast()
	}
	run := s.run
	s.mu.Unlock()
	if run != nil {
		run.stop()
	}
	s.box.Kill()
}

// loss returns the cause of the end, with what only the sandbox knows.
func (s *Session) loss() *Loss {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost == nil {
		return &Loss{}
	}
	l := *s.lost
	return &l
}

func (s *Session) lossError() error {
	return fmt.Errorf("the session is gone: %w", s.loss())
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

// read takes the guest's frames until the wire ends, then waits for the
// sandbox's end and tells everyone.
func (s *Session) read(stderrDone <-chan struct{}) {
	frames := newFrames(s.box.Stdout())
	var broken error
	for broken == nil {
		line, err := frames.next()
		if err == nil {
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

// waitBox waits for the sandbox's end, and brings it about if it does not come.
func (s *Session) waitBox() Exit {
	ended := make(chan Exit, 1)
	go func() { ended <- s.box.Wait() }()
	timer := time.NewTimer(Grace)
	defer timer.Stop()
	select {
	case exit := <-ended:
		return exit
	case <-timer.C:
	case <-s.ending:
	}
	s.box.Kill()
	return <-ended
}

// reason tells what the guest did wrong, "" if the wire just ended.
func (s *Session) reason(broken error) string {
	if errors.Is(broken, io.EOF) || errors.Is(broken, io.ErrUnexpectedEOF) {
		return ""
	}
	var bad *badFrame
	if errors.As(broken, &bad) || errors.Is(broken, errFrameSize) {
		return "the session sent what it must not: " + broken.Error()
	}
	// Reading failed, which is how a pipe of a killed process may end.
	return ""
}

// settle writes down how the session ended.
func (s *Session) settle(exit Exit, reason string) {
	memory := s.box.OutOfMemory()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exit != nil {
		exit = *s.exit
	}
	if s.lost == nil {
		s.lost = &Loss{Reason: reason}
		close(s.ending)
		s.changed.Broadcast()
	}
	s.lost.Exit = exit
	// The engine may have killed a child of the session, earlier. Only a
	// death by SIGKILL that was not ours is put down to memory.
	ours := s.lost.Killed || s.lost.Closed || s.lost.Reason != ""
	s.lost.OutOfMemory = memory && !ours && (s.exit == nil || s.exit.Signal == 9)
	if s.run != nil {
		s.run.stop()
	}
}

// badFrame is a frame against the rules of the wire.
type badFrame struct{ cause error }

func (b *badFrame) Error() string { return b.cause.Error() }

// take acts on one frame of the guest.
func (s *Session) take(line []byte) error {
	m, err := decodeFrame(line)
	if err != nil {
		return &badFrame{err}
	}
	switch {
	case m.Method == "":
		err = s.answered(m)
	case m.ID != nil:
		err = s.asked(m)
	default:
		err = s.told(m)
	}
	if err != nil {
		return &badFrame{err}
	}
	return nil
}

// told acts on a notification.
func (s *Session) told(m message) error {
	switch m.Method {
	case "output":
		run := s.current()
		if run == nil {
			return errors.New("output outside a run")
		}
		return run.output(m.Params)
	case "ready":
		return s.started(m.Params)
	case "exited":
		var p struct {
			Code   *int `json:"code"`
			Signal int  `json:"signal"`
		}
		if err := strict(m.Params, &p); err != nil {
			return err
		}
		exit := Exit{Code: -1, Signal: p.Signal}
		if p.Code != nil {
			exit.Code = *p.Code
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.exit = &exit
		return nil
	}
	return fmt.Errorf("unknown notification %q", clip(m.Method, 40))
}

// started takes the guest's word that it can run code.
func (s *Session) started(params json.RawMessage) error {
	var p struct {
		Python         string `json:"python"`
		Implementation string `json:"implementation"`
	}
	if err := strict(params, &p); err != nil {
		return err
	}
	select {
	case <-s.ready:
		return errors.New("ready, a second time")
	default:
	}
	s.Python = clip(p.Python, 40)
	close(s.ready)
	return nil
}

// answered takes the answer to a run.
func (s *Session) answered(m message) error {
	run := s.current()
	if run == nil || *m.ID != run.id {
		return fmt.Errorf("an answer to request %d, which is not open", *m.ID)
	}
	if m.Error != nil {
		return errors.New("an error in answer to a run")
	}
	var answer ended
	if err := strict(m.Result, &answer); err != nil {
		return err
	}
	switch answer.Status {
	case Succeeded, Exited:
	case Failed, Interrupted:
		if answer.Error == nil {
			return fmt.Errorf("status %q without its error", answer.Status)
		}
	default:
		return fmt.Errorf("unknown status %q", clip(string(answer.Status), 40))
	}
	// The run is over before its answer is: a frame for it that follows is
	// too late.
	s.finish(run)
	run.answer <- answer
	return nil
}

func (s *Session) current() *active {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}
