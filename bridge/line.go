package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"

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

// answer writes a response, with the id as the agent wrote it, after the
// notifications that came before it.
func (c *conn) answer(id json.RawMessage, response mcp.JSONRPCMessage) {
	if response == nil {
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.drain()
	if id == nil {
		c.write(response)
		return
	}
	switch r := response.(type) {
	case mcp.JSONRPCResponse:
		c.write(reply{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Result: r.Result})
	case mcp.JSONRPCError:
		c.write(reply{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Error: &r.Error})
	default:
		c.write(response)
	}
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

func (c *conn) fail(id json.RawMessage, code int, text string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	details := mcp.NewJSONRPCErrorDetails(code, text, nil)
	c.writing.Lock()
	defer c.writing.Unlock()
	c.write(reply{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Error: &details})
}

// write sends one message. The caller holds writing. An agent that cannot be
// written to is gone.
func (c *conn) write(v any) {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = c.out.Write(append(line, '\n'))
	}
	if err != nil {
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
