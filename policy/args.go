package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"

	"bridge/policy/strictjson"
)

// An argsRule is what the arguments of a tool have to be.
type argsRule struct {
	*evaluator
	value cue.Value
	tools cue.Value // that it is in,
	tool  string    // under this name
	fills bool      // whether it may have fields that are not among those sent
}

// unify is the rule with what CUE has of arguments. What a definition closes from
// further out, as in tools: #Readers, CUE only knows in its place; to look there
// takes longer.
func (r *argsRule) unify(is cue.Value) cue.Value {
	if !r.names.outer {
		return r.value.Unify(is)
	}
	in := cue.MakePath(cue.Str(r.tool), cue.Str("args"))
	return r.tools.FillPath(in, is).LookupPath(in)
}

// A mismatch is why arguments are not what a rule has them be, in one line that
// quotes the rule and nothing of the arguments but their names.
type mismatch struct {
	path []strictjson.Step
	pos  Pos // of what it breaks, if that has a place
	text string
}

// Error is the argument and what is wrong with it.
func (m *mismatch) Error() string { return argsPath(m.path) + ": " + m.text }

const (
	maxSteps = 200 // parts of a rule to look at for what is wrong
)

// check holds the rule against arguments, of which sent is the text. They are
// right if they are an instance of the rule: if they have everything that it
// has, and nothing of theirs contradicts it.
func (r *argsRule) check(args strictjson.Object, sent []byte) (bad *mismatch) {
	if bad := bounds(args); bad != nil {
		return bad
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() {
		if recover() != nil {
			// A check that cannot be made is a denial.
			bad = &mismatch{text: "the rule cannot be evaluated on them"}
		}
	}()
	steps := maxSteps
	c := argsCheck{r, &labels{placeholders: r.names}, &steps}
	if r.names.reads && !r.names.charge(len(sent)) {
		return &mismatch{text: fmt.Sprintf("the rules of this policy have read more than %d MiB of arguments, which CUE keeps; restart the bridge", maxKept>>20)}
	}
	if !c.labels.assign(args) {
		return &mismatch{text: fmt.Sprintf("more names than fit in %d MiB, which CUE keeps; restart the bridge", maxKept>>20)}
	}
	if bad := c.holds(args); bad != nil {
		return bad
	}
	if read, other := asDoubles(args); other {
		if bad := c.holds(read.(strictjson.Object)); bad != nil {
			bad.text += ", as servers read it, which round it to a double"
			return bad
		}
	}
	return nil
}

// holds holds the rule against values.
func (c argsCheck) holds(args strictjson.Object) *mismatch {
	both := c.unify(c.encoded(args))
	if err := both.Validate(cue.Concrete(true), cue.Final()); err != nil {
		return c.diagnose(both, args)
	}
	if !c.fills && !c.labels.alike(args) {
		return nil // which is so of most rules and calls, and takes no further look
	}
	return c.added(both, args, nil)
}

// bounds refuses names that CUE would keep, before it sees them.
func bounds(args strictjson.Object) *mismatch {
	var look func(v any, path []strictjson.Step) *mismatch
	look = func(v any, path []strictjson.Step) *mismatch {
		switch v := v.(type) {
		case strictjson.Object:
			for _, m := range v {
				at := append(path, strictjson.Step{Name: []byte(m.Name), Named: true})
				if len(m.Name) > maxArgName {
					return &mismatch{path: at, text: fmt.Sprintf("a name of %d bytes; at most %d", len(m.Name), maxArgName)}
				}
				if bad := look(m.Value, at); bad != nil {
					return bad
				}
			}
		case []any:
			for i, e := range v {
				if bad := look(e, append(path, strictjson.Step{Index: i})); bad != nil {
					return bad
				}
			}
		}
		return nil
	}
	return look(args, nil)
}

// An argsCheck is one check of a rule.
type argsCheck struct {
	*argsRule
	labels *labels
	steps  *int // that are left for finding out what is wrong
}

// encoded is what was sent, as CUE has it.
func (c argsCheck) encoded(v any) cue.Value {
	return c.ctx.Encode(c.encode(v), cue.NilIsAny(false))
}

// encode makes of arguments what CUE's Encode takes for the same.
func (c argsCheck) encode(v any) any {
	switch v := v.(type) {
	case strictjson.Object:
		fields := make(map[string]any, len(v))
		for _, m := range v {
			fields[c.labels.label(m.Name)] = c.encode(m.Value)
		}
		return fields
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = c.encode(e)
		}
		return list
	case strictjson.Number:
		return encodeNumber(v)
	}
	return v
}

