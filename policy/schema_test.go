package policy

import (
	"os"
	"path/filepath"
	"testing"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
)

// The schema is the manual: each definition and each field has a comment.
func TestSchemaIsAManual(t *testing.T) {
	f, err := parser.ParseFile("schema.cue", Schema(), parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range f.Decls {
		field, ok := decl.(*ast.Field)
		if !ok {
			continue
		}
		name, _, _ := ast.LabelName(field.Label)
		if len(ast.Comments(field)) == 0 {
			t.Errorf("%s has no comment", name)
		}
		ast.Walk(field.Value, func(n ast.Node) bool {
			inner, ok := n.(*ast.Field)
			if !ok {
				return true
			}
			if _, pattern := inner.Label.(*ast.ListLit); !pattern && len(ast.Comments(inner)) == 0 {
				name, _, _ := ast.LabelName(inner.Label)
				t.Errorf("%s: %v: %s has no comment", field.Label, inner.Pos(), name)
			}
			return true
		}, nil)
	}
}

// Our own CUE is formatted as `cue fmt` does it.
func TestFormat(t *testing.T) {
	files, err := filepath.Glob("../policies/*.cue")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, "schema.cue", "defaults.cue") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := format.Source(text)
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != string(want) {
			t.Errorf("%s is not formatted; it would be\n%s", name, want)
		}
	}
}

// What is refused as not supported yet is refused wherever it may be written.
func TestLaterIsNotNow(t *testing.T) {
	for kind, fields := range later {
		path := map[string][]string{
			"profile": {"profiles", "p"}, "rule": {"profiles", "p", "servers", "s", "tools", "t"},
		}[kind]
		for name, what := range fields {
			text := ""
			for _, p := range append(path, name) {
				text += p + ": "
			}
			_, err := one(t, text+"_\n")
			mistakes, _ := err.(Errors)
			found := false
			for _, m := range mistakes {
				found = found || m.Message == what+" not supported by this version"
			}
			if !found {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}
