package policy

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
)

// A reference is a name in a policy that refers to another part of it.
type reference struct {
	name string
	pos  Pos
}

// references takes in what a named part of the policy refers to: by its name,
// wherever it is, which is enough to tell what cannot be reached.
func (v *vocabulary) references(n ast.Node) {
	take := func(name string, e ast.Expr) {
		v.within(v.refers, name, e, true)
		v.within(v.frames, name, e, false)
	}
	switch n := n.(type) {
	case *ast.Field:
		if name, _, err := ast.LabelName(n.Label); err == nil {
			take(name, n.Value)
		}
		if alias, ok := n.Label.(*ast.Alias); ok {
			take(alias.Ident.Name, n.Value)
		}
	case *ast.LetClause:
		take(n.Ident.Name, n.Expr)
	case *ast.Alias:
		take(n.Ident.Name, n.Expr)
	}
}

// within takes the references in what has the name into a map, with args those
// in rules for arguments as well.
func (v *vocabulary) within(refers map[string][]reference, name string, n ast.Node, args bool) {
	if n == nil {
		return
	}
	take := func(id *ast.Ident) {
		refers[name] = append(refers[name], reference{id.Name, position(id.Pos())})
	}
	ast.Walk(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			take(n)
		case *ast.SelectorExpr:
			if id, ok := n.Sel.(*ast.Ident); ok && strings.HasPrefix(id.Name, "#") {
				take(id)
			}
			v.within(refers, name, n.X, args)
			return false
		case *ast.Field:
			if label, _, err := ast.LabelName(n.Label); err != nil || label != "args" || args {
				v.within(refers, name, n.Value, args)
			}
			return false
		}
		return true
	}, nil)
}

// closed reports whether definitions close what rules for arguments are in.
func (v *vocabulary) closed() bool {
	done := map[string]bool{}
	var reach func(name string) bool
	reach = func(name string) bool {
		done[name] = true
		return slices.ContainsFunc(v.frames[name], func(r reference) bool {
			return strings.HasPrefix(r.name, "#") || !done[r.name] && reach(r.name)
		})
	}
	return reach("")
}

// loop finds a rule for arguments that refers to itself. CUE can take forever to
// hold such a one against values that are deep enough, and cannot be stopped.
func (v *vocabulary) loop() (Pos, bool) {
	done := map[string]bool{}
	var open []string
	var follow func(name string) (Pos, bool)
	follow = func(name string) (Pos, bool) {
		open = append(open, name)
		defer func() { open = open[:len(open)-1] }()
		for _, r := range v.refers[name] {
			if slices.Contains(open, r.name) {
				return r.pos, true
			}
			if !done[r.name] {
				if at, found := follow(r.name); found {
					return at, true
				}
			}
		}
		done[name] = true
		return Pos{}, false
	}
	return follow("args")
}
