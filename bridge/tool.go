package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// manualURI names the one resource.
const manualURI = "bridge://manual"

// newServer makes the MCP server: one tool, one resource, nothing else.
func (b *Bridge) newServer() *server.MCPServer {
	s := server.NewMCPServer("bridge", b.version, server.WithToolCapabilities(false), server.WithResourceCapabilities(false, false), server.WithRecovery())
	s.AddTool(mcp.NewToolWithRawSchema("run_python", b.description(), b.schema()), b.runPython)
	s.AddResource(
		mcp.NewResource(manualURI, "manual", mcp.WithMIMEType("text/markdown")),
		func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: manualURI, MIMEType: "text/markdown", Text: manual(b.profile, b.gate.servers)}}, nil
		})
	return s
}

// description is all that an agent knows of its Python before the first run.
// Every token of it is paid for in every conversation.
func (b *Bridge) description() string {
	text := "Run Python in a stateful sandbox (no network). Top-level await works; the last expression is shown. "
	if len(b.gate.servers) == 0 {
		return text + "No MCP servers are mounted."
	}
	return text + "Call MCP tools: await mcp_<server>.<tool>(arg=...). " +
		`Discover: await runtime.search_tool_docs("words"), runtime.query_tool_docs("server"). Servers: ` + b.firstNames() + "."
}

// firstNames lists servers for the description, which is bounded however many
// there are and however long their names.
func (b *Bridge) firstNames() string {
	const room = 60 // bytes
	var list []string
	used := 0
	for i, s := range b.gate.servers {
		used += len(s.Alias) + 2
		if used > room && i > 0 || len(s.Alias) > room {
			return strings.Join(append(list, fmt.Sprintf("+%d more", len(b.gate.servers)-i)), ", ")
		}
		list = append(list, s.Alias)
	}
	return strings.Join(list, ", ")
}

func (b *Bridge) schema() json.RawMessage {
	def, limit := int(b.profile.Timeout.Default/time.Second), int(b.profile.Timeout.Max/time.Second)
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{`+
		`"code":{"type":"string"},`+
		`"servers":{"type":"array","items":{"type":"string"},"default":[]},`+
		`"timeout":{"type":"integer","minimum":1,"maximum":%d,"default":%d}},"required":["code"]}`, limit, def))
}

// runPython answers a tools/call.
func (b *Bridge) runPython(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	raw := call.Params.RawArguments
	if raw == nil && call.Params.Arguments != nil {
		var err error
		if raw, err = json.Marshal(call.Params.Arguments); err != nil {
			return nil, err
		}
	}
	var report *Report
	if r, err := parseRequest(raw, b.profile); err != nil {
		report = (&Report{Profile: b.profile}).invalid(err)
	} else {
		report = b.Run(ctx, r, nil)
	}
	text, content := report.words()
	return &mcp.CallToolResult{
		Content:           []mcp.Content{mcp.NewTextContent(text)},
		StructuredContent: content,
		IsError:           report.Status != Success,
	}, nil
}
