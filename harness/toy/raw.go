package toy

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// rawHandlers answer calls past the library, which would not send such things.
var rawHandlers = map[string]func(ctx context.Context, s *session, m message) any{
	"raw": func(_ context.Context, _ *session, m message) any {
		var args struct {
			Result json.RawMessage `json:"result"`
		}
		json.Unmarshal(m.Params.Arguments, &args)
		return result(m.ID, args.Result)
	},
	"refuse": func(_ context.Context, _ *session, m message) any {
		var args struct {
			Code    int             `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		}
		json.Unmarshal(m.Params.Arguments, &args)
		return refusal(m.ID, args.Code, args.Message, args.Data)
	},
	"write": func(_ context.Context, _ *session, m message) any { return written(m) },
	"ask": func(ctx context.Context, s *session, m message) any {
		var args struct {
			Method string `json:"method"`
		}
		json.Unmarshal(m.Params.Arguments, &args)
		answer, err := s.ask(ctx, string(m.ID), args.Method)
		if err != nil {
			return refusal(m.ID, mcp.INTERNAL_ERROR, err.Error(), nil)
		}
		text, _ := json.Marshal(mcp.NewToolResultText(string(answer)))
		return result(m.ID, text)
	},
}

// rawBytes are sent as they are.
type rawBytes []byte

// written are the bytes that the tool write is given, each as a character; ID
// stands for the id of the request.
func written(m message) rawBytes {
	var args struct {
		Latin1 string `json:"latin1"`
	}
	json.Unmarshal(m.Params.Arguments, &args)
	var text rawBytes
	for _, r := range strings.ReplaceAll(args.Latin1, "ID", string(m.ID)) {
		text = append(text, byte(r))
	}
	return text
}

// steps says how far it is, if the client wants to be told.
func steps(srv *server.MCPServer) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Params.Meta == nil || req.Params.Meta.ProgressToken == nil {
			return mcp.NewToolResultText("nobody asked"), nil
		}
		count := req.GetInt("count", 0)
		for i := range count {
			srv.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
				"progressToken": req.Params.Meta.ProgressToken, "progress": i + 1, "total": count, "message": req.GetString("message", ""),
			})
		}
		return mcp.NewToolResultText("told"), nil
	}
}

// rawTools are the definitions of the tools that rawHandlers answer, and of
// others that real servers have and most tests do not want.
func rawTools(srv *server.MCPServer) []server.ServerTool {
	return []server.ServerTool{
		{Tool: mcp.NewTool("steps", mcp.WithDescription("Say how far it is, step by step."),
			mcp.WithInteger("count", mcp.Required(), mcp.Description("How many steps.")),
			mcp.WithString("message", mcp.Description("What to say of each."))), Handler: steps(srv)},
		{Tool: mcp.NewTool("raw", mcp.WithDescription("Answer with a result as it is given."),
			mcp.WithAny("result", mcp.Required(), mcp.Description("The whole CallToolResult."))), Handler: echo},
		{Tool: mcp.NewTool("refuse", mcp.WithDescription("Answer with a JSON-RPC error."),
			mcp.WithInteger("code", mcp.Required(), mcp.Description("Its code.")),
			mcp.WithString("message", mcp.Required(), mcp.Description("Its message.")),
			mcp.WithObject("data", mcp.Description("Its data."))), Handler: echo},
		{Tool: mcp.NewTool("write", mcp.WithDescription("Write bytes in the place of an answer."),
			mcp.WithString("latin1", mcp.Required(), mcp.Description("The bytes, each as a character; ID is the id of the request.")),
			mcp.WithString("type", mcp.Description("Over HTTP, the type of the content."))), Handler: echo},
		{Tool: mcp.NewTool("ask", mcp.WithDescription("Send a request to the client and answer with what comes back."),
			mcp.WithString("method", mcp.Required(), mcp.Description("The request's method."))), Handler: echo},
	}
}

// withNameless adds entries to a tools/list that are not tools.
func withNameless(response any) any {
	whole, err := json.Marshal(response)
	if err != nil {
		return response
	}
	var message map[string]json.RawMessage
	var list map[string]json.RawMessage
	var tools []json.RawMessage
	if json.Unmarshal(whole, &message) != nil || json.Unmarshal(message["result"], &list) != nil || json.Unmarshal(list["tools"], &tools) != nil {
		return response
	}
	tools = append(tools, json.RawMessage(`{"description":"nameless"}`), json.RawMessage(`"text"`), json.RawMessage(`{"name":7}`))
	list["tools"], _ = json.Marshal(tools)
	message["result"], _ = json.Marshal(list)
	return message
}
