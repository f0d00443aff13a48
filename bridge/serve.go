package bridge

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

const (
	maxLine    = 8 << 20  // bytes of one message of the agent
	maxHeld    = 16 << 20 // bytes of all requests that are under way
	maxParts   = 50_000   // values in one message: each takes much more than in JSON
	maxWaiting = 64       // runs that may wait for their turn, and other requests that may be under way

	// byteOrderMark is what some programs write before text, and no part of it.
	byteOrderMark = "\ufeff"
)

// Serve speaks MCP over newline-delimited JSON-RPC until in ends or ctx is
// done. At the end of in, the requests that are under way are answered first;
// when ctx is done they are given up. Either way nothing is left running that
// belongs to a request.
//
// The loop is the bridge's own, over the library's HandleMessage, because a
// cancellation must reach a run that still waits for its turn, an answer must
// not be lost at the end of in, and ids are to be given back as they came.
func (b *Bridge) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &conn{
		server: b.newServer(), out: out, cancel: cancel,
		notes:    make(chan mcp.JSONRPCNotification, 64),
		requests: map[string]context.CancelFunc{}, listens: map[string]context.CancelFunc{}, lastRun: closed(),
		pending: map[string]chan message{}, gone: make(chan struct{}), reading: make(chan struct{}, 1),
	}
	b.session.policy.reloaded = func() { b.addTool(c.server); c.toolsChanged() }
	if err := c.server.RegisterSession(ctx, c); err != nil {
		return err
	}
	defer c.server.UnregisterSession(ctx, c.SessionID())
	ctx = c.server.WithContext(ctx, c)

	go c.note(ctx)
	read := make(chan error, 1)
	go func() {
		err := c.read(ctx, in, b.Warm)
		close(c.gone)
		read <- err
	}()
	var err error
	select {
	case err = <-read:
		c.stopListening()
		done := make(chan struct{})
		go func() { c.work.Wait(); close(done) }()
		select {
		case <-done:
		case <-ctx.Done():
		}
	case <-ctx.Done():
		// The reader may be blocked for ever; it ends with the process.
		c.stopListening()
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// conn is one agent's connection. It is the library's ClientSession.
type conn struct {
	server *server.MCPServer
	cancel context.CancelCauseFunc
	notes  chan mcp.JSONRPCNotification
	work   sync.WaitGroup
	gone   chan struct{} // closed when the agent will say no more

	reading chan struct{} // held by the resource that is being read

	writing sync.Mutex // guards out
	out     io.Writer

	mu          sync.Mutex // guards what follows
	initialized bool
	requests    map[string]context.CancelFunc // by the id's bytes
	held        int                           // bytes of these
	listens     map[string]context.CancelFunc // of these, those that never end by themselves
	lastRun     <-chan struct{}               // closed when the last run that came has ended
	waiting     int
	pending     map[string]chan message // requests to the agent, by the id's bytes
	serial      int                     // of these
	greeted     bool                    // by a handshake, so before 2026-07-28
	client      mcp.ClientCapabilities  // of the handshake
	listen      json.RawMessage         // id of the last subscriptions/listen
	wanted      mcp.SubscriptionFilter  // of it
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// message is what the loop itself needs to know of a line.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		RequestID    json.RawMessage `json:"requestId"`
		RequestState string          `json:"requestState"`
		Meta         json.RawMessage `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage          `json:"result"`
	Error  *mcp.JSONRPCErrorDetails `json:"error"`
}

// read handles one line after the other until in ends. The first request
// starts the sandbox, when it has been answered.
func (c *conn) read(ctx context.Context, in io.Reader, warm func()) error {
	var once sync.Once
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(lines, maxLine)
		if errors.Is(err, errLong) {
			c.give(failure(nil, mcp.PARSE_ERROR, "a message has more than %d bytes", maxLine))
			continue
		}
		var list []json.RawMessage
		switch line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte(byteOrderMark))); {
		case len(line) == 0:
		case parts(line) > maxParts:
			var m message
			json.Unmarshal(line, &m)
			c.give(failure(m.ID, mcp.INVALID_REQUEST, "a message has more than %d values", maxParts))
		case line[0] == '[' && json.Unmarshal(line, &list) == nil:
			c.batch(ctx, list, func() { once.Do(warm) })
		default:
			c.handle(ctx, line, c.give, func() { once.Do(warm) })
		}
		if err != nil {
			return err
		}
	}
}

// handle deals with one message, and gives its answer once, nil if it has none.
func (c *conn) handle(ctx context.Context, line []byte, give func(answer any), answered func()) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		m = message{} // the library words the error
	}
	switch {
	case m.Method == "notifications/cancelled":
		c.mu.Lock()
		cancel := c.requests[string(m.Params.RequestID)]
		c.mu.Unlock()
		if cancel != nil {
			cancel()
		}
		give(nil)
	case m.Method == "" && c.answered(m):
		give(nil)
	case len(m.ID) == 0 || m.Method == "" || isNull(m.ID):
		give(answer(nil, c.server.HandleMessage(ctx, line)))
	case m.Method == "tools/call" || m.Method == "resources/read" || m.Method == "subscriptions/listen":
		c.request(ctx, m, line, give, answered)
	default:
		// It takes no time, and an agent that does not read the answer is not
		// read any further.
		c.mu.Lock()
		c.greeted = c.greeted || m.Method == "initialize"
		c.mu.Unlock()
		give(answer(m.ID, c.server.HandleMessage(ctx, line)))
		answered()
	}
}

// parts is about the number of values in a message.
func parts(line []byte) int {
	n, within := 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			within = !within
		case within && c == '\\':
			i++
		case !within && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}

// request answers one request in a goroutine of its own. Runs take their turn
// in the order in which they came, and what is read may be large: of other
// requests one is answered at a time.
func (c *conn) request(ctx context.Context, m message, line []byte, give func(answer any), answered func()) {
	id := string(m.ID)
	rctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	if _, used := c.requests[id]; used {
		c.mu.Unlock()
		cancel()
		give(failure(m.ID, mcp.INVALID_REQUEST, "a request with this id is under way"))
		return
	}
	// A run that goes on after a question has its turn already.
	run := m.Method == "tools/call" && m.Params.RequestState == ""
	full := ""
	switch {
	case run && c.waiting == maxWaiting:
		full = fmt.Sprintf("%d runs are waiting already", maxWaiting)
	case !run && len(c.requests)-c.waiting >= maxWaiting:
		full = fmt.Sprintf("%d requests are under way already", maxWaiting)
	case c.held+len(line) > maxHeld:
		full = fmt.Sprintf("the requests that are under way already have %d bytes, of at most %d", c.held, maxHeld)
	}
	if full != "" {
		c.mu.Unlock()
		cancel()
		give(failure(m.ID, mcp.INTERNAL_ERROR, "%s", full))
		return
	}
	c.requests[id] = cancel
	c.held += len(line)
	before, ended := c.lastRun, make(chan struct{})
	switch {
	case run:
		c.lastRun = ended
		c.waiting++
	case m.Method == "subscriptions/listen":
		c.listens[id] = cancel
		c.listen = m.ID
	}
	c.mu.Unlock()

	t := &agentRequest{conn: c}
	if m.Method == "tools/call" {
		t.progress = newProgress(c, m.Params.Meta, heartbeat)
	}
	c.work.Go(func() {
		defer answered()
		defer t.progress.close()
		defer c.forget(id, len(line), cancel)
		if run {
			defer func() { c.mu.Lock(); c.waiting--; c.mu.Unlock(); close(ended) }()
			select {
			case <-before:
			case <-rctx.Done():
				<-before // those behind wait for the one before, too
				give(nil)
				return
			}
		}
		if m.Method == "resources/read" {
			select {
			case c.reading <- struct{}{}:
				defer func() { <-c.reading }()
			case <-rctx.Done():
				give(nil)
				return
			}
		}
		response := c.server.HandleMessage(c.server.WithContext(rctx, t), line)
		t.progress.close()
		if rctx.Err() != nil {
			response = nil // cancelled: the specification wants none
		}
		give(answer(m.ID, response))
	})
}

func (c *conn) forget(id string, size int, cancel context.CancelFunc) {
	c.mu.Lock()
	delete(c.requests, id)
	delete(c.listens, id)
	c.held -= size
	c.mu.Unlock()
	cancel()
}

// stopListening ends the streams that an agent listens on: they never end by
// themselves.
func (c *conn) stopListening() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.listens {
		cancel()
	}
}
