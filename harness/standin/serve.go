package standin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
)

// The codes of JSON-RPC 2.0, section 5.1.
const (
	methodNotFound = -32601
	invalidParams  = -32602
)

// message is a request or a notification.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProtocolVersion string          `json:"protocolVersion"`
		Name            string          `json:"name"`
		URI             string          `json:"uri"`
		Arguments       json.RawMessage `json:"arguments"`
	} `json:"params"`
}

// object is a JSON object to be written.
type object map[string]any

// refusal is a JSON-RPC error.
type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// serve answers until the input ends. There are few methods, and definitions
// pass as they were written: a library's types would drop what they do not
// know of them.
func (s *server) serve(r io.Reader) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		var m message
		if json.Unmarshal(line, &m) == nil && m.ID != nil {
			running.Go(func() { s.answer(ctx, m) })
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *server) answer(ctx context.Context, m message) {
	response := object{"jsonrpc": "2.0", "id": m.ID}
	switch m.Method {
	case "initialize":
		response["result"] = object{
			"protocolVersion": m.Params.ProtocolVersion, "capabilities": object{"tools": object{}, "resources": object{}},
			"serverInfo": object{"name": "stand-in", "version": "1"},
		}
	case "ping":
		response["result"] = object{}
	case "tools/list":
		list := []json.RawMessage{}
		for _, d := range s.source.tools() {
			list = append(list, d.text)
		}
		response["result"] = object{"tools": list}
	case "tools/call":
		result, refused := s.call(ctx, m)
		if refused != nil {
			response["error"] = refused
		} else {
			response["result"] = result
		}
	case "resources/list":
		list := []object{}
		for _, r := range s.source.resources() {
			list = append(list, object{"uri": r.URI, "name": r.URI, "mimeType": r.MIMEType})
		}
		response["result"] = object{"resources": list}
	case "resources/templates/list":
		response["result"] = object{"resourceTemplates": []object{}}
	case "resources/read":
		list := s.source.resources()
		i := slices.IndexFunc(list, func(r resource) bool { return r.URI == m.Params.URI })
		switch {
		case i < 0:
			response["error"] = refusal{invalidParams, fmt.Sprintf("unknown resource %q", m.Params.URI)}
		default:
			if err := s.record("read", encoded(m.Params.URI)); err != nil {
				response["error"] = refusal{invalidParams, err.Error()}
				break
			}
			response["result"] = object{"contents": list[i : i+1]}
		}
	default:
		response["error"] = refusal{methodNotFound, "a stand-in does not offer " + m.Method}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Encode(response)
}

func (s *server) call(ctx context.Context, m message) (any, *refusal) {
	tool := m.Params.Name
	known := slices.ContainsFunc(s.source.tools(), func(d definition) bool { return d.name == tool })
	if !known {
		return nil, &refusal{invalidParams, fmt.Sprintf("unknown tool %q", tool)}
	}
	args := m.Params.Arguments
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if err := s.record(tool, args); err != nil {
		return nil, &refusal{invalidParams, err.Error()}
	}
	value, err := s.source.call(ctx, tool, args)
	if err != nil {
		return object{"content": text(err.Error()), "isError": true}, nil
	}
	return result(value), nil
}

// result is the CallToolResult that gives a value: text, JSON as text, or what
// is a CallToolResult already.
func result(value json.RawMessage) any {
	var v any
	json.Unmarshal(value, &v)
	switch v := v.(type) {
	case nil:
		return object{"content": []any{}}
	case string:
		return object{"content": text(v)}
	case map[string]any:
		if _, ok := v["content"].([]any); ok {
			return value
		}
	case float64, bool:
		// In text alone it would be text for whoever reads it.
		return object{"content": text(string(value)), "structuredContent": object{"result": value}}
	}
	var b bytes.Buffer
	json.Compact(&b, value)
	return object{"content": text(b.String())}
}

func encoded(s string) json.RawMessage {
	text, _ := json.Marshal(s)
	return text
}

func text(s string) []any {
	return []any{object{"type": "text", "text": s}}
}
