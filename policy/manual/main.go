// Command manual prints the reference of the policy language, docs/policy.md,
// from the schema and the defaults. It is run by `make docs`.
package main

import (
	"embed"
	"fmt"
	"os"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	"bridge/policy"
)

// examples has one policy for each definition that has an example.
//
//go:embed examples/*.cue
var examples embed.FS

func main() {
	text, err := manual()
	if err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}

// A section is a definition of the schema: what the manual calls it, and where
// in a policy it is.
type section struct {
	definition, title, path string
}

var sections = []section{
	{"#Policy", "A policy", ""},
	{"#Server", "A server", "servers.NAME"},
	{"#Profile", "A profile", "profiles.NAME"},
	{"#Limits", "The limits of a sandbox", "profiles.NAME.limits"},
	{"#Folder", "A folder of the host", "profiles.NAME.mounts"},
	{"#Mount", "A mounted server", "profiles.NAME.servers.NAME"},
	{"#Tool", "A rule", "profiles.NAME.servers.NAME.tools.NAME"},
	{"#Resource", "A rule of resources", "profiles.NAME.servers.NAME.resources.URI"},
	{"#Calls", "A budget of calls", ""},
	{"#Bytes", "A budget of bytes", ""},
}

func manual() (string, error) {
	schema, err := parser.ParseFile("schema.cue", policy.Schema(), parser.ParseComments)
	if err != nil {
		return "", err
	}
	usual, err := parser.ParseFile("defaults.cue", policy.Defaults())
	if err != nil {
		return "", err
	}
	w := &writer{defaults: map[string]string{}}
	w.collect("", usual.Decls)

	definitions := map[string]*ast.Field{}
	for _, d := range schema.Decls {
		if f, ok := d.(*ast.Field); ok {
			name, _, err := ast.LabelName(f.Label)
			if err != nil {
				return "", err
			}
			definitions[name] = f
		}
	}
	if len(definitions) != len(sections) {
		return "", fmt.Errorf("the schema has %d definitions, and %d have a section", len(definitions), len(sections))
	}
	w.line("<!-- Made from policy/schema.cue and policy/defaults.cue by `make docs`. -->\n")
	w.line("# The policy language\n")
	w.line(prose(ast.Comments(schema)))
	for _, s := range sections {
		f, ok := definitions[s.definition]
		if !ok {
			return "", fmt.Errorf("the schema has no %s", s.definition)
		}
		w.section(s, f)
	}
	return strings.TrimRight(w.String(), "\n") + "\n", nil
}

// section writes what is to be said of a definition.
func (w *writer) section(s section, f *ast.Field) {
	w.line("## " + s.title + "\n")
	if s.path != "" {
		w.line("`" + s.path + "`\n")
	}
	w.line(prose(ast.Comments(f)))
	if text, err := examples.ReadFile("examples/" + strings.ToLower(strings.TrimPrefix(s.definition, "#")) + ".cue"); err == nil {
		w.line("```cue\n" + strings.TrimSpace(string(text)) + "\n```\n")
	}
	w.fields(s.path, "", f.Value.(*ast.StructLit).Elts)
}
