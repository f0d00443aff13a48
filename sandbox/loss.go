package sandbox

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Loss is how a session came to its end.
type Loss struct {
	Exit        Exit   // of the session's Python
	OutOfMemory bool   // the engine killed it for its memory
	Killed      bool   // it did not end a run within the grace, so we killed it
	Closed      bool   // the session was closed
	Reason      string // what the guest did against the rules of the wire, else ""
}

func (l *Loss) Error() string {
	switch {
	case l.Closed:
		return "the session was closed"
	case l.Killed:
		return fmt.Sprintf("killed: not ended %s after it was interrupted", Grace)
	case l.Reason != "":
		return "killed: " + l.Reason
	case l.OutOfMemory:
		return "killed: out of memory"
	case l.Exit.Engine != nil:
		return "the sandbox is gone: " + l.Exit.Engine.Error()
	case l.Exit.Signal != 0:
		return fmt.Sprintf("the session's Python was ended by signal %d (%s)", l.Exit.Signal, signalName(l.Exit.Signal))
	}
	return fmt.Sprintf("the session's Python exited with code %d", l.Exit.Code)
}

// signalName names the signals of Linux, the guest's system, that end a process
// that did not ask for it.
func signalName(number int) string {
	names := map[int]string{
		1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL",
		11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
	}
	if name, known := names[number]; known {
		return name
	}
	return "unnamed"
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
		s.lost = &Loss{Reason: reason, Closed: s.closing && reason == ""}
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
