package clients

import (
	"path/filepath"
	"slices"
	"strings"
)

// under finds servers under one field.
func under(path ...string) func(*finder, place, node) []field {
	return func(_ *finder, _ place, root node) []field {
		n, _ := root.at(path...)
		return n.fields()
	}
}

// vscodeSection finds them in mcp.json, and in settings.json, where a name
// with a dot is the same as a field in a field.
func vscodeSection(_ *finder, p place, root node) []field {
	if filepath.Base(p.path) == "mcp.json" {
		n, _ := root.get("servers")
		return n.fields()
	}
	list := []field{}
	for _, path := range [][]string{{"mcp", "servers"}, {"mcp.servers"}} {
		n, _ := root.at(path...)
		list = append(list, n.fields()...)
	}
	return list
}

// claudeCode finds the user's servers, and those that the user has for single
// projects. Those of the project that the bridge is started in go first, as
// they do for Claude Code.
func claudeCode(f *finder, _ place, root node) []field {
	projects, _ := root.get("projects")
	here, elsewhere := []field{}, []field{}
	list := projects.fields()
	slices.SortStableFunc(list, func(a, b field) int { return len(b.name) - len(a.name) })
	for _, project := range list {
		servers, _ := project.get("mcpServers")
		if within(f.options.Dir, project.name) {
			here = append(here, servers.fields()...)
		} else {
			elsewhere = append(elsewhere, servers.fields()...)
		}
	}
	user, _ := root.get("mcpServers")
	return append(append(here, user.fields()...), elsewhere...)
}

// within tells whether a folder is another or in it.
func within(dir, other string) bool {
	rel, err := filepath.Rel(other, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// gemini leaves out what its settings exclude.
func gemini(_ *finder, _ place, root node) []field {
	servers, _ := root.get("mcpServers")
	excluded, _ := root.at("mcp", "excluded")
	allowed, only := root.at("mcp", "allowed")
	return slices.DeleteFunc(servers.fields(), func(e field) bool {
		return contains(excluded, e.name) || only && !contains(allowed, e.name)
	})
}

func contains(list node, name string) bool {
	elements, _ := list.value.([]node)
	return slices.ContainsFunc(elements, func(n node) bool { return n.text() == name })
}

// opencode finds servers under mcp, or, since its version 2, under mcp.servers.
func opencode(_ *finder, _ place, root node) []field {
	section, _ := root.get("mcp")
	if inner, ok := section.get("servers"); ok && !isServer(inner) {
		return inner.fields()
	}
	return section.fields()
}

// anySection finds servers in a file of which only the path is known: in any
// of the formats, in a file that is one server, named after it, or in an object
// of nothing but servers.
func anySection(f *finder, p place, root node) []field {
	for _, name := range []string{"mcpServers", "servers", "context_servers", "mcp_servers", "mcp.servers"} {
		if n, ok := root.get(name); ok && !isServer(root) {
			return n.fields()
		}
	}
	if _, ok := root.get("mcp"); ok && !isServer(root) {
		return opencode(f, p, root)
	}
	if isServer(root) {
		name := strings.TrimSuffix(filepath.Base(p.path), filepath.Ext(p.path))
		return []field{{name: name, node: root, line: root.line, col: root.col}}
	}
	list := root.fields()
	if slices.ContainsFunc(list, func(e field) bool { return !isServer(e.node) }) {
		return nil
	}
	return list
}

// isServer tells whether an object has what only a server has.
func isServer(n node) bool {
	_, ok := n.first("command", "url", "serverUrl", "httpUrl")
	return ok
}
