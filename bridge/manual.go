package bridge

import (
	"fmt"
	"strings"

	"bridge/policy"
)

// manual is the text that an agent can read about its Python: a resource, and
// runtime.capability_summary() in the code.
func manual(p *policy.Profile, servers []mount) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# run_python

A stateful Python session in a sandbox without network: variables, imports and files in /workspace and /tmp stay
from run to run. Top-level await works; the value of the last expression is shown.

Limits of profile %q: memory %s, %g processors, %d processes, /workspace %s, /tmp %s; a run may take %d s, at most %d s.
%s
## Servers

`, p.Name, size(p.Limits.Memory), p.Limits.CPUs, p.Limits.PIDs, size(p.Limits.Workspace), size(p.Limits.Tmp),
		int(p.Timeout.Default.Seconds()), int(p.Timeout.Max.Seconds()), remembers(p))
	if len(servers) == 0 {
		b.WriteString("This session reaches no servers.\n")
		return b.String()
	}
	const room = 600 // bytes, for the whole list
	head := b.Len()
	for i, s := range servers {
		line := "- `mcp_" + s.Alias + "`"
		if s.Name != s.Alias {
			line += ", by its own name " + s.Name
		}
		if s.Description != "" {
			line += ": " + first(s.Description, 60)
		}
		if b.Len()+len(line) > head+room && i > 0 {
			fmt.Fprintf(&b, "- and %d more: `await runtime.discovered_servers()`\n", len(servers)-i)
			break
		}
		b.WriteString(line + "\n")
	}
	a := servers[0].Alias
	fmt.Fprintf(&b, `
## Use

- find a tool: `+"`await runtime.search_tool_docs(\"words\", limit=5)`"+`
- its arguments: `+"`await runtime.query_tool_docs(\"%[1]s\")`, `help(mcp_%[1]s.TOOL)`"+`
- call it: `+"`result = await mcp_%[1]s.TOOL(name=value)`; many at once: `await asyncio.gather(...)`"+`
- errors: `+"`mcp.ToolError`, `mcp.PolicyError`, `mcp.ServerError`"+`
`, a)
	return b.String()
}

// remembers says what code can keep for later sessions.
func remembers(p *policy.Profile) string {
	switch p.Memory.Mode {
	case "on":
		return fmt.Sprintf("\nKept for later sessions, up to %s: `save_memory(key, json)`, `load_memory(key)`, `update_memory(key, f)`, `list_memories()`; `save_tool(function)`.\n", size(p.Memory.Bytes))
	case "readOnly":
		return "\nKept by earlier sessions: `list_memories()`, `load_memory(key)`.\n"
	}
	return ""
}
