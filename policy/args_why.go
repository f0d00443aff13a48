package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"bridge/policy/strictjson"
)

// diagnose says what is wrong with arguments that CUE says are not an instance of
// the rule. CUE's own error would quote them.
func (c argsCheck) diagnose(both cue.Value, args strictjson.Object) *mismatch {
	if bad := c.differs(c.value, both, args, nil); bad != nil {
		return bad
	}
	return &mismatch{text: "they do not fit the rule"}
}

// fits reports whether v is an instance of rule, and both the two unified.
func (c argsCheck) fits(both cue.Value, v any) bool {
	return both.Validate(cue.Concrete(true), cue.Final()) == nil && c.added(both, v, nil) == nil
}

// with is a part of the rule with what was sent.
func (c argsCheck) with(rule cue.Value, v any) cue.Value {
	return rule.Unify(c.encoded(v))
}

// differs says how v, which is at path, is no instance of rule; nil if it is one,
// or if that cannot be said.
func (c argsCheck) differs(rule, both cue.Value, v any, path []strictjson.Step) *mismatch {
	if *c.steps--; *c.steps < 0 {
		return &mismatch{path: path, text: "does not fit the rule"}
	}
	if c.fits(both, v) {
		return nil
	}
	want, is := rule.IncompleteKind(), kindOf(v)
	if want == cue.BottomKind && rule.Validate() != nil {
		return &mismatch{path, c.place(rule), "not allowed"}
	}
	if want&is == 0 && want != cue.BottomKind {
		return &mismatch{path, c.place(rule), fmt.Sprintf("%s, and the rule wants %s", kindText(v), want)}
	}
	op, parts := rule.Expr()
	if op == cue.OrOp {
		return c.noneOf(rule, alternatives(rule), v, path)
	}
	var bad *mismatch
	switch v := v.(type) {
	case strictjson.Object:
		bad = c.differsInFields(rule, both, v, path)
	case []any:
		bad = c.differsInElements(rule, both, v, path)
	}
	if bad == nil && op == cue.AndOp {
		for _, p := range parts {
			if bad = c.differs(p, c.with(p, v), v, path); bad != nil {
				break
			}
		}
	}
	if bad == nil {
		bad = &mismatch{path: path, text: broken(rule)}
	}
	if bad.pos.Line == 0 {
		bad.pos = c.place(rule)
	}
	return bad
}

func (c argsCheck) differsInFields(rule, both cue.Value, o strictjson.Object, path []strictjson.Step) *mismatch {
	var names []string
	sent := map[string]bool{}
	for _, m := range o {
		sent[m.Name] = true
	}
	var missing *mismatch
	it, err := rule.Fields(cue.Optional(true))
	for err == nil && it.Next() {
		name := it.Selector().Unquoted()
		names = append(names, name)
		if missing == nil && !sent[name] && it.Selector().ConstraintType() != cue.OptionalConstraint {
			missing = &mismatch{to(path, name), c.posOf(it.Value()), "missing"}
			if is := text(it.Value()); is != "" {
				missing.text = "missing; the rule wants " + is
			}
		}
	}
	for _, m := range o {
		if label := c.labels.label(m.Name); !rule.Allows(cue.Str(label)) || closes(lookup(both, label)) {
			return &mismatch{to(path, m.Name), c.place(rule), notAllowed(m.Name, names, sent)}
		}
	}
	if missing != nil {
		return missing
	}
	for _, m := range o {
		label := c.labels.label(m.Name)
		field := lookup(both, label)
		if !field.Exists() || c.fits(field, m.Value) {
			continue
		}
		if bad := c.differs(c.field(rule, m.Name), field, m.Value, to(path, m.Name)); bad != nil {
			return bad
		}
	}
	return nil
}

// closes reports whether the field is one that a closed struct does not have.
func closes(field cue.Value) bool {
	err := field.Err()
	return err != nil && strings.Contains(err.Error(), "field not allowed")
}

// notAllowed says that the rule has no such argument, and which it has beside
// those that were sent.
func notAllowed(name string, names []string, sent map[string]bool) string {
	const most = 8
	left := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return sent[n] })
	if near := DidYouMean(name, left); near != "" {
		return "not allowed" + near
	}
	switch n := len(names); {
	case n == 0:
		return "not allowed; the rule has no arguments"
	case n > most:
		names = append(slices.Clip(names[:most]), fmt.Sprintf("+%d more", n-most))
	}
	return "not allowed; the rule has " + strings.Join(names, ", ")
}

