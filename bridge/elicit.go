package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// This file asks the person behind an MCP client, by elicitation: a request to
// the client in the protocol with a handshake, and since 2026-07-28 a result
// that asks, after which the client calls again (suspend.go).

var errNoElicitation = errors.New("a person must confirm it, but the MCP client does not support elicitation, so nobody can be asked")

// elicits tells whether a client can put a form to a person. One that names no
// kind of elicitation has forms.
func elicits(c *mcp.ClientCapabilities) bool {
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// asksByResult tells whether questions to the client of a request are results.
func asksByResult(ctx context.Context) bool {
	info := server.RequestProtocolInfoFromContext(ctx)
	return info != nil && info.Modern && elicits(info.ClientCapabilities)
}

// askByRequest is how to ask the client of a request by requests to it.
func askByRequest(ctx context.Context) Ask {
	c, ok := server.ClientSessionFromContext(ctx).(*agentRequest)
	capabilities := mcp.ClientCapabilities{}
	if ok {
		capabilities = c.GetClientCapabilities()
	}
	if server.IsModernRequest(ctx) || !elicits(&capabilities) {
		return func(context.Context, Question) (Answer, error) { return Deny, errNoElicitation }
	}
	return func(ctx context.Context, q Question) (Answer, error) {
		raw, err := c.ask(ctx, string(mcp.MethodElicitationCreate), q.form())
		if err != nil {
			return Deny, err
		}
		var r mcp.ElicitationResult
		if err := json.Unmarshal(raw, &r); err != nil {
			return Deny, errors.New("the MCP client's answer does not answer the question")
		}
		return answerOf(&r), nil
	}
}

// The answers as a person chooses them.
const (
	answerOnce   = "once"
	answerAlways = "run"
	answerDeny   = "deny"
)

// form is a question as a form with one choice.
func (q Question) form() mcp.ElicitationParams {
	return mcp.ElicitationParams{
		Message: q.Text(),
		RequestedSchema: map[string]any{
			"type": "object",
			"properties": map[string]any{"answer": map[string]any{
				"type": "string", "title": "Answer", "enum": []string{answerOnce, answerAlways, answerDeny},
				"description": fmt.Sprintf("%s: allow what is shown; %s: allow all calls of %s.%s until this run has ended; %s: allow none",
					answerOnce, answerAlways, shown(q.Server), shown(q.Tool), answerDeny),
			}},
			"required": []string{"answer"},
		},
	}
}

// answerOf is what a person has chosen. Whatever is not clearly an allowance
// denies.
func answerOf(r *mcp.ElicitationResult) Answer {
	content, _ := r.Content.(map[string]any)
	if r.Action != mcp.ElicitationResponseActionAccept {
		return Deny
	}
	switch content["answer"] {
	case answerOnce:
		return Once
	case answerAlways:
		return Always
	}
	return Deny
}

// ask sends a request to the client and waits for its result.
func (c *conn) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	answer := make(chan message, 1)
	c.mu.Lock()
	c.serial++
	id := fmt.Sprintf(`"bridge-%d"`, c.serial)
	c.pending[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pending, id)
	}()
	c.send(outgoing{JSONRPC: mcp.JSONRPC_VERSION, ID: json.RawMessage(id), Method: method, Params: params})
	select {
	case m := <-answer:
		if m.Error != nil {
			return nil, fmt.Errorf("the MCP client refused to ask a person: %s", m.Error.Message)
		}
		return m.Result, nil
	case <-c.gone:
		return nil, errors.New("the MCP client has gone")
	case <-ctx.Done():
		c.send(outgoing{JSONRPC: mcp.JSONRPC_VERSION, Method: "notifications/cancelled", Params: map[string]any{"requestId": json.RawMessage(id), "reason": "nobody waits for the answer any more"}})
		return nil, ctx.Err()
	}
}

// answered hands the client's answer to who has asked, if anybody has.
func (c *conn) answered(m message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := c.pending[string(m.ID)]
	if answer == nil {
		return false
	}
	delete(c.pending, string(m.ID))
	answer <- m
	return true
}
