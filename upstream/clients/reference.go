package clients

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	// foreign are references in braces of another client than those that the
	// bridge itself writes: ${env:NAME}, ${input:id}, ${workspaceFolder}.
	foreign = regexp.MustCompile(`\$\{([^}]*)\}`)
	// plain are those that the bridge writes.
	plain = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?$`)
	// dollar is a variable as shells write it.
	dollar = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`)
	// braced are OpenCode's.
	braced = regexp.MustCompile(`\{(env|file):([^}]*)\}`)
)

// editorVariables are those of editors that nobody else knows.
var editorVariables = []string{"workspaceFolder", "workspaceRoot", "workspaceFolderBasename", "relativeFile", "file", "fileDirname", "cwd", "execPath"}

// reference writes the references of a value as the bridge does: ${NAME}. What
// they stand for is looked up when the server is started.
func (r *reader) reference(where, s string) string {
	if r.dialect.dollar {
		s = dollar.ReplaceAllString(s, "$${$1}")
	}
	if r.dialect.braces {
		s = braced.ReplaceAllStringFunc(s, func(ref string) string {
			m := braced.FindStringSubmatch(ref)
			if m[1] == "file" {
				r.fail("%s: {file:…} is not available here", where)
				return ""
			}
			return "${" + m[2] + ":-}" // OpenCode has nothing for a variable that is not set
		})
	}
	return foreign.ReplaceAllStringFunc(s, func(ref string) string {
		inner := ref[2 : len(ref)-1]
		kind, name, _ := strings.Cut(inner, ":")
		switch {
		case slices.Contains(editorVariables, inner):
			r.fail("%s: ${%s} is not available here: it is of the editor's open folder", where, inner)
		case inner == "userHome":
			return r.options.Home
		case inner == "/" || inner == "pathSeparator":
			return string(filepath.Separator)
		case plain.MatchString(inner):
			return ref
		case kind == "env" && plain.MatchString(name):
			return "${" + name + "}"
		case kind == "input":
			r.fail("%s: ${input:%s} is not available here: it is what the editor asks for", where, name)
		case slices.Contains([]string{"command", "config", "workspaceFolder", "file", "workspaceRoot"}, kind):
			r.fail("%s: ${%s:…} is not available here", where, kind)
		default:
			return ref
		}
		return ""
	})
}
