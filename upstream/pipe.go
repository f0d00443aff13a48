package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// pipe is the link to a server that is a process.
type pipe struct {
	conn *conn
	proc *process
	in   *input
	out  *output
	wire *transport.Stdio
}

// connect gives a connection its process.
func (c *conn) connect(proc *process) {
	l := &pipe{conn: c, proc: proc, in: newInput(proc.stdin), out: newOutput(proc.stdout, c.words)}
	c.link = l
	l.wire = transport.NewIO(l.out.buffered(), l.in, io.NopCloser(strings.NewReader("")))
	transport.WithCommandLogger(slog.New(slog.DiscardHandler))(l.wire)
	l.wire.SetNotificationHandler(func(n mcp.JSONRPCNotification) { c.notified(n.Method) })
	l.wire.SetRequestHandler(asked)
	c.over.Go(func() { c.words.follow(proc.stderr) })
	c.over.Go(l.in.drain)
	l.wire.Start(c.life) // starts no process, so it cannot go wrong
	c.over.Go(l.supervise)
}

// open does nothing: the process has its pipes from its start.
func (l *pipe) open(context.Context) error { return nil }

func (l *pipe) alive() bool {
	select {
	case <-l.proc.ended:
		return false
	case <-l.out.eof:
		return false
	default:
		return true
	}
}

// drainTime is how long the last output of a server that has ended is waited
// for: something of its making may hold the pipes open for ever.
const drainTime = 200 * time.Millisecond

// supervise finds out how the connection ends, and says so to all who wait.
func (l *pipe) supervise() {
	select {
	case <-l.proc.ended:
	case <-l.out.eof:
		// As a rule its end follows at once, and is the better cause.
		select {
		case <-l.proc.ended:
		case <-time.After(drainTime):
		}
	}
	deadline := time.Now().Add(drainTime)
	l.proc.stdout.SetReadDeadline(deadline)
	l.proc.stderr.SetReadDeadline(deadline)
	<-l.out.eof
	<-l.conn.words.eof
	var cause error
	select {
	case <-l.proc.ended:
		cause = fmt.Errorf("ended (%s)", l.proc.words)
	default:
		cause = errors.New("closed its output")
	}
	if l.out.tooLong.Load() {
		cause = fmt.Errorf("sent a message of more than %d MiB", maxLine>>20)
	}
	l.conn.end(cause)
}

func (l *pipe) request(ctx context.Context, id int64, method string, params any) (json.RawMessage, error) {
	res, err := l.wire.SendRequest(ctx, transport.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Method: method, Params: params,
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
		return nil, ctx.Err()
	case errors.Is(err, errQueueFull):
		return nil, &lost{errQueueFull}
	}
	// The pipe broke; why is known when the server's end is.
	select {
	case <-l.conn.dead:
		return nil, l.conn.cause
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipe) notify(ctx context.Context, method string, params map[string]any) {
	l.wire.SendNotification(ctx, mcp.JSONRPCNotification{
		JSONRPC:      mcp.JSONRPC_VERSION,
		Notification: mcp.Notification{Method: method, Params: mcp.NotificationParams{AdditionalFields: params}},
	})
}

// agreed does nothing: the version is in no message after the handshake.
func (l *pipe) agreed(string) {}

// listen does nothing: notifications come by themselves.
func (l *pipe) listen(context.Context) {}

// farewell is how long a server has to end by itself at the end of its input.
const farewell = time.Second

func (l *pipe) close() {
	l.in.Close()
	select {
	case <-l.proc.ended:
	case <-time.After(farewell):
	}
	l.proc.end()
	<-l.proc.gone
	<-l.conn.dead
	l.conn.leave()
	l.wire.Close()
	l.proc.closeFiles()
}

// asked answers a request of the server. The bridge declares no capability, so
// that a ping is all that a server may ask for.
func asked(_ context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if req.Method == string(mcp.MethodPing) {
		return transport.NewJSONRPCResultResponse(req.ID, json.RawMessage("{}")), nil
	}
	return transport.NewJSONRPCErrorResponse(req.ID, mcp.METHOD_NOT_FOUND, "bridge does not offer "+req.Method, nil), nil
}