func (c argsCheck) differsInElements(rule, both cue.Value, list []any, path []strictjson.Step) *mismatch {
	for i, v := range list {
		element := both.LookupPath(cue.MakePath(cue.Index(i)))
		if !element.Exists() || c.fits(element, v) {
			continue
		}
		want := rule.LookupPath(cue.MakePath(cue.Index(i)))
		if !want.Exists() {
			want = rule.LookupPath(cue.MakePath(cue.AnyIndex))
		}
		if !want.Exists() {
			continue
		}
		if bad := c.differs(want, c.with(want, v), v, append(path[:len(path):len(path)], strictjson.Step{Index: i})); bad != nil {
			return bad
		}
	}
	if n, err := rule.Len().Int64(); err == nil && n != int64(len(list)) {
		return &mismatch{path, c.place(rule), fmt.Sprintf("%d elements, and the rule wants %d", len(list), n)}
	}
	return nil
}

// broken says that a value breaks a rule.
func broken(rule cue.Value) string {
	op, _ := rule.Expr()
	is := text(rule)
	switch {
	case is == "":
		return "does not fit the rule"
	case op == cue.RegexMatchOp:
		return "does not match " + is
	case op == cue.NotRegexMatchOp:
		return "must not match " + strings.Replace(is, "!", "=", 1)
	case op == cue.CallOp || validator.MatchString(is):
		return "does not satisfy " + is
	}
	return "is not " + is
}

// validator is a check of one of CUE's packages.
var validator = regexp.MustCompile(`^[a-z]+\.[A-Z]\w*(\(|$)`)

// text is a rule as CUE has it, if that fits into a line.
func text(rule cue.Value) string {
	const most = 120
	op, _ := rule.Expr()
	if k := rule.IncompleteKind(); op != cue.CallOp && k != cue.BottomKind && k&^(cue.StructKind|cue.ListKind) == 0 {
		return ""
	}
	s := strings.TrimSuffix(oneLine(fmt.Sprint(rule)), "()")
	if len(s) > most || s == "_" {
		return ""
	}
	return s
}

// place is where the rule is written: its field, or the value itself.
func (c argsCheck) place(rule cue.Value) Pos {
	if at := c.posOf(rule); c.mine(at) {
		return at
	}
	return Pos{}
}

// mine reports whether the place is in the policy.
func (e *evaluator) mine(at Pos) bool {
	_, ok := e.order[at.File]
	return ok && at.Line > 0
}

func kindOf(v any) cue.Kind {
	switch v := v.(type) {
	case strictjson.Object:
		return cue.StructKind
	case []any:
		return cue.ListKind
	case string:
		return cue.StringKind
	case bool:
		return cue.BoolKind
	case strictjson.Number:
		if isInt(v) {
			return cue.IntKind
		}
		return cue.FloatKind
	}
	return cue.NullKind
}

// isInt reports whether the number is an int to CUE.
func isInt(n strictjson.Number) bool { return !strings.ContainsAny(string(n), ".eE") }

// kindText is what was sent, in words.
func kindText(v any) string {
	switch k := kindOf(v); k {
	case cue.StructKind:
		return "an object"
	case cue.ListKind:
		return "a list"
	case cue.IntKind:
		return "an int"
	case cue.FloatKind:
		return "a float, as it has a fraction or an exponent"
	case cue.NullKind:
		return "null"
	default:
		return "a " + k.String()
	}
}

// noneOf says that v is none of several things.
func (c argsCheck) noneOf(rule cue.Value, choices []cue.Value, v any, path []strictjson.Step) *mismatch {
	if o, ok := v.(strictjson.Object); ok {
		if bad := c.noneOfObjects(choices, o, path); bad != nil {
			return bad
		}
	}
	return &mismatch{path, c.place(rule), "none of " + listed(choices)}
}

// noneOfObjects says it of the alternative that was most likely meant: the one
// with what tells them apart, such as kind!: "a", or with the least that is
// wrong.
func (c argsCheck) noneOfObjects(choices []cue.Value, o strictjson.Object, path []strictjson.Step) *mismatch {
	for _, m := range o {
		var kinds, left []cue.Value
		for _, choice := range choices {
			field := c.field(choice, m.Name)
			if field.IsConcrete() && field.IncompleteKind()&(cue.StructKind|cue.ListKind) == 0 {
				kinds = append(kinds, field)
				if c.fits(c.with(field, m.Value), m.Value) {
					left = append(left, choice)
				}
			}
		}
		if len(kinds) < len(choices) {
			continue
		}
		if len(left) == 0 {
			return &mismatch{to(path, m.Name), c.place(kinds[0]), "none of " + listed(kinds)}
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
func (c argsCheck) wrong(rule, both cue.Value, o strictjson.Object) int {
	n := 0
	missing := map[string]bool{}
	it, err := rule.Fields(cue.Optional(true))
	for err == nil && it.Next() {
		missing[it.Selector().Unquoted()] = it.Selector().ConstraintType() != cue.OptionalConstraint
	}
	for _, m := range o {
		label := c.labels.label(m.Name)
		delete(missing, label)
		if !rule.Allows(cue.Str(label)) || !c.fits(lookup(both, label), m.Value) {
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
