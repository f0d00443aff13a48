package policy

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cuelang.org/go/cue"
)

// added finds what the rule would add to arguments that do not contradict it:
// fields that have a value in the rule and are not among those sent. And it
// finds names that servers may take for others, as many do not tell upper case
// from lower.
func (c argsCheck) added(both cue.Value, v any, path []step) *mismatch {
	switch v := v.(type) {
	case object:
		return c.addedFields(both, v, path)
	case []any:
		it, err := both.List()
		if err != nil {
			return &mismatch{path: path, text: "does not fit the rule"}
		}
		for i := 0; it.Next() && i < len(v); i++ {
			if bad := c.added(it.Value(), v[i], append(path, step{index: i})); bad != nil {
				return bad
			}
		}
	}
	return nil
}

func (c argsCheck) addedFields(both cue.Value, o object, path []step) *mismatch {
	it, err := both.Fields(cue.Optional(true))
	if err != nil {
		return &mismatch{path: path, text: "does not fit the rule"}
	}
	values := make(map[string]any, len(o))
	for _, m := range o {
		values[m.name] = m.value
	}
	folded := make(map[string]string, len(o))
	for it.Next() {
		name := c.labels.name(it.Selector().Unquoted())
		value, sent := values[name]
		if !sent && it.Selector().ConstraintType() != cue.OptionalConstraint {
			return &mismatch{to(path, name), c.posOf(it.Value()), "missing; a rule adds nothing to what is sent"}
		}
		key := fold(name)
		if other, twice := folded[key]; twice {
			_, both := values[other]
			if !sent || both && !c.names.words[other] {
				name, other = other, name
			}
			if sent || both {
				return &mismatch{to(path, name), Pos{}, fmt.Sprintf("some servers would take it for %s: they differ in upper and lower case alone", shown(other))}
			}
		}
		folded[key] = name
		if bad := c.added(it.Value(), value, to(path, name)); bad != nil {
			return bad
		}
	}
	return nil
}

// to is the path to the field of that name.
func to(path []step, name string) []step {
	return append(path[:len(path):len(path)], step{name: []byte(name), named: true})
}

// shown is an argument's name in a message.
func shown(name string) string {
	return strings.TrimPrefix(argsPath(to(nil, name)), "args.")
}

// fold is the same for names that differ in upper and lower case alone.
func fold(name string) string {
	ascii := true
	for i := 0; i < len(name); i++ {
		ascii = ascii && name[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.ToUpper(name)
	}
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, name)
}

// fold is the words, as fold has them, and how many are the same then.
func (v *vocabulary) fold() map[string]int {
	folded := map[string]int{}
	for word := range v.words {
		folded[fold(word)]++
	}
	return folded
}

// alike reports whether there are names that differ in upper and lower case alone
// from others, or from those that the policy writes.
func (l *labels) alike(v any) bool {
	switch v := v.(type) {
	case object:
		var unknown []string
		for _, m := range v {
			key := fold(m.name)
			if n := l.folded[key]; n > 1 || n == 1 && !l.words[m.name] {
				return true
			}
			if !l.words[m.name] {
				unknown = append(unknown, key)
			}
			if l.alike(m.value) {
				return true
			}
		}
		slices.Sort(unknown)
		return len(slices.Compact(unknown)) < len(unknown)
	case []any:
		return slices.ContainsFunc(v, l.alike)
	}
	return false
}

// fills reports whether a rule may have fields that a call does not: those that
// are written without a mark.
func (l *loader) fills(rule cue.Value) bool {
	if l.terms.depends {
		return true
	}
	n := 0
	var look func(v cue.Value) bool
	look = func(v cue.Value) bool {
		const most = 500
		if n++; n > most {
			return true
		}
		kind := v.IncompleteKind()
		if kind&(cue.StructKind|cue.ListKind) == 0 {
			return kind == cue.BottomKind
		}
		op, parts := v.Expr()
		switch op {
		case cue.NoOp, cue.CallOp: // close({…}), or what only looks, as list.MaxItems does
		case cue.AndOp, cue.OrOp:
			return slices.ContainsFunc(parts, look)
		default:
			return true
		}
		switch kind {
		case cue.StructKind:
			it, err := v.Fields(cue.Optional(true), cue.Patterns(true))
			for err == nil && it.Next() {
				mark := it.Selector().ConstraintType()
				if mark&(cue.OptionalConstraint|cue.RequiredConstraint|cue.PatternConstraint) == 0 || it.Value().IncompleteKind() != cue.BottomKind && look(it.Value()) {
					return true
				}
			}
			return err != nil
		case cue.ListKind:
			it, err := v.List()
			if err != nil {
				return op != cue.CallOp
			}
			for it.Next() {
				if look(it.Value()) {
					return true
				}
			}
			e := v.LookupPath(cue.MakePath(cue.AnyIndex))
			return e.Exists() && look(e)
		}
		return kind != cue.TopKind && op != cue.CallOp
	}
	return look(rule)
}
