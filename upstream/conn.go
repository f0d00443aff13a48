package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// conn is the connection to one life of a server. It uses the library's
// transport and not its client: the client reads catalogs and results into
// types that lose what they do not know, and refuses servers that name a
// protocol version it has not heard of.
type conn struct {
	server *server
	proc   *process
	words  *tail
	in     *input
	out    *output
	wire   *transport.Stdio
	ids    atomic.Int64
	meta   map[string]any // sent with every request since 2026-07-28, nil before

	changes atomic.Int64 // how often the catalog has changed

	life    context.Context // ends with the connection, or with the set
	leave   context.CancelFunc
	dead    chan struct{} // closed when the server is of no more use
	cause   error         // why, to be read after dead
	removed chan struct{} // closed when nobody is given the connection any more
	over    sync.WaitGroup
}

// newConn connects to a process. Either watch or close must follow, so that
// the process ends some day.
func newConn(s *server, proc *process, redact *strings.Replacer) *conn {
	c := &conn{server: s, proc: proc, in: newInput(proc.stdin), dead: make(chan struct{}), removed: make(chan struct{})}
	c.words = &tail{redact: redact, eof: make(chan struct{})}
	c.out = newOutput(proc.stdout, c.words)
	c.wire = transport.NewIO(c.out.buffered(), c.in, io.NopCloser(strings.NewReader("")))
	transport.WithCommandLogger(slog.New(slog.DiscardHandler))(c.wire)
	c.wire.SetNotificationHandler(c.notified)
	c.wire.SetRequestHandler(c.asked)
	c.life, c.leave = context.WithCancel(s.life)

	c.over.Go(func() { c.words.follow(proc.stderr) })
	c.over.Go(c.in.drain)
	c.wire.Start(c.life) // starts no process, so it cannot go wrong
	c.over.Go(c.supervise)
	return c
}

// alive tells whether the server may still answer.
func (c *conn) alive() bool {
	select {
	case <-c.proc.ended:
		return false
	case <-c.out.eof:
		return false
	default:
		return true
	}
}

// drainTime is how long the last output of a server that has ended is waited
// for: something of its making may hold the pipes open for ever.
const drainTime = 200 * time.Millisecond

// supervise finds out how the connection ends, and says so to all who wait.
func (c *conn) supervise() {
	select {
	case <-c.proc.ended:
	case <-c.out.eof:
		// As a rule its end follows at once, and is the better cause.
		select {
		case <-c.proc.ended:
		case <-time.After(drainTime):
		}
	}
	deadline := time.Now().Add(drainTime)
	c.proc.stdout.SetReadDeadline(deadline)
	c.proc.stderr.SetReadDeadline(deadline)
	<-c.out.eof
	<-c.words.eof
	select {
	case <-c.proc.ended:
		c.cause = fmt.Errorf("ended (%s)", c.proc.words)
	default:
		c.cause = errors.New("closed its output")
	}
	if c.out.tooLong.Load() {
		c.cause = fmt.Errorf("sent a message of more than %d MiB", maxLine>>20)
	}
	close(c.dead)
}

// request sends a request and gives the result as it came. Its error is an
// *rpcError if the server answered with one; the context's if that ended
// first, in which case the server is told; else why there will be no answer.
func (c *conn) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	// Integers, as the common clients send: some servers know no other ids.
	id := mcp.NewRequestId(c.ids.Add(1))
	res, err := c.wire.SendRequest(ctx, transport.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION, ID: id, Method: method, Params: params,
	})
	switch {
	case err == nil && res.Error != nil:
		refusal := &rpcError{code: res.Error.Code, message: res.Error.Message}
		if res.Error.Data != nil {
			refusal.data, _ = json.Marshal(res.Error.Data)
		}
		return nil, refusal
	case err == nil && len(res.Result) == 0:
		return nil, errors.New("answered with neither a result nor an error")
	case err == nil:
		return res.Result, nil
	case ctx.Err() != nil:
		if method != "initialize" {
			c.cancel(id, ctx.Err().Error())
		}
		return nil, ctx.Err()
	case errors.Is(err, errQueueFull):
		return nil, errQueueFull
	}
	// The pipe broke; why is known when the server's end is.
	select {
	case <-c.dead:
		return nil, c.cause
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// cancel tells the server that nobody waits for an answer any more.
func (c *conn) cancel(id mcp.RequestId, reason string) {
	c.wire.SendNotification(c.life, mcp.JSONRPCNotification{
		JSONRPC: mcp.JSONRPC_VERSION,
		Notification: mcp.Notification{
			Method: string(mcp.MethodNotificationCancelled),
			Params: mcp.NotificationParams{AdditionalFields: map[string]any{"requestId": id, "reason": reason}},
		},
	})
}

// notified hears a notification. It runs in the read loop and must not wait.
func (c *conn) notified(n mcp.JSONRPCNotification) {
	if n.Method == string(mcp.MethodNotificationToolsListChanged) {
		c.changes.Add(1)
	}
}

// watch sees to the end of a connection that is in use: the server's own, or
// the set's. The function is called when the server is of no more use.
func (c *conn) watch(ended func()) {
	c.server.set.work.Add(1)
	go func() {
		defer c.server.set.work.Done()
		select {
		case <-c.dead:
		case <-c.server.life.Done():
		}
		ended()
		close(c.removed)
		c.close()
	}()
}

// farewell is how long a server has to end by itself at the end of its input.
const farewell = time.Second

// close ends the server and all that it started, and returns when it is gone.
func (c *conn) close() {
	c.in.Close()
	select {
	case <-c.proc.ended:
	case <-time.After(farewell):
	}
	c.proc.end()
	<-c.proc.gone
	<-c.dead
	c.leave()
	c.wire.Close()
	c.proc.closeFiles()
	c.over.Wait()
}
