package upstream

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
)

// mcpTransport is how the bridge speaks with one life of a server: through the pipes of
// a process, or over HTTP.
type mcpTransport interface {
	// open makes the transport ready for the first request.
	open(ctx context.Context) error

	// request sends a request and gives the result as it came. Its error is an
	// *rpcError if the server answered with one, a *lost if it was not, or need
	// not have been, carried out, and else why there will be no answer. It may
	// return ctx.Err() when ctx ends.
	request(ctx context.Context, id int64, method string, params any) (json.RawMessage, error)

	// notify sends a notification. What goes wrong is told by the next request.
	notify(ctx context.Context, method string, params map[string]any)

	// agreed tells the version of the protocol, before any further request.
	agreed(version string)

	// listen hears the server's notifications until ctx ends, where these do not
	// come by themselves. It is used before 2026-07-28 only.
	listen(ctx context.Context)

	// alive tells whether the server may still answer.
	alive() bool

	// close ends the transport and waits for what belongs to it.
	close()
}

// lost is a request that was not carried out, for a reason that is not a refusal.
type lost struct{ error }

func (l *lost) Unwrap() error { return l.error }

// conn is the connection to one life of a server. It does not use the library's
// client: that reads catalogs and results into types that lose what they do not
// know, refuses servers that name a protocol version it has not heard of, and
// passes over lines that it cannot read.
type conn struct {
	server    *server
	transport mcpTransport
	stderr    *tail
	ids       atomic.Int64
	meta      map[string]any // sent with every request since 2026-07-28, nil before

	replies chan struct{} // held by each answer that is under way

	changes atomic.Int64 // how often the catalog has changed

	life    context.Context // ends with the connection, or with the set
	leave   context.CancelFunc
	ending  sync.Once
	dead    chan struct{} // closed when the server is of no more use
	cause   error         // why, to be read after dead
	removed chan struct{} // closed when nobody is given the connection any more

	mu       sync.Mutex // guards closed, and over against work that begins too late, and what follows
	closed   bool
	over     sync.WaitGroup
	followed map[int64]func(Progress) // by the token of the request
	tokens   int64
}

// newConn makes a connection without a transport. Either watch or close must
// follow, so that it ends some day.
func newConn(s *server, redact *strings.Replacer) *conn {
	c := &conn{server: s, replies: make(chan struct{}, 8), dead: make(chan struct{}), removed: make(chan struct{})}
	c.stderr = &tail{redact: redact, eof: make(chan struct{})}
	c.life, c.leave = context.WithCancel(s.life)
	return c
}

// end says that the server is of no more use, and why.
func (c *conn) end(cause error) {
	c.ending.Do(func() {
		c.cause = cause
		close(c.dead)
	})
}

// spawn does something that close waits for, unless that has begun.
func (c *conn) spawn(work func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.over.Go(work)
	}
}

// reply sends an answer to a request of the server, unless it has asked for too
// much at once.
func (c *conn) reply(send func()) {
	select {
	case c.replies <- struct{}{}:
		c.spawn(func() {
			defer func() { <-c.replies }()
			send()
		})
	default:
	}
}

// alive tells whether the server may still answer.
func (c *conn) alive() bool { return c.transport.alive() }

// request sends a request and gives the result as it came. Its error is that
// of the transport; the context's if that ended first, in which case the server is
// told.
func (c *conn) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	// Integers, as the common clients send: some servers know no other ids.
	id := c.ids.Add(1)
	result, err := c.transport.request(ctx, id, method, params)
	if err != nil && ctx.Err() != nil {
		if method != "initialize" {
			c.transport.notify(c.life, string(mcp.MethodNotificationCancelled), map[string]any{"requestId": id, "reason": ctx.Err().Error()})
		}
		return nil, ctx.Err()
	}
	return result, err
}

// notified hears a notification. It runs in the read loop and must not wait.
func (c *conn) notified(m *envelope) {
	switch m.Method {
	case string(mcp.MethodNotificationToolsListChanged):
		c.changes.Add(1)
	case "notifications/progress":
		c.progressed(m.Params)
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

// close ends the server and all that it started, and returns when it is gone.
func (c *conn) close() {
	c.transport.close()
	c.leave()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.over.Wait()
}
