package policy

import (
	"slices"

	"cuelang.org/go/cue/ast"
)

// A reference is a name in a policy that refers to another part of it.
type reference struct {
	name string
	pos  Pos
}

// references takes in what a named part of the policy refers to: by its name,
// wherever it is, which is enough to find rules for arguments that refer to
// themselves.
func (v *vocabulary) references(n ast.Node) {
	switch n := n.(type) {
	case *ast.Field:
		if name, _, err := ast.LabelName(n.Label); err == nil {
			v.within(name, n.Value)
		}
		if alias, ok := n.Label.(*ast.Alias); ok {
			v.within(alias.Ident.Name, n.Value)
		}
	case *ast.LetClause:
		v.within(n.Ident.Name, n.Expr)
	case *ast.Alias:
		v.within(n.Ident.Name, n.Expr)
	}
}

// within takes in the references in what has the name.
func (v *vocabulary) within(name string, e ast.Expr) {
	if e == nil {
		return
	}
	ast.Walk(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			v.refers[name] = append(v.refers[name], reference{n.Name, position(n.Pos())})
		case *ast.SelectorExpr:
			v.within(name, n.X)
			return false
		case *ast.Field:
			v.within(name, n.Value)
			return false
		}
		return true
	}, nil)
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
