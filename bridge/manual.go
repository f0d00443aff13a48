package bridge

import (
	"fmt"
	"strings"
	"time"

	"bridge/policy"
)

// manual is the text that an agent can read about its Python: a resource, and
// runtime.capability_summary() in the code. It says what holds under the
// profile, and no more than fits into a small part of an agent's context.
func manual(p *policy.Profile, servers []mount) string {
	var b strings.Builder
	b.WriteString("# run_python\n\n")
	if p.Session.Persist {
		fmt.Fprintf(&b, "A stateful Python session: variables, imports and files in /workspace and /tmp stay from run to run, until it\nhas been idle for %s. ", span(p.Session.Idle))
	} else {
		b.WriteString("Each run is a Python session of its own: nothing stays from run to run. ")
	}
	fmt.Fprintf(&b, `Top-level await works; the value of the last expression is shown. There is no network and
nothing can be installed; only /workspace and /tmp can be written to.

Limits of profile %q: memory %s, %s, %d processes, /workspace %s, /tmp %s; a run may take %d s, at most %d s;
%s of output are shown.
%s
## Servers

`, p.Name, Size(p.Limits.Memory), processors(p.Limits.CPUs), p.Limits.PIDs, Size(p.Limits.Workspace), Size(p.Limits.Tmp),
		int(p.Timeout.Default.Seconds()), int(p.Timeout.Max.Seconds()), Size(int64(p.Output)), remembers(p))
	if len(servers) == 0 {
		b.WriteString("This session reaches no servers.\n")
		return b.String()
	}
	list(&b, servers)
	a := servers[0].Alias
	if len(a) > 30 {
		a = "SERVER"
	}
	fmt.Fprintf(&b, `
## Use

- find a tool: `+"`await runtime.search_tool_docs(\"words\", limit=5)`"+`
- its arguments: `+"`await runtime.query_tool_docs(\"%[1]s\")`, `help(mcp_%[1]s.TOOL)`"+`
- call it: `+"`result = await mcp_%[1]s.TOOL(name=value)`"+`; with `+"`asyncio.gather`"+` up to %[2]d at once
%[3]s- errors: `+"`mcp.ToolError`, `mcp.PolicyError`, `mcp.ServerError`"+`
`, a, max(p.Parallel, 1), reads(p, servers))
	return b.String()
}

// reads says how resources are read, if any can be.
func reads(p *policy.Profile, servers []mount) string {
	for _, s := range servers {
		if p.ReadsResources(s.Name) {
			return fmt.Sprintf("- its resources: `await runtime.list_resources(%q)`, `await runtime.read_resource(%q, uri)`\n", s.Name, s.Name)
		}
	}
	return ""
}

// list names the servers, as far as there is room.
func list(b *strings.Builder, servers []mount) {
	const room = 400
	used := 0
	for i, s := range servers {
		line := "- `mcp_" + s.Alias + "`"
		if s.Name != s.Alias {
			line += ", by its own name " + s.Name
		}
		if s.Description != "" {
			line += ": " + first(s.Description, 60)
		}
		if used += weight(line); used > room && (i > 0 || len(line) > room) {
			fmt.Fprintf(b, "- and %d more: `await runtime.discovered_servers()`\n", len(servers)-i)
			break
		}
		b.WriteString(line + "\n")
	}
}

// remembers says what code can keep for later sessions.
func remembers(p *policy.Profile) string {
	switch p.Memory.Mode {
	case "on":
		return fmt.Sprintf("\nKept for later sessions, up to %s: `save_memory(key, json)`, `load_memory(key)`, `update_memory(key, f)`, `list_memories()`; `save_tool(function)`.\n", Size(p.Memory.Bytes))
	case "readOnly":
		return "\nKept by earlier sessions: `list_memories()`, `load_memory(key)`.\n"
	}
	return ""
}

// span writes a time without the units that are nothing.
func span(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// processors writes their number.
func processors(n float64) string {
	if n == 1 {
		return "1 processor"
	}
	return fmt.Sprintf("%g processors", n)
}

// weight estimates the tokens of a line: upper-case letters and symbols take more
// of them.
func weight(line string) int {
	n := len(line)
	for i := range len(line) {
		if c := line[i]; c != ' ' && (c < 'a' || c > 'z') {
			n++
		}
	}
	return n
}