// encodeNumber keeps a number what it is: a whole number is an int only if it is
// written without a fraction and an exponent, and none is rounded.
func encodeNumber(n strictjson.Number) any {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i
	}
	if n[0] == '-' {
		return &ast.UnaryExpr{Op: token.SUB, X: numberLiteral(n[1:])}
	}
	return numberLiteral(n)
}

func numberLiteral(n strictjson.Number) *ast.BasicLit {
	return &ast.BasicLit{Kind: token.FLOAT, Value: string(n)}
}

// arguments reads the arguments of a call, which it returns as they are to be
// sent. With build it also returns their values.
func arguments(sent json.RawMessage, build bool) (json.RawMessage, strictjson.Object, error) {
	out, values, err := strictjson.Read(sent, build)
	if bad := (*strictjson.Error)(nil); errors.As(err, &bad) {
		return nil, nil, &mismatch{path: bad.Path, text: bad.Text}
	}
	return out, values, err
}

// argsPath is the path as CUE writes it. The names come from the sandbox.
func argsPath(path []strictjson.Step) string {
	var b strings.Builder
	b.WriteString("args")
	for i, s := range path {
		if i == 8 && len(path) > 12 {
			b.WriteString("…")
		}
		if i >= 8 && i < len(path)-4 {
			continue
		}
		switch name := shorten(string(s.Name)); {
		case !s.Named:
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
		case plain(name):
			b.WriteString("." + name)
		default:
			b.WriteString("." + literal.Label.Quote(name))
		}
	}
	return b.String()
}

// added finds what the rule would add to arguments that do not contradict it:
// fields that have a value in the rule and are not among those sent. And it
// finds names that servers may take for others, as many do not tell upper case
// from lower.
func (c argsCheck) added(both cue.Value, v any, path []strictjson.Step) *mismatch {
	switch v := v.(type) {
	case strictjson.Object:
		return c.addedFields(both, v, path)
	case []any:
		it, err := both.List()
		if err != nil {
			return &mismatch{path: path, text: "does not fit the rule"}
		}
		for i := 0; it.Next() && i < len(v); i++ {
			if bad := c.added(it.Value(), v[i], append(path, strictjson.Step{Index: i})); bad != nil {
				return bad
			}
		}
	}
	return nil
}

func (c argsCheck) addedFields(both cue.Value, o strictjson.Object, path []strictjson.Step) *mismatch {
	it, err := both.Fields(cue.Optional(true))
	if err != nil {
		return &mismatch{path: path, text: "does not fit the rule"}
	}
	values := make(map[string]any, len(o))
	for _, m := range o {
		values[m.Name] = m.Value
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
func to(path []strictjson.Step, name string) []strictjson.Step {
	return append(path[:len(path):len(path)], strictjson.Step{Name: []byte(name), Named: true})
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
	case strictjson.Object:
		var unknown []string
		for _, m := range v {
			key := fold(m.Name)
			if n := l.folded[key]; n > 1 || n == 1 && !l.words[m.Name] {
				return true
			}
			if !l.words[m.Name] {
				unknown = append(unknown, key)
			}
			if l.alike(m.Value) {
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
func (e *evaluator) fills(rule cue.Value) bool {
	if e.terms.depends {
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
