package main

import (
	"fmt"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/token"
)

// A writer writes the manual.
type writer struct {
	strings.Builder
	defaults map[string]string // by path, with NAME where a policy has a name of its own
}

func (w *writer) line(text string) { w.WriteString(text + "\n") }

// collect remembers the defaults below the path.
func (w *writer) collect(path string, decls []ast.Decl) {
	for _, d := range decls {
		f, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		at := join(path, labelOf(f))
		if inner, ok := f.Value.(*ast.StructLit); ok {
			w.collect(at, inner.Elts)
			continue
		}
		w.defaults[at] = source(f.Value)
	}
}

// fields writes what there is to say of each field, those of structs in it
// after it. In is the path of the definition, and prefix that within it.
func (w *writer) fields(in, prefix string, decls []ast.Decl) {
	for _, d := range decls {
		f, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		name := join(prefix, labelOf(f))
		inner, nested := f.Value.(*ast.StructLit)
		about := kind(f.Value)
		if f.Constraint == token.NOT {
			about += ", required"
		}
		if usual, ok := w.defaults[join(in, name)]; ok && usual != `""` {
			about += "; `" + usual + "` unless given"
		}
		w.line(fmt.Sprintf("### `%s`\n\n*%s*\n", name, about))
		w.line(prose(ast.Comments(f)))
		if nested && !ofNames(inner) {
			w.fields(in, name, inner.Elts)
		} else if nested {
			field := inner.Elts[0].(*ast.Field)
			if below, ok := field.Value.(*ast.StructLit); ok {
				w.fields(in, join(name, "NAME"), below.Elts)
			}
		}
	}
}

// ofNames reports whether the fields of the struct have names of the policy's.
func ofNames(s *ast.StructLit) bool {
	f, ok := s.Elts[0].(*ast.Field)
	if !ok {
		return false
	}
	_, pattern := f.Label.(*ast.ListLit)
	return pattern
}

// labelOf is the name of a field, or NAME where the policy chooses it.
func labelOf(f *ast.Field) string {
	if _, pattern := f.Label.(*ast.ListLit); pattern {
		return "NAME"
	}
	name, _, err := ast.LabelName(f.Label)
	if err != nil {
		return source(f.Label.(ast.Expr))
	}
	return name
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func source(e ast.Node) string {
	text, err := format.Node(e)
	if err != nil {
		return ""
	}
	return string(text)
}

// kind says in words what a value is.
func kind(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return kindOfName(e.Name)
	case *ast.ParenExpr:
		return kind(e.X)
	case *ast.CallExpr, *ast.UnaryExpr, *ast.SelectorExpr:
		return "text"
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return "`" + text + "`"
		}
	case *ast.ListLit:
		if len(e.Elts) == 1 {
			if rest, ok := e.Elts[0].(*ast.Ellipsis); ok {
				return "list, each " + kind(rest.Type)
			}
		}
	case *ast.StructLit:
		if _, any := e.Elts[0].(*ast.Ellipsis); any {
			return "any fields, each any CUE"
		}
		if ofNames(e) {
			return "fields with names of the policy's own, each " + kind(e.Elts[0].(*ast.Field).Value)
		}
		return "fields that follow"
	case *ast.BinaryExpr:
		return kindOfBoth(e)
	}
	return "`" + source(e) + "`"
}

func kindOfName(name string) string {
	switch name {
	case "string":
		return "text"
	case "bool":
		return "true or false"
	case "int":
		return "whole number"
	case "number":
		return "number"
	}
	for _, s := range sections {
		if s.definition == name {
			return fmt.Sprintf("[%s](#%s)", strings.ToLower(s.title), strings.ReplaceAll(strings.ToLower(s.title), " ", "-"))
		}
	}
	return name
}

// kindOfBoth is the kind of a choice, or of a number in bounds.
func kindOfBoth(e *ast.BinaryExpr) string {
	if e.Op == token.OR {
		left, right := kind(e.X), kind(e.Y)
		if left == right {
			return left
		}
		return strings.ReplaceAll(left, " or ", ", ") + " or " + right
	}
	bound, ok := e.Y.(*ast.UnaryExpr)
	if !ok {
		return kind(e.X)
	}
	switch bound.Op {
	case token.GEQ:
		return kind(e.X) + ", " + source(bound.X) + " or more"
	case token.GTR:
		return kind(e.X) + ", more than " + source(bound.X)
	case token.LEQ:
		return strings.Replace(kind(e.X), " or more", "", 1) + " to " + source(bound.X)
	}
	return kind(e.X)
}

// prose is a comment as text, with what is indented in it as code.
func prose(groups []*ast.CommentGroup) string {
	var b strings.Builder
	code := false
	for _, g := range groups {
		for _, c := range g.List {
			line := strings.TrimPrefix(strings.TrimPrefix(c.Text, "//"), " ")
			inner, inCode := strings.CutPrefix(line, "\t")
			if inCode != code {
				b.WriteString("```\n")
				code = inCode
			}
			if !inCode {
				inner = escape(line)
			}
			b.WriteString(inner + "\n")
		}
	}
	if code {
		b.WriteString("```\n")
	}
	return b.String()
}

// escape keeps Markdown from taking what is between no backquotes for marks of
// its own.
func escape(line string) string {
	parts := strings.Split(line, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = marks.Replace(parts[i])
	}
	return strings.Join(parts, "`")
}

var marks = strings.NewReplacer("<", "&lt;", "*", `\*`, "_", `\_`, "[", `\[`)
