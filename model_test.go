package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A model stands in for the one behind a client: its client calls run_python
// with one code after the other. It speaks the two protocols in which clients
// ask models, Anthropic's messages and OpenAI's responses, as streams of events.
type model struct {
	codes []string
	url   string

	mu     sync.Mutex // guards what follows
	called int
	told   map[string]json.RawMessage // what the client says of each call, by its id
}

func newModel(t *testing.T, codes []string) *model {
	m := &model{codes: codes, told: map[string]json.RawMessage{}}
	s := httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(s.Close)
	m.url = s.URL
	return m
}

// answer is what the client has told of a call.
func (m *model) answer(call int) json.RawMessage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.told[fmt.Sprint("call-", call)]
}

func (m *model) serve(w http.ResponseWriter, r *http.Request) {
	var q question
	json.NewDecoder(r.Body).Decode(&q)
	switch {
	case strings.HasSuffix(r.URL.Path, "/messages"):
		m.messages(w, &q)
	case strings.HasSuffix(r.URL.Path, "/responses"):
		m.responses(w, &q)
	default: // of models, tokens and the like
		fmt.Fprint(w, `{"data": [], "models": [], "input_tokens": 1}`)
	}
}

// question is what a client asks a model, in either protocol.
type question struct {
	Stream bool
	Tools  []struct {
		Name  string
		Tools []struct{ Name string } // of a namespace
	}
	Messages []struct{ Content json.RawMessage }
	Input    []struct {
		Type   string
		CallID string `json:"call_id"`
		Output json.RawMessage
	}
}

// call is the next call of the model; its tool is "" when there is none.
type call struct{ id, namespace, tool, arguments string }

func (m *model) next(q *question) call {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, tool := range q.Tools {
		c := call{tool: tool.Name}
		for _, inner := range tool.Tools {
			if strings.HasSuffix(inner.Name, "run_python") {
				c = call{namespace: tool.Name, tool: inner.Name}
			}
		}
		if strings.HasSuffix(c.tool, "run_python") && m.called < len(m.codes) {
			arguments, _ := json.Marshal(map[string]string{"code": m.codes[m.called]})
			c.id, c.arguments = fmt.Sprint("call-", m.called), string(arguments)
			m.called++
			return c
		}
	}
	return call{}
}

func (m *model) tell(id string, result json.RawMessage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told[id] = result
}

type object = map[string]any

// messages answers as Anthropic's models do.
func (m *model) messages(w http.ResponseWriter, q *question) {
	for _, message := range q.Messages {
		var blocks []struct {
			Type      string
			ToolUseID string `json:"tool_use_id"`
			Content   json.RawMessage
		}
		json.Unmarshal(message.Content, &blocks) // or it is one text
		for _, b := range blocks {
			if b.Type == "tool_result" {
				m.tell(b.ToolUseID, b.Content)
			}
		}
	}
	whole := object{"id": "message", "type": "message", "role": "assistant", "model": "stand-in", "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": 1, "output_tokens": 1}}
	if !q.Stream {
		whole["content"], whole["stop_reason"] = []any{object{"type": "text", "text": "fine"}}, "end_turn"
		json.NewEncoder(w).Encode(whole)
		return
	}
	block, delta, reason := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": "fine"}, "end_turn"
	if c := m.next(q); c.tool != "" {
		block = object{"type": "tool_use", "id": c.id, "name": c.tool, "input": object{}}
		delta, reason = object{"type": "input_json_delta", "partial_json": c.arguments}, "tool_use"
	}
	stream(w,
		object{"type": "message_start", "message": whole},
		object{"type": "content_block_start", "index": 0, "content_block": block},
		object{"type": "content_block_delta", "index": 0, "delta": delta},
		object{"type": "content_block_stop", "index": 0},
		object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": 1}},
		object{"type": "message_stop"})
}

// responses answers as OpenAI's models do.
func (m *model) responses(w http.ResponseWriter, q *question) {
	for _, item := range q.Input {
		if item.Type == "function_call_output" {
			m.tell(item.CallID, item.Output)
		}
	}
	item := object{"type": "message", "role": "assistant", "id": "end", "content": []any{object{"type": "output_text", "text": "fine"}}}
	if c := m.next(q); c.tool != "" {
		item = object{"type": "function_call", "id": c.id, "call_id": c.id, "name": c.tool, "arguments": c.arguments}
		if c.namespace != "" {
			item["namespace"] = c.namespace
		}
	}
	stream(w,
		object{"type": "response.created", "response": object{"id": "response"}},
		object{"type": "response.output_item.done", "output_index": 0, "item": item},
		object{"type": "response.completed", "response": object{"id": "response", "usage": object{
			"input_tokens": 1, "input_tokens_details": nil, "output_tokens": 1, "output_tokens_details": nil, "total_tokens": 2}}})
}

// stream writes server-sent events.
func stream(w http.ResponseWriter, events ...object) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		data, _ := json.Marshal(e)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], data)
	}
}
