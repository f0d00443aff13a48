package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"bridge/policy"
)

// manualURI names the one resource.
const manualURI = "bridge://manual"

// newServer makes the MCP server: one tool, one resource, nothing else.
func (b *Bridge) newServer() *server.MCPServer {
	s := server.NewMCPServer("bridge", b.version, server.WithToolCapabilities(true), server.WithResourceCapabilities(false, false), server.WithRecovery())
	b.addTool(s)
	s.AddResource(
		mcp.NewResource(manualURI, "manual", mcp.WithMIMEType("text/markdown")),
		func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			p := b.session.policy.profile()
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: manualURI, MIMEType: "text/markdown", Text: manual(p, aliased(p))}}, nil
		})
	b.addSession(s)
	return s
}

// addTool has the server list the tool as it is under the profile that holds
// now.
func (b *Bridge) addTool(s *server.MCPServer) {
	p := b.session.policy.profile()
	s.AddTool(mcp.NewToolWithRawSchema("run_python", description(aliased(p)), schema(p)), b.runPython)
}

// description is all that an agent knows of its Python before the first run.
// Every token of it is paid for in every conversation.
func description(servers []mount) string {
	text := "Run Python in a stateful sandbox (no network). Top-level await works; the last expression is shown. "
	if len(servers) == 0 {
		return text + "No MCP servers are mounted."
	}
	return text + "Call MCP tools: await mcp_<server>.<tool>(arg=...). " +
		`Discover: await runtime.search_tool_docs("words"), runtime.query_tool_docs("server"). Servers: ` + firstNames(servers) + "."
}

// firstNames lists servers for the description, which is bounded however many
// there are and however long their names.
func firstNames(servers []mount) string {
	const room = 66 // by weight
	var list []string
	used := 0
	for i, s := range servers {
		used += weight(s.Alias) + 2
		if used > room && i > 0 || weight(s.Alias) > room {
			return strings.Join(append(list, fmt.Sprintf("+%d more", len(servers)-i)), ", ")
		}
		list = append(list, s.Alias)
	}
	return strings.Join(list, ", ")
}

func schema(p *policy.Profile) json.RawMessage {
	def, limit := int(p.Timeout.Default/time.Second), int(p.Timeout.Max/time.Second)
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{`+
		`"code":{"type":"string"},`+
		`"servers":{"type":"array","items":{"type":"string"},"default":[],"description":"use only these; [] is all"},`+
		`"timeout":{"type":"integer","minimum":1,"maximum":%d,"default":%d,"description":"seconds, at most %[1]d"}},"required":["code"]}`, limit, def))
}

// runPython answers a tools/call.
func (b *Bridge) runPython(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	progress := progressOf(ctx)
	if call.Params.RequestState != "" {
		return b.resume(ctx, call.Params.RequestState, call.Params.InputResponses), nil
	}
	raw := call.Params.RawArguments
	if raw == nil && call.Params.Arguments != nil {
		var err error
		if raw, err = json.Marshal(call.Params.Arguments); err != nil {
			return nil, err
		}
	}
	p := b.session.policy.profile()
	r, err := parseRequest(raw, p)
	if err != nil {
		return b.toolResult((&Report{Profile: p}).invalid(err)), nil
	}
	if asksByResult(ctx) {
		return b.suspendable(ctx, r, progress.stream()), nil
	}
	return b.toolResult(b.Run(ctx, r, progress.stream(), askByRequest(ctx))), nil
}

// toolResult is the result for the agent. Structured content is in it only where
// it is asked for: some clients show their model that in place of the text and
// the pictures.
func (b *Bridge) toolResult(r *Report) *mcp.CallToolResult {
	text, content := r.words()
	result := &mcp.CallToolResult{
		Content: append([]mcp.Content{mcp.NewTextContent(text)}, r.blocks()...),
		IsError: r.Status != Success,
	}
	if b.structured || r.format() == "json" {
		result.StructuredContent = content
	}
	return result
}
