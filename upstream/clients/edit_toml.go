package clients

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// part is the lines of a TOML file that belong to one server.
type part struct{ from, to int } // to is the first that does not

// parts finds the tables of the servers. The servers of a file that writes them
// otherwise than in tables of their own cannot be taken out.
func parts(text []byte) (lines []string, found map[string][]part, err error) {
	if _, bad := parseTOML(text); bad != nil {
		return nil, nil, fmt.Errorf("%d:%d: %s", bad.line, bad.col, bad.message)
	}
	lines = strings.SplitAfter(string(text), "\n")
	found = map[string][]part{}
	type header struct {
		line int
		path []string
	}
	var headers []header
	for _, t := range tables(text) {
		line := strings.TrimSpace(lines[t.line-1])
		if !strings.HasPrefix(line, "[") {
			own := len(headers) > 0 && len(headers[len(headers)-1].path) > 1 // within the table of a server
			if len(t.path) > 1 && t.path[0] == "mcp_servers" && !own {
				found[t.path[1]] = append(found[t.path[1]], part{-1, -1})
			}
			continue
		}
		if n := len(headers); n > 0 && headers[n-1].line == t.line {
			headers[n-1].path = t.path
			continue
		}
		headers = append(headers, header{t.line, t.path})
	}
	for i, h := range headers {
		if len(h.path) < 2 || h.path[0] != "mcp_servers" {
			continue
		}
		// The comment above a table is about it.
		top := func(line int) int {
			for line > 0 && strings.HasPrefix(strings.TrimSpace(lines[line-1]), "#") {
				line--
			}
			return line
		}
		p := part{top(h.line - 1), len(lines)}
		if i+1 < len(headers) {
			p.to = top(headers[i+1].line - 1)
		}
		found[h.path[1]] = append(found[h.path[1]], p)
	}
	return lines, found, nil
}

// cut takes the parts of a server out of the lines.
func cut(lines []string, of []part, name string) error {
	for _, p := range of {
		if p.from < 0 {
			return fmt.Errorf("server %q is not written as a table of its own, [mcp_servers.%s]; take it out yourself", name, name)
		}
		for i := p.from; i < p.to; i++ {
			lines[i] = ""
		}
	}
	return nil
}

// editTOML is editJSON for the configuration of Codex.
func editTOML(text []byte, r Registration, goes func(string) bool) (after []byte, shown string, out []string, err error) {
	lines, found, err := parts(text)
	if err != nil {
		return nil, "", nil, err
	}
	entry, err := toml.Marshal(map[string]any{"command": r.Command, "args": r.Args, "tool_timeout_sec": r.Seconds})
	if err != nil {
		return nil, "", nil, err
	}
	shown = "[mcp_servers." + ownEntry + "]\n" + string(entry)
	if bytes.Contains(text, []byte("\r\n")) {
		shown = strings.ReplaceAll(shown, "\n", "\r\n")
	}
	for name := range found {
		if name != ownEntry && goes(name) {
			out = append(out, name)
			if err := cut(lines, found[name], name); err != nil {
				return nil, "", nil, err
			}
		}
	}
	slices.Sort(out)
	if was, there := found[ownEntry]; there {
		if len(was) == 1 && was[0].from >= 0 && strings.TrimSpace(strings.Join(lines[was[0].from:was[0].to], "")) == strings.TrimSpace(shown) {
			return []byte(strings.Join(lines, "")), shown, out, nil
		}
		if err := cut(lines, was, ownEntry); err != nil {
			return nil, "", nil, err
		}
	}
	rest := strings.Join(lines, "")
	if rest != "" && !strings.HasSuffix(rest, "\n") {
		rest += "\n"
	}
	if strings.TrimSpace(rest) != "" && !strings.HasSuffix(rest, "\n\n") {
		rest += "\n"
	}
	return []byte(rest + shown), shown, out, nil
}

// restoreTOML takes the bridge out, and puts back what the old file had.
func restoreTOML(text, old []byte, missing func(string) bool) ([]byte, error) {
	lines, found, err := parts(text)
	if err != nil {
		return nil, err
	}
	if err := cut(lines, found[ownEntry], ownEntry); err != nil {
		return nil, err
	}
	rest := strings.TrimRight(strings.Join(lines, ""), "\n") + "\n"
	were, then, err := parts(old)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(then)) {
		if !missing(name) {
			continue
		}
		for _, p := range then[name] {
			rest += "\n" + strings.TrimRight(strings.Join(were[p.from:p.to], ""), "\n") + "\n"
		}
	}
	return []byte(rest), nil
}
