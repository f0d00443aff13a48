package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// This file is the lines of a connection: one message of the agent read, one
// answer written.

// reply is a response with the id as the agent wrote it.
type reply struct {
	JSONRPC string                   `json:"jsonrpc"`
	ID      json.RawMessage          `json:"id"`
	Result  any                      `json:"result,omitempty"`
	Error   *mcp.JSONRPCErrorDetails `json:"error,omitempty"`
}

// outgoing is a request to the agent, or a notification if it has no id.
type outgoing struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method"`
	Params  any             `json:"params,omitempty"`
}

// send writes one message of the bridge's own.
func (c *conn) send(m outgoing) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.write(m)
}

// give writes an answer, if there is one, after the notifications that came
// before it.
func (c *conn) give(answer any) {
	if answer == nil {
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.drain()
	c.write(answer)
}

// answer is a response with the id as the agent wrote it, nil if there is none.
func answer(id json.RawMessage, response mcp.JSONRPCMessage) any {
	switch r := response.(type) {
	case nil:
		return nil
	case mcp.JSONRPCResponse:
		if id != nil {
			return reply{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Result: r.Result}
		}
	case mcp.JSONRPCError:
		if id != nil {
			return reply{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Error: &r.Error}
		}
	}
	return response
}

// drain writes the notifications that the library has. The caller holds
// writing.
func (c *conn) drain() {
	for {
		select {
		case n := <-c.notes:
			c.write(n)
		default:
			return
		}
	}
}

// note writes notifications as they come, where no answer takes them along. It
// may be blocked by an agent that does not read; then it ends with the process.
func (c *conn) note(ctx context.Context) {
	for {
		select {
		case n := <-c.notes:
			c.writing.Lock()
			c.write(n)
			c.drain()
			c.writing.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// failure is an error in answer to a message.
func failure(id json.RawMessage, code int, format string, args ...any) any {
	if id == nil {
		id = json.RawMessage("null")
	}
	details := mcp.NewJSONRPCErrorDetails(code, fmt.Sprintf(format, args...), nil)
	return reply{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Error: &details}
}

// A batch is a list of messages, which revision 2025-03-26 has. It is answered
// with the list of their answers.
type batch struct {
	conn *conn

	mu      sync.Mutex // guards what follows
	left    int        // messages that are still to be dealt with
	answers []json.RawMessage
	bytes   int // of these
}

// maxBatch bounds the messages of one list.
const maxBatch = 1000

// batch deals with a list of messages.
func (c *conn) batch(ctx context.Context, list []json.RawMessage, answered func()) {
	if len(list) == 0 || len(list) > maxBatch {
		c.give(failure(nil, mcp.INVALID_REQUEST, "a list of %d messages; it must have from 1 to %d", len(list), maxBatch))
		return
	}
	b := &batch{conn: c, left: len(list)}
	for _, line := range list {
		c.handle(ctx, line, b.give, answered)
	}
}

// give takes the answer to one of the messages, nil if it has none. Answers wait
// here for each other: what is too much for that is left out.
func (b *batch) give(answer any) {
	b.mu.Lock()
	if answer != nil {
		text, err := json.Marshal(answer)
		if err != nil || b.bytes+len(text) > maxHeld {
			r, _ := answer.(reply)
			text, _ = json.Marshal(failure(r.ID, mcp.INTERNAL_ERROR, "the answers to this list have more than %d bytes; ask for this one alone", maxHeld))
		}
		b.bytes += len(text)
		b.answers = append(b.answers, text)
	}
	b.left--
	whole := b.left == 0 && len(b.answers) > 0
	b.mu.Unlock()
	if whole {
		b.conn.give(b.answers)
	}
}

// write sends one message. The caller holds writing. An agent that cannot be
// written to is gone.
func (c *conn) write(v any) {
	if err := json.NewEncoder(c.out).Encode(v); err != nil {
		c.cancel(fmt.Errorf("writing to the agent: %w", err))
	}
}

var errLong = errors.New("line too long")

// readLine returns the next line, also an unended last one with io.EOF. Of a
// line over the limit it reads all and keeps nothing.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > limit; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && err == nil:
			return nil, errLong
		default:
			return line, err
		}
	}
}
