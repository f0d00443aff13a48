package toy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// session is the one client of a toy. The library's own loop for stdio is not
// used: it loses cancellations that come early, and results at the end of the
// input, which is what scenarios are about.
type session struct {
	options options
	notes   chan mcp.JSONRPCNotification

	mu      sync.Mutex
	out     io.Writer
	cancels map[string]context.CancelFunc // of running requests, by id
	asked   map[string]chan []byte        // requests to the client, by id
}

func newSession(o options, out io.Writer) *session {
	return &session{
		options: o, notes: make(chan mcp.JSONRPCNotification, 1024), out: out,
		cancels: map[string]context.CancelFunc{}, asked: map[string]chan []byte{},
	}
}

// What the library wants of a session.

func (s *session) Initialize()                                         {}
func (s *session) Initialized() bool                                   { return true }
func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notes }
func (s *session) SessionID() string                                   { return "toy" }

// send writes messages, those that wait in the notification channel first: a
// result must not overtake what happened before it.
func (s *session) send(messages ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		select {
		case note := <-s.notes:
			s.write(note)
			continue
		default:
		}
		break
	}
	for _, m := range messages {
		s.write(m)
	}
}

func (s *session) write(m any) {
	line, ok := m.(rawBytes)
	if !ok {
		var err error
		if line, err = json.Marshal(m); err != nil {
			return
		}
	}
	s.out.Write(append(line, '\n'))
}

// message is any message of a client.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
}

// serve answers until the input ends, and then until what was asked is
// answered. Handlers that would wait are cancelled at that point.
func (s *session) serve(ctx context.Context, srv *server.MCPServer, r io.Reader) error {
	if err := srv.RegisterSession(ctx, s); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(srv.WithContext(ctx, s))
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			s.take(ctx, srv, line, &running)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// take deals with one message.
func (s *session) take(ctx context.Context, srv *server.MCPServer, line []byte, running *sync.WaitGroup) {
	var m message
	json.Unmarshal(line, &m)
	switch {
	case m.Method == "notifications/cancelled":
		s.mu.Lock()
		cancel := s.cancels[string(m.Params.RequestID)]
		delete(s.cancels, string(m.Params.RequestID))
		s.mu.Unlock()
		if cancel != nil {
			cancel()
		}
	case m.Method == "":
		s.mu.Lock()
		answer := s.asked[string(m.ID)]
		s.mu.Unlock()
		if answer != nil {
			answer <- line
		}
	case len(m.ID) == 0:
		srv.HandleMessage(ctx, line)
	default:
		if m.Method == "tools/call" {
			record("TOY_LOG", "toy.log", m.Params.Name)
			if s.options.ignoreStdin {
				forever()
			}
		}
		ctx, cancel := context.WithCancel(ctx)
		id := string(m.ID)
		s.mu.Lock()
		s.cancels[id] = cancel
		s.mu.Unlock()
		running.Go(func() {
			defer cancel()
			answer := s.answer(ctx, srv, m, line)
			s.mu.Lock()
			_, wanted := s.cancels[id]
			delete(s.cancels, id)
			s.mu.Unlock()
			if wanted {
				s.send(answer)
			}
		})
	}
}

// answer is the answer to one request.
func (s *session) answer(ctx context.Context, srv *server.MCPServer, m message, line []byte) any {
	switch {
	case s.options.modern && m.Method == "initialize":
		return refusal(m.ID, mcp.METHOD_NOT_FOUND, "initialize was removed in 2026-07-28", nil)
	case s.options.raw && m.Method == "tools/call":
		if handler := rawHandlers[m.Params.Name]; handler != nil {
			return handler(ctx, s, m)
		}
	case s.options.oddTool && m.Method == "tools/list":
		return withNameless(srv.HandleMessage(ctx, line))
	}
	return srv.HandleMessage(ctx, line)
}

func result(id, result json.RawMessage) any {
	return map[string]any{"jsonrpc": "2.0", "id": id, "result": result}
}

func refusal(id json.RawMessage, code int, message string, data json.RawMessage) any {
	failure := map[string]any{"code": code, "message": message}
	if data != nil {
		failure["data"] = data
	}
	return map[string]any{"jsonrpc": "2.0", "id": id, "error": failure}
}

// ask sends a request to the client and gives its answer, whole.
func (s *session) ask(ctx context.Context, id, method string) (json.RawMessage, error) {
	answer := make(chan []byte, 1)
	s.mu.Lock()
	s.asked[id] = answer
	s.mu.Unlock()
	s.send(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method, "params": map[string]any{}})
	select {
	case line := <-answer:
		return line, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("no answer to %s: %w", method, ctx.Err())
	}
}
