package policy

import (
	"iter"
	"strings"
	"sync"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
)

// engineTable is what the schema says about engines.
type engineTable struct {
	names  []string // the values of a profile's engine, in the order in which they are tried
	fields []engineField
}

// engineField is a field of a profile that only some engines have.
type engineField struct {
	name    string
	engines []string
}

// Engines are the names of the engines that a profile can have, in the order in
// which they are tried.
func Engines() []string { return schemaEngines().names }

// schemaEngines reads the schema: the alternatives of engine, and the attribute
// @engines of other fields.
var schemaEngines = sync.OnceValue(func() (t engineTable) {
	f, err := parser.ParseFile(schemaFile, schemaSource)
	if err != nil {
		panic(err) // the embedded schema is broken
	}
	for name, definition := range fieldsOf(f.Decls) {
		if name != "#Profile" {
			continue
		}
		for name, field := range fieldsOf(definition.Value.(*ast.StructLit).Elts) {
			if name == "engine" {
				t.names = quoted(field.Value)
			}
			for _, a := range field.Attrs {
				if key, body := a.Split(); key == "engines" {
					t.fields = append(t.fields, engineField{name, strings.Split(body, ",")})
				}
			}
		}
	}
	return t
})

// fieldsOf are the fields among declarations, by their names.
func fieldsOf(decls []ast.Decl) iter.Seq2[string, *ast.Field] {
	return func(yield func(string, *ast.Field) bool) {
		for _, d := range decls {
			if f, is := d.(*ast.Field); is {
				if name, _, err := ast.LabelName(f.Label); err == nil && !yield(name, f) {
					return
				}
			}
		}
	}
}

// quoted are the strings of a disjunction, as written.
func quoted(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return append(quoted(e.X), quoted(e.Y)...)
	case *ast.BasicLit:
		text, _ := literal.Unquote(e.Value)
		return []string{text}
	}
	return nil
}
