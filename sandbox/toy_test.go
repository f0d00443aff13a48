package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"bridge/sandbox"
)

var toyServers = []sandbox.Server{
	{Name: "toy", Alias: "toy", Description: "Toys."},
	{Name: "my-server", Alias: "my_server", Description: "The same toys."},
}

// toy is a handler that stands for the whole other side of the guest's
// requests: it answers from these tools, and keeps what it was asked.
type toy struct {
	mu    sync.Mutex
	calls []string
}

func newToy() *toy { return &toy{} }

const toyTools = `[
{"name":"echo","alias":"echo","description":"Says it again.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"What to say."},"times":{"type":"integer","default":1}},"required":["text"]}},
{"name":"add","alias":"add","description":"Adds.","inputSchema":{"type":"object","properties":{"note":{"type":"string"},"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}},
{"name":"raw-name","alias":"raw_name","description":"Has a name that is not Python's.","inputSchema":{"type":"object","properties":{"from":{"type":"string"},"max-results":{"type":"integer"}},"required":["from"]}},
{"name":"give","alias":"give","description":"Gives the result that it is given.","inputSchema":{"type":"object","properties":{"result":{"type":"object"}},"required":["result"]}},
{"name":"types","alias":"types","description":"All types.","inputSchema":{"type":"object","properties":{"s":{"type":"string"},"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},"a":{"type":"array","items":{"type":"string"}},"o":{"type":"object"},"e":{"enum":["open","closed"]},"u":{"anyOf":[{"type":"string"},{"type":"null"}]},"r":{"$ref":"#/$defs/R"},"d":{"type":"string","contentEncoding":"base64"}},"$defs":{"R":{"type":"integer"}}}},
{"name":"free","alias":"free","description":"Takes anything.","inputSchema":{"type":"object","properties":{"x":{}},"additionalProperties":true}},
{"name":"fail","alias":"fail","description":"Fails.","inputSchema":{"type":"object","properties":{}}},
{"name":"deny","alias":"deny","description":"Is denied.","inputSchema":{"type":"object"}},
{"name":"dead","alias":"dead","description":"Is dead.","inputSchema":{"type":"object"}},
{"name":"sleep","alias":"sleep","description":"Sleeps.","inputSchema":{"type":"object","properties":{"ms":{"type":"integer"}}}},
{"name":"deep","alias":"deep","description":"Has parts.","inputSchema":{"type":"object","properties":{"where":{"type":"object","properties":{"at":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]},"by":{"type":"integer","minimum":1},"of":{"type":"array","items":{"type":"integer"},"maxItems":2},"who":{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"integer"}}]},"name":{"type":"string","maxLength":4},"data":{"type":"string","contentEncoding":"base64"}},"required":["at"],"additionalProperties":false}},"required":["where"]}},
{"name":"big","alias":"big","description":"Is big.","inputSchema":{"type":"object","properties":{"size":{"type":"integer"}}},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}
]`

func (toy *toy) serve(ctx context.Context, method string, params json.RawMessage) (any, error) {
	var p struct {
		Server, Tool, Query string
		Limit               int
		Arguments           json.RawMessage
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	if method != "search" && p.Server == "broken" {
		return nil, &sandbox.Error{Kind: "server", Message: `server "broken" exited with code 1: no token`}
	}
	switch method {
	case "tool":
		near := map[string]string{"eco": "; did you mean echo?", "sleeep": "; did you mean sleep?"}[p.Tool]
		return nil, &sandbox.Error{Kind: "tool_not_found", Message: fmt.Sprintf("tool not found in server %s: %s%s", p.Server, p.Tool, near)}
	case "manual":
		return map[string]string{"text": "the manual"}, nil
	case "tools":
		return map[string]any{"server": toyServers[0], "tools": json.RawMessage(toyTools)}, nil
	case "search":
		return map[string]any{"hits": []any{map[string]any{
			"server": sandbox.Server{Name: "my-server", Alias: "my_server"}, "name": "raw-name", "alias": "raw_name",
			"description": fmt.Sprintf("%s %d", p.Query, p.Limit), "score": 1.5, "inputSchema": json.RawMessage(`{"type":"object"}`),
		}}}, nil
	case "call":
		toy.mu.Lock()
		toy.calls = append(toy.calls, p.Tool)
		toy.mu.Unlock()
		return toy.call(ctx, p.Tool, p.Arguments)
	}
	return nil, &sandbox.Error{Kind: "invalid", Message: "unknown method " + method}
}

func (toy *toy) call(ctx context.Context, tool string, raw json.RawMessage) (any, error) {
	var args struct {
		Text   string
		Times  *int
		A, B   float64
		Ms     int
		Size   int
		Result json.RawMessage
	}
	_ = json.Unmarshal(raw, &args)
	switch tool {
	case "echo":
		if args.Times != nil {
			args.Text = strings.Repeat(args.Text, *args.Times)
		}
		return text(args.Text), nil
	case "add":
		return map[string]any{"content": []any{}, "structuredContent": map[string]any{"result": args.A + args.B}}, nil
	case "give":
		return args.Result, nil
	case "bytes": // each a character of the text
		var result []byte
		for _, r := range args.Text {
			result = append(result, byte(r))
		}
		return json.RawMessage(result), nil
	case "fail":
		return map[string]any{"isError": true, "content": []any{map[string]string{"type": "text", "text": "it broke"}}}, nil
	case "deny":
		return nil, &sandbox.Error{Kind: "policy", Message: `toy.deny: denied by profile "test" (policy.cue:3:4)`, Data: map[string]any{"profile": "test"}}
	case "dead":
		return nil, &sandbox.Error{Kind: "server", Message: `server "toy" exited with code 3`}
	case "sleep":
		select {
		case <-time.After(time.Duration(args.Ms) * time.Millisecond):
			return text("slept"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case "big":
		return text(strings.Repeat("x", args.Size)), nil
	}
	return text(string(raw)), nil
}

func text(s string) any {
	return map[string]any{"content": []any{map[string]string{"type": "text", "text": s}}}
}
