package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

// vet holds the schema against v, which the policy has at path: field by field,
// so that each mistake is found whatever the others are, and so that it is said
// in our words where CUE's would describe the schema. Unlike CUE's unification
// it looks into patterns that no field matches yet. defaults are what the
// fields are where the policy leaves them open.
func (l *loader) vet(v, schema, defaults cue.Value, path []string) {
	if l.knows(path) {
		return
	}
	if isArgs(path) {
		l.vetArgs(v, path)
		return
	}
	if schema.IncompleteKind() != cue.StructKind {
		l.vetValue(v, schema, defaults, path)
		return
	}
	// A struct with a mistake in it is of no kind.
	if kind := v.IncompleteKind(); kind != cue.BottomKind && !l.vetKind(v, schema, path) {
		return
	}
	v, _ = v.Default()
	it, err := v.Fields(cue.Optional(true), cue.Patterns(true))
	if err != nil {
		l.report(err, path)
		return
	}
	names := newShape(schema)
	unsupported := false
	for it.Next() {
		sel, child := it.Selector(), it.Value()
		if sel.ConstraintType() == cue.PatternConstraint {
			l.vetPattern(sel.Pattern(), child, names, path)
			continue
		}
		if !sel.IsString() {
			continue // of a list with a mistake in it, which has been reported
		}
		name := sel.Unquoted()
		at := append(slices.Clip(path), name)
		want, ok := names.find(name)
		switch {
		case !ok:
			text, later := refusal(path, name, names)
			unsupported = unsupported || later
			l.mistake(l.posOf(child), at, "%s", text)
		case sel.ConstraintType() == cue.OptionalConstraint && isArgs(at):
			l.mistake(l.posOf(child), at, "with ? it holds for no call; leave out the ?")
		case sel.ConstraintType() == cue.OptionalConstraint:
			l.vetAbstract(child, want, at)
			l.vetUsual(child, of(defaults, name), at)
		case sel.ConstraintType() == cue.RequiredConstraint:
			l.mistake(l.posOf(child), at, "required field is missing")
		default:
			l.vet(child, want, of(defaults, name), at)
		}
		delete(names.required, name)
	}
	if l.abstract || unsupported {
		return // what is missing may come from elsewhere, or be right once that is
	}
	for _, name := range sortedKeys(names.required) {
		l.mistake(l.posOf(v), append(slices.Clip(path), name), "required field is missing")
	}
}

// vetUsual holds what the policy demands of a field, should there be one,
// against the value that it has where the policy writes none.
func (l *loader) vetUsual(v, usual cue.Value, path []string) {
	if l.abstract || l.knows(path) || !usual.Exists() || usual.IncompleteKind() == cue.StructKind {
		return
	}
	if v.Unify(usual).Validate() != nil {
		l.mistake(valuePos(v), path, "with ? this only restricts the value, and the default, %s, does not fit; leave out the ?", short(usual))
	}
}

// vetPattern holds the schema against what the policy says of all fields with
// such names.
func (l *loader) vetPattern(pattern, body cue.Value, names *shape, path []string) {
	at := position(pattern.Pos())
	mark, ok := l.marks[at]
	if !ok {
		mark.Pos, mark.text = at, "…"
	}
	path = append(slices.Clip(path), "["+mark.text+"]")
	if bad := badRegexp(pattern); bad != "" {
		l.mistake(mark.Pos, path, "%s", bad)
	}
	if want, ok := names.any(); ok {
		l.vetAbstract(body, want, path)
		return
	}
	l.mistake(mark.Pos, path, "the names of the fields here are fixed; fields: %s", strings.Join(sortedKeys(names.named), ", "))
}

// badRegexp says what is wrong with a regular expression in a constraint. CUE
// compiles them when it first has a name to match.
func badRegexp(constraint cue.Value) string {
	op, args := constraint.Expr()
	if len(args) < 2 && op != cue.RegexMatchOp && op != cue.NotRegexMatchOp {
		return ""
	}
	for _, a := range args {
		if op == cue.RegexMatchOp || op == cue.NotRegexMatchOp {
			expr, err := a.String()
			if err == nil {
				return regexpMistake(expr)
			}
		} else if bad := badRegexp(a); bad != "" {
			return bad
		}
	}
	return ""
}

// vetAbstract is vet for what is a constraint, and need not be complete.
func (l *loader) vetAbstract(v, schema cue.Value, path []string) {
	if err := v.Validate(); err != nil && !l.abstract {
		// CUE does not look into what no field has taken up.
		l.report(err, path)
		return
	}
	before := l.abstract
	l.abstract = true
	l.vet(v, schema, cue.Value{}, path)
	l.abstract = before
}

