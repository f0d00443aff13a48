package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"bridge/definition"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// quick is how long a server must live for its end to be no reason to wait
	// before it is started again.
	quick = 10 * time.Second
	// maxBackoff bounds that wait.
	maxBackoff = time.Minute
)

// server is one server of a set, through all its lives.
type server struct {
	set *Set
	def definition.Server
	log *slog.Logger

	life context.Context // ends with the set, or when the server is not in it any more
	stop context.CancelFunc

	mu       sync.Mutex
	conn     *conn    // the life that is, nil if none
	begins   bool     // a life is being begun
	catalog  *catalog // what was last read, of whichever life
	recalled sync.Once
	renewed  sync.Once
	history
}

// history is what a server's ends say about its next start.
type history struct {
	failures int       // quick ends in a row
	last     *Error    // of the last of them
	next     time.Time // no start before
}

// failed notes a quick end and decides when the next start may be: at once
// after the first, then after one second, two, four and so on.
func (h *history) failed(err *Error, now time.Time) {
	h.failures++
	h.last = err
	if h.failures > 1 {
		h.next = now.Add(min(time.Second<<min(h.failures-2, 10), maxBackoff))
	}
}

// live gives the connection to the server, which is started if there is none.
func (s *server) live(ctx context.Context) (*conn, error) {
	for {
		s.mu.Lock()
		c := s.conn
		s.mu.Unlock()
		if c == nil {
			break
		}
		if c.alive() {
			return c, nil
		}
		// It has ended and how is being found out: what is asked of it now must
		// not be lost with it.
		select {
		case <-c.removed:
		case <-ctx.Done():
			return nil, s.cancelled(ctx, "", false)
		}
	}
	// The start belongs to all who wait for it: it goes on when one leaves.
	flight := s.set.flights.DoChan(fmt.Sprintf("start %s %p", s.def.Name, s), func() (any, error) { return s.start() })
	select {
	case res := <-flight:
		if res.Err != nil {
			return nil, res.Err
		}
		return res.Val.(*conn), nil
	case <-ctx.Done():
		return nil, s.cancelled(ctx, "", false)
	}
}

// start starts the server, unless it ended too often lately.
func (s *server) start() (*conn, error) {
	if s.life.Err() != nil || !s.set.begin() {
		return nil, s.closed()
	}
	defer s.set.work.Done()
	s.mu.Lock()
	live, wait := s.conn, s.waiting(time.Now())
	s.mu.Unlock()
	if live != nil {
		return live, nil
	}
	if wait != nil {
		return nil, wait
	}

	began := time.Now()
	s.beginning(true)
	defer s.beginning(false)
	ctx, cancel := context.WithTimeout(s.life, s.def.StartTimeout)
	defer cancel()
	c, err := s.connect()
	if err != nil {
		return nil, s.errorf("starting server %q: %w", s.def.Name, err)
	}
	err = c.handshake(ctx)
	if web, ok := c.transport.(*web); ok && s.older(err) {
		c.leave()
		c = newConn(s, web.site.redact)
		c.transport = newSSE(c, web.site)
		err = c.handshake(ctx)
	}
	if err != nil {
		failure := s.startFailure(c, err)
		s.set.work.Go(c.close) // nobody need wait for that
		if s.life.Err() != nil {
			return nil, s.closed()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failed(failure, time.Now())
		return nil, failure
	}
	s.log.Info("started", "after", time.Since(began).Round(time.Millisecond))
	s.mu.Lock()
	s.conn = c
	s.mu.Unlock()
	c.watch(func() { s.ended(c, time.Since(began)) })
	return c, nil
}

func (s *server) beginning(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begins = yes
}

// connect makes a connection, on which nothing has been said. Without one,
// nothing of it is left.
func (s *server) connect() (*conn, error) {
	if s.def.URL != "" {
		site, err := newSite(s.def, os.Environ(), s.set.state)
		if err != nil {
			return nil, err
		}
		c := newConn(s, site.redact)
		c.transport = newWeb(c, site)
		if s.def.Transport == "sse" {
			c.transport = newSSE(c, site)
		}
		return c, nil
	}
	spec, err := prepare(s.def, os.Environ())
	if err != nil {
		return nil, err
	}
	proc, err := startProcess(s.def.Name, spec.Spec)
	if err != nil {
		return nil, fmt.Errorf("exec %q: %w", s.def.Command, err)
	}
	c := newConn(s, spec.redact)
	c.connect(proc)
	return c, nil
}

// older tells whether a server has refused Streamable HTTP as those do that
// have the older transport only. Which of them it has may be left to be found
// out.
func (s *server) older(err error) bool {
	var status *statusError
	return s.def.URL != "" && s.def.Transport == "" && errors.As(err, &status) &&
		(status.code == http.StatusBadRequest || status.code == http.StatusNotFound || status.code == http.StatusMethodNotAllowed)
}

// startFailure words why a handshake did not come about.
func (s *server) startFailure(c *conn, err error) *Error {
	var refusal *rpcError
	var garbled *unreadable
	var failure *Error
	switch {
	case errors.As(err, &refusal):
		failure = s.errorf("server %q: refused to start a session: %s", s.def.Name, c.stderr.redact.Replace(refusal.Error()))
		failure.Code, failure.Data = refusal.code, json.RawMessage(c.stderr.redact.Replace(string(refusal.data)))
	case errors.As(err, &garbled):
		failure = s.errorf("server %q: %s", s.def.Name, garbled.of(string(mcp.MethodInitialize)))
	case errors.Is(err, context.DeadlineExceeded):
		failure = s.errorf("server %q: not started within %v", s.def.Name, s.def.StartTimeout)
	case s.def.URL != "":
		failure = s.errorf("server %q: %w", s.def.Name, err)
	default:
		failure = s.errorf("server %q: %w while starting", s.def.Name, err)
	}
	failure.Stderr = c.stderr.last()
	return failure
}

// waiting is the error for a use before the next start, nil if there may be
// one now.
func (s *server) waiting(now time.Time) error {
	left := s.next.Sub(now)
	if left <= 0 {
		return nil
	}
	err := s.errorf("%s, %d times in a row; next start in %v", s.last.Message, s.failures, left.Round(100*time.Millisecond))
	err.Stderr = s.last.Stderr
	return err
}

// ended notes the end of a life.
func (s *server) ended(c *conn, lived time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == c {
		s.conn = nil
	}
	if s.life.Err() != nil {
		return
	}
	if errors.Is(c.cause, errSession) {
		s.log.Info("has ended the session; the next use opens another")
		return
	}
	failure := s.errorf("server %q: %w", s.def.Name, c.cause)
	failure.Stderr = c.stderr.last()
	s.log.Warn(failure.Error())
	if lived >= quick {
		s.history = history{}
		return
	}
	s.failed(failure, time.Now())
}

func (s *server) errorf(format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: KindServer, Server: s.def.Name, Message: err.Error(), cause: errors.Unwrap(err)}
}

func (s *server) closed() *Error {
	if s.life.Err() == nil {
		return s.errorf("server %q: it is not in the policy any more", s.def.Name)
	}
	return s.errorf("server %q: the bridge is closing", s.def.Name)
}

func (s *server) cancelled(ctx context.Context, tool string, sent bool) *Error {
	what := "while it was starting"
	if tool != "" {
		what = "before it answered " + tool
	}
	return &Error{
		Kind: KindCancelled, Server: s.def.Name, Tool: tool, Sent: sent, cause: ctx.Err(),
		Message: fmt.Sprintf("server %q: given up %s: %v", s.def.Name, what, context.Cause(ctx)),
	}
}
