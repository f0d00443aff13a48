package clients

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"bridge/definition"
	"bridge/upstream"
)

// Names of the bridge in clients' configurations, and of programs that it
// replaces.
var (
	ownPrograms = []string{"mcp-code-execution-mode", "mcp-server-code-execution-mode"}
	ownNames    = append([]string{"bridge", "mcp-bridge", "code-execution", "code-execution-mode"}, ownPrograms...)
)

// own says why a server is the bridge itself, "" if it is not.
func (f *finder) own(d definition.Server) string {
	if f.options.AllowSelf {
		return ""
	}
	plain := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "-") }
	if slices.Contains(ownNames, plain(d.Name)) {
		return "by its name it is the bridge itself"
	}
	for _, word := range append([]string{filepath.Base(d.Command)}, d.Args...) {
		// A path among the arguments is what a server works on.
		if !filepath.IsAbs(word) && slices.Contains(ownPrograms, plain(path.Base(word))) {
			return "it starts a program that does what the bridge does"
		}
	}
	if d.Command == "" || f.options.Self == "" {
		return ""
	}
	program, err := upstream.Locate(d)
	if err != nil {
		return ""
	}
	// By the path, not the file: a binary may be several programs.
	if same(program, f.options.Self) {
		return "it starts the bridge itself"
	}
	return ""
}

// same tells whether two paths lead to the same one.
func same(a, b string) bool {
	a, errA := filepath.EvalSymlinks(a)
	b, errB := filepath.EvalSymlinks(b)
	return errA == nil && errB == nil && a == b
}
