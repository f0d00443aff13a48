package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// A client is an MCP client with a server of its own as a process. It does
// as little as a client can, so that what is measured is the server.
type client struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	err    bytes.Buffer // what the server wrote on stderr, to be read when it has ended
	lastID int
}

// connect starts a server and shakes hands with it.
func connect(ctx context.Context, command ...string) (*client, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = 10 * time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c := &client{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	cmd.Stderr = &c.err
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_, err = c.request("initialize", map[string]any{
		"protocolVersion": "2025-11-25",
		"capabilities":    map[string]any{},
		"clientInfo":      map[string]any{"name": "bench", "version": "1"},
	})
	if err == nil {
		_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("connecting to %s: %w", command[0], err)
	}
	return c, nil
}

// close ends the server by the end of its input and waits for it. It may be
// called again.
func (c *client) close() {
	c.in.Close()
	c.cmd.Wait()
}

func (c *client) request(method string, params any) (json.RawMessage, error) {
	id, err := c.send(method, params)
	if err != nil {
		return nil, err
	}
	for {
		got, result, err := c.receive()
		if err != nil {
			return nil, err
		}
		if got == id {
			return result, nil
		}
	}
}

// burst sends a request n times at once and waits for all of the answers.
func (c *client) burst(n int, method string, params any) error {
	for range n {
		if _, err := c.send(method, params); err != nil {
			return err
		}
	}
	for range n {
		if _, _, err := c.receive(); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) send(method string, params any) (int, error) {
	c.lastID++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.lastID, "method": method, "params": params})
	if err != nil {
		return 0, err
	}
	_, err = c.in.Write(append(line, '\n'))
	return c.lastID, err
}

// receive reads up to the next answer, past what else the server has to say.
func (c *client) receive() (int, json.RawMessage, error) {
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			c.close()
			return 0, nil, fmt.Errorf("the server has ended (%w), the end of its stderr:\n%s", err, c.err.String())
		}
		var m struct {
			ID     int
			Method string
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return 0, nil, fmt.Errorf("reading an answer: %w", err)
		}
		switch {
		case m.Method != "":
		case m.Error != nil:
			return 0, nil, errors.New(m.Error.Message)
		default:
			return m.ID, m.Result, nil
		}
	}
}

// tool calls a tool and returns the text of its result. A result that says it
// is an error is one.
func (c *client) tool(name string, arguments any) (string, error) {
	raw, err := c.request("tools/call", map[string]any{"name": name, "arguments": arguments})
	if err != nil {
		return "", err
	}
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return "", fmt.Errorf("reading the result of %s: %w", name, err)
	}
	text := ""
	if len(result.Content) > 0 {
		text = result.Content[0].Text
	}
	if result.IsError {
		return "", fmt.Errorf("%s: %s", name, text)
	}
	return text, nil
}

// python runs code in the bridge's session.
func (c *client) python(code string) (string, error) {
	return c.tool("run_python", map[string]any{"code": code})
}

// sum runs the least that has a value in the bridge's session.
func (c *client) sum() error {
	text, err := c.python("1+1")
	if err == nil && text != "2" {
		err = fmt.Errorf("1+1 gave %q", text)
	}
	return err
}

// nothing calls the tool of our own server that does nothing.
func (c *client) nothing() error {
	_, err := c.tool("noop", nil)
	return err
}
