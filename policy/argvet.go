package policy

import (
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
)

// isArgs reports whether the field at the path is a rule for arguments.
func isArgs(path []string) bool {
	return len(path) == 7 && path[6] == "args" && kind(path[:6]) == "rule"
}

// vetArgs looks for what no call can ever match in a rule for arguments, which
// the schema leaves to the policy.
func (l *loader) vetArgs(v cue.Value, path []string) {
	if kind := v.IncompleteKind(); kind != cue.BottomKind && kind&cue.StructKind == 0 {
		l.mistake(valuePos(v), path, "invalid value %s (%s, want struct)", short(v), v.IncompleteKind())
		return
	}
	n := 0
	l.vetArgument(v, path, &n)
}

// vetArgument is vetArgs for one argument, or for a part of one. n counts the
// values, of which a rule that refers to itself has no end.
func (l *loader) vetArgument(v cue.Value, path []string, n *int) {
	const most, deepest = 2000, 40
	if *n++; *n > most || len(path) > deepest {
		return
	}
	if bad := badRegexp(v); bad != "" && !l.knows(path) {
		l.mistake(valuePos(v), path, "%s", bad)
		return
	}
	switch v.IncompleteKind() {
	case cue.ListKind:
		it, err := v.List()
		for i := 0; err == nil && it.Next(); i++ {
			l.vetArgument(it.Value(), append(slices.Clip(path), strconv.Itoa(i)), n)
		}
		if e := v.LookupPath(cue.MakePath(cue.AnyIndex)); e.Exists() {
			l.vetPossible(e, append(slices.Clip(path), "[_]"), n)
		}
	case cue.StructKind, cue.BottomKind:
		it, err := v.Fields(cue.Optional(true), cue.Patterns(true))
		for err == nil && it.Next() {
			sel := it.Selector()
			if sel.ConstraintType() == cue.PatternConstraint {
				p := l.pattern(sel.Pattern())
				at := append(slices.Clip(path), p.written)
				if bad := badRegexp(sel.Pattern()); bad != "" {
					l.mistake(p.Pos, at, "%s", bad)
				}
				l.vetPossible(it.Value(), at, n)
				continue
			}
			at := append(slices.Clip(path), sel.Unquoted())
			if sel.ConstraintType() == cue.OptionalConstraint {
				l.vetPossible(it.Value(), at, n)
				continue
			}
			if err := impossible(it.Value()); err != nil {
				if !l.knows(at) {
					l.report(err, at)
				}
				continue
			}
			l.vetArgument(it.Value(), at, n)
		}
	}
}

// vetPossible finds what no value can be, in a place where none need be: there
// _|_ says that none may be.
func (l *loader) vetPossible(v cue.Value, path []string, n *int) {
	err := impossible(v)
	switch {
	case err == nil:
		l.vetArgument(v, path, n)
	case !strings.Contains(err.Error(), "explicit error (_|_ literal)") && !l.knows(path):
		l.report(err, path)
	}
}

// impossible is why no value can be v. A struct that has itself as an optional
// field is possible, though CUE cannot say what that field is by itself.
func impossible(v cue.Value) error {
	if err := v.Validate(); err != nil && !strings.Contains(err.Error(), "structural cycle") {
		return err
	}
	return nil
}
