package policy

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
)

// noneOf says that v is none of several things.
func (c argsCheck) noneOf(rule cue.Value, choices []cue.Value, v any, path []step) *mismatch {
	if o, ok := v.(object); ok {
		if bad := c.noneOfObjects(choices, o, path); bad != nil {
			return bad
		}
	}
	return &mismatch{path, c.place(rule), "none of " + listed(choices)}
}

// noneOfObjects says it of the alternative that was most likely meant: the one
// with what tells them apart, such as kind!: "a", or with the least that is
// wrong.
func (c argsCheck) noneOfObjects(choices []cue.Value, o object, path []step) *mismatch {
	for _, m := range o {
		var kinds, left []cue.Value
		for _, choice := range choices {
			field := c.field(choice, m.name)
			if field.IsConcrete() && field.IncompleteKind()&(cue.StructKind|cue.ListKind) == 0 {
				kinds = append(kinds, field)
				if c.fits(c.with(field, m.value), m.value) {
					left = append(left, choice)
				}
			}
		}
		if len(kinds) < len(choices) {
			continue
		}
		if len(left) == 0 {
			return &mismatch{to(path, m.name), c.place(kinds[0]), "none of " + listed(kinds)}
		}
		choices = left
	}
	var nearest *mismatch
	least := 0
	for _, choice := range choices {
		both := c.with(choice, o)
		if c.fits(both, o) {
			// To CUE, what lacks a field could still become the others.
			return &mismatch{path: path, text: "fits one of the rule's alternatives without ruling out the others, which need close(), or a field that tells them apart"}
		}
		bad, n := c.differs(choice, both, o, path), c.wrong(choice, both, o)
		if bad != nil && (nearest == nil || n < least) {
			nearest, least = bad, n
		}
	}
	return nearest
}

// wrong is how many fields are missing or wrong.
func (c argsCheck) wrong(rule, both cue.Value, o object) int {
	n := 0
	missing := map[string]bool{}
	it, err := rule.Fields(cue.Optional(true))
	for err == nil && it.Next() {
		missing[it.Selector().Unquoted()] = it.Selector().ConstraintType() != cue.OptionalConstraint
	}
	for _, m := range o {
		label := c.labels.label(m.name)
		delete(missing, label)
		if !rule.Allows(cue.Str(label)) || !c.fits(lookup(both, label), m.value) {
			n++
		}
	}
	for _, is := range missing {
		if is {
			n++
		}
	}
	return n
}

// field is what the rule says of a field of that name.
func (c argsCheck) field(rule cue.Value, name string) cue.Value {
	label := c.labels.label(name)
	return lookup(rule.Unify(c.ctx.Encode(map[string]any{label: ast.NewIdent("_")})), label)
}

// listed is several things that something can be.
func listed(choices []cue.Value) string {
	const most = 8
	var list []string
	for _, choice := range choices {
		is := text(choice)
		if is == "" {
			is = choice.IncompleteKind().String()
		}
		if !slices.Contains(list, is) {
			list = append(list, is)
		}
	}
	if n := len(list); n > most {
		list = append(list[:most], fmt.Sprintf("+%d more", n-most))
	}
	return strings.Join(list, ", ")
}

// alternatives are what a disjunction chooses between.
func alternatives(v cue.Value) []cue.Value {
	op, parts := v.Expr()
	if op != cue.OrOp {
		return []cue.Value{v}
	}
	var list []cue.Value
	for _, p := range parts {
		list = append(list, alternatives(p)...)
	}
	return list
}
