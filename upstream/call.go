package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

type callParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Meta      map[string]any  `json:"_meta,omitempty"`
}

// call calls a tool. The time of a start is not the call's.
func (s *server) call(ctx context.Context, tool string, args json.RawMessage, heard func(Progress)) (json.RawMessage, error) {
	args = bytes.TrimSpace(args)
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if args[0] != '{' || !json.Valid(args) {
		return nil, &Error{
			Kind: KindTool, Server: s.def.Name, Tool: tool,
			Message: fmt.Sprintf("%s.%s: arguments must be a JSON object", s.def.Name, tool),
		}
	}
	c, err := s.live(ctx)
	if err != nil {
		return nil, err
	}
	send := func() (json.RawMessage, error) {
		meta, stop := c.follow(heard)
		defer stop()
		return s.ask(ctx, c, tool, "tools/call", callParams{Name: tool, Arguments: args, Meta: meta})
	}
	result, err := send()
	if errors.Is(err, errSession) {
		// A server over HTTP has forgotten the session, and refused the call.
		if c, err = s.live(ctx); err != nil {
			return nil, err
		}
		result, err = send()
	}
	if err != nil {
		return nil, err
	}
	s.set.large.keep(until(ctx), len(result))
	if c.meta != nil && needsInput(result) {
		failure := s.errorf("server %q: %s wants to ask a person, which is not possible here", s.def.Name, tool)
		failure.Tool, failure.Sent = tool, true
		return nil, failure
	}
	if !isResult(result) {
		failure := s.errorf("server %q: its answer to %s is not the result of a tool", s.def.Name, tool)
		failure.Tool, failure.Sent = tool, true
		return nil, failure
	}
	return result, nil
}

// isResult tells whether an answer has the shape of a CallToolResult, as far
// as whoever reads one relies on it.
func isResult(raw json.RawMessage) bool {
	var result *struct {
		Content blocks `json:"content"`
		IsError bool   `json:"isError"`
	}
	return json.Unmarshal(raw, &result) == nil && result != nil
}

// blocks are the content of a result. They are looked at one by one: each takes
// much more here than in JSON.
type blocks struct{}

// maxBlocks bounds the blocks of a result.
const maxBlocks = 10_000

// UnmarshalJSON looks at the blocks.
func (*blocks) UnmarshalJSON(list []byte) error {
	var n int
	return each(list, func(raw json.RawMessage) error {
		var block *struct {
			Type string    `json:"type"`
			Text firstByte `json:"text"`
		}
		if err := json.Unmarshal(raw, &block); err != nil {
			return err
		}
		if n++; n > maxBlocks || block == nil || block.Type == "text" && block.Text != '"' {
			return errors.New("no block of content")
		}
		return nil
	})
}

// firstByte is the first byte of a value, which tells its type.
type firstByte byte

// UnmarshalJSON takes the byte.
func (b *firstByte) UnmarshalJSON(value []byte) error {
	*b = firstByte(value[0])
	return nil
}

// each calls a function for each value of a list, in JSON, without keeping any
// of them. null is a list of none.
func each(list []byte, do func(value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(list))
	start, err := d.Token()
	switch {
	case err != nil:
		return err
	case start == nil:
		return nil
	case start != json.Delim('['):
		return errors.New("not a list")
	}
	for d.More() {
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := do(value); err != nil {
			return err
		}
	}
	return nil
}

// ask sends a request within the deadline of calls and words what goes wrong.
// The subject is the tool's name, or the method if there is none.
func (s *server) ask(ctx context.Context, c *conn, tool, method string, params any) (json.RawMessage, error) {
	subject := tool
	if tool == "" {
		subject = method
	}
	if ctx.Err() != nil {
		return nil, s.cancelled(ctx, tool, false)
	}
	bounded, cancel := context.WithTimeout(ctx, s.def.CallTimeout)
	defer cancel()
	result, err := c.request(bounded, method, params)
	var refusal *rpcError
	var garbled *unreadable
	var failure *Error
	switch {
	case err == nil:
		return result, nil
	case errors.As(err, &refusal) && tool == "":
		failure = s.errorf("server %q: refused %s: %s", s.def.Name, method, refusal.Error())
		failure.Code, failure.Data = refusal.code, refusal.data
		return nil, failure
	case errors.As(err, &refusal):
		return nil, &Error{
			Kind: KindTool, Server: s.def.Name, Tool: tool, Sent: true, Code: refusal.code, Data: refusal.data,
			Message: fmt.Sprintf("%s.%s: %s", s.def.Name, tool, refusal.Error()),
		}
	case ctx.Err() != nil:
		return nil, s.cancelled(ctx, tool, true)
	case bounded.Err() != nil:
		failure = s.errorf("server %q: no answer to %s within %v", s.def.Name, subject, s.def.CallTimeout)
	case s.life.Err() != nil:
		failure = s.closed()
	case errors.As(err, new(*lost)):
		failure = s.errorf("server %q: %w; %s was not sent", s.def.Name, err, subject)
	case errors.As(err, &garbled):
		failure = s.errorf("server %q: %s", s.def.Name, garbled.of(subject))
	default:
		failure = s.errorf("server %q: %w before it answered %s", s.def.Name, err, subject)
		failure.Stderr = c.stderr.last()
	}
	failure.Tool = tool
	failure.Sent = !errors.As(err, new(*lost))
	return nil, failure
}

// needsInput tells whether a result is a question back, which servers of
// 2026-07-28 may send in its place.
func needsInput(result json.RawMessage) bool {
	var kind struct {
		ResultType string `json:"resultType"`
	}
	return json.Unmarshal(result, &kind) == nil && kind.ResultType == "input_required"
}