// vetKind reports whether v is of a kind that the schema allows.
func (l *loader) vetKind(v, schema cue.Value, path []string) bool {
	is, want := v.IncompleteKind(), schema.IncompleteKind()
	if is&want == cue.BottomKind {
		l.mistake(valuePos(v), path, "invalid value %s (%s, want %s)", short(v), is, want)
		return false
	}
	return true
}

// vetValue holds the schema against a value that is not a struct.
func (l *loader) vetValue(v, schema, defaults cue.Value, path []string) {
	if v.IncompleteKind() == cue.BottomKind || !l.vetKind(v, schema, path) {
		return // of what is wrong in itself, CUE's error has been reported
	}
	if v.IncompleteKind() == cue.ListKind {
		l.vetList(v, schema, path)
		return
	}
	if text, err := v.String(); err == nil {
		if want := wants(path, clip(text)); want != "" && l.ctx.Encode(text).Unify(schema).Validate() != nil {
			l.mistake(valuePos(v), path, "%s", want)
			return
		}
	}
	if d, ok := v.Default(); ok {
		// CUE would go on to the rest of a choice whose default is wrong.
		if err := d.Unify(schema).Validate(); err != nil {
			l.report(err, path)
			return
		}
	}
	both := v.Unify(schema)
	if err := both.Validate(); err != nil {
		l.report(err, path)
		return
	}
	if l.abstract {
		return
	}
	if err := (setting{both, defaults}).value().Validate(cue.Concrete(true), cue.Final()); err != nil {
		if defaults.Exists() {
			l.mistake(valuePos(v), path, "%s leaves the value open, and the default, %s, does not fit; choose one: *VALUE | %[1]s", short(v), short(defaults))
			return
		}
		l.mistake(valuePos(v), path, "%s is not a concrete value", short(v))
	}
}

func (l *loader) vetList(v, schema cue.Value, path []string) {
	it, err := v.List()
	if err != nil {
		l.report(err, path)
		return
	}
	element := schema.LookupPath(cue.MakePath(cue.AnyIndex))
	for i := 0; it.Next(); i++ {
		l.vet(it.Value(), element, cue.Value{}, append(slices.Clip(path), strconv.Itoa(i)))
	}
}

// knows reports whether a mistake at the path, or of a field around it, has been
// found already.
func (l *loader) knows(path []string) bool {
	p := pathString(path)
	return slices.ContainsFunc(l.errs, func(e Error) bool {
		rest, ok := strings.CutPrefix(p, e.Path)
		return ok && e.Path != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// mistake adds one that CUE has not reported.
func (l *loader) mistake(at Pos, path []string, format string, args ...any) {
	if at.Line == 0 {
		at = l.nearest(path)
	}
	l.errs = append(l.errs, Error{Pos: at, Path: pathString(path), Message: fmt.Sprintf(format, args...), where: []Pos{at}})
}

// of is what defaults say of the field.
func of(defaults cue.Value, name string) cue.Value {
	if !defaults.Exists() {
		return cue.Value{}
	}
	if v := defaults.LookupPath(cue.MakePath(cue.Str(name))); v.Exists() {
		return v
	}
	return defaults.LookupPath(cue.MakePath(cue.AnyString))
}

// A shape is the fields that the schema lets a struct have.
type shape struct {
	named    map[string]cue.Value
	required map[string]bool
	patterns []shapePattern
}

type shapePattern struct {
	names, body cue.Value
	all         bool // names is string
}

func newShape(schema cue.Value) *shape {
	s := &shape{named: map[string]cue.Value{}, required: map[string]bool{}}
	it, err := schema.Fields(cue.Optional(true), cue.Patterns(true))
	if err != nil {
		return s
	}
	for it.Next() {
		switch sel := it.Selector(); sel.ConstraintType() {
		case cue.PatternConstraint:
			op, _ := sel.Pattern().Expr()
			s.patterns = append(s.patterns, shapePattern{sel.Pattern(), it.Value(), op == cue.NoOp && !sel.Pattern().IsConcrete()})
		case cue.RequiredConstraint:
			s.required[sel.Unquoted()] = true
			fallthrough
		default:
			s.named[sel.Unquoted()] = it.Value()
		}
	}
	return s
}

// find is what the schema says of the field of that name.
func (s *shape) find(name string) (cue.Value, bool) {
	if v, ok := s.named[name]; ok {
		return v, true
	}
	for _, p := range s.patterns {
		if p.all || p.names.Unify(cuecontext.New().Encode(name)).Validate(cue.Concrete(true)) == nil {
			return p.body, true
		}
	}
	return cue.Value{}, false
}

// any is what the schema says of fields whose names the policy chooses.
func (s *shape) any() (cue.Value, bool) {
	if len(s.patterns) == 0 {
		return cue.Value{}, false
	}
	return s.patterns[0].body, true
}
