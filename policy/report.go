package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

// report adds the mistakes that CUE found in what the policy has at path; with
// no path, each has its own.
func (l *loader) report(err error, path []string) {
	for _, e := range errors.Errors(err) {
		at := path
		if at == nil {
			at = unquoted(e.Path())
		}
		where := l.userPositions(e)
		if len(where) == 0 {
			where = []Pos{l.nearest(at)}
		}
		message, values := l.say(e, where)
		if message == "" {
			continue
		}
		slices.SortFunc(where, l.compare)
		l.errs = append(l.errs, Error{Pos: where[0], Path: pathString(at), Message: message, where: where, values: values})
	}
}

// say is CUE's error in one line, and the values that contradict each other if
// it is about some. The line is empty for one that only announces others.
func (e *evaluator) say(err errors.Error, where []Pos) (line string, values []string) {
	format, args := err.Msg()
	text := make([]string, len(args))
	for i, a := range args {
		text[i] = clip(oneLine(fmt.Sprint(a)))
	}
	switch {
	case strings.Contains(format, "errors in empty disjunction"):
		return "", nil
	case strings.HasPrefix(format, "conflicting values %s and %s") && len(where) == 2:
		if e.compare(where[0], where[1]) > 0 {
			text[0], text[1] = text[1], text[0]
			where[0], where[1] = where[1], where[0]
		}
		return fmt.Sprintf("conflicting values %s and %s (the other at %s)", text[0], text[1], where[1]), text[:2]
	case strings.HasPrefix(format, "conflicting values %s and %s") && len(where) > 2:
		// References are among the places, so which is whose is not known.
		slices.SortFunc(where, e.compare)
		places := make([]string, len(where)-1)
		for i, at := range where[1:] {
			places[i] = at.String()
		}
		return fmt.Sprintf("conflicting values %s and %s (from there, %s)", text[0], text[1], strings.Join(places, ", ")), text[:2]
	case format == "field not allowed":
		return "field not allowed by a definition (#...) or close() that this is combined with; fields with _ in place of # stay open", nil
	case format == "invalid value %s (does not satisfy %s)" && text[0] == `""`:
		return "must not be empty", nil
	case format == "":
		return clip(oneLine(err.Error())), nil
	}
	return clip(oneLine(fmt.Sprintf(format, args...))), nil
}

// userPositions are those of the error's positions that are in the policy, as
// CUE orders them.
func (e *evaluator) userPositions(err errors.Error) []Pos {
	var where []Pos
	for _, p := range append(err.InputPositions(), err.Position()) {
		at := position(p)
		if _, ok := e.order[at.File]; ok && p.IsValid() && !slices.Contains(where, at) {
			where = append(where, at)
		}
	}
	return where
}

// nearest is the place of the innermost field on the path that the policy has.
func (e *evaluator) nearest(path []string) Pos {
	for n := len(path); n > 0; n-- {
		v := e.user
		for _, name := range path[:n] {
			v = e.child(v, name)
		}
		if at := e.posOf(v); v.Exists() && at.Line > 0 {
			return at
		}
	}
	return Pos{File: e.files[0].Filename}
}

// child is the field of that name, or the policy's own.
func (e *evaluator) child(v cue.Value, name string) cue.Value {
	if c := lookup(v, name); c.Exists() {
		return c
	}
	switch {
	case strings.HasPrefix(name, "#"):
		return v.LookupPath(cue.MakePath(cue.Def(name)))
	case strings.HasPrefix(name, "_"):
		return v.LookupPath(cue.MakePath(cue.Hid(name, ":"+packageName)))
	}
	return cue.Value{}
}

// posOf is the place of the field that v is the value of: the first, if several
// places add to it, and its own rather than that of a pattern.
func (e *evaluator) posOf(v cue.Value) Pos {
	var best label
	for _, at := range e.labelsOf(v) {
		if best.Line == 0 || best.pattern && !at.pattern || best.pattern == at.pattern && e.compare(at.Pos, best.Pos) < 0 {
			best = at
		}
	}
	if best.Line > 0 {
		return best.Pos
	}
	return position(v.Pos())
}

// labelsOf are the places that add to the field that v is the value of.
func (e *evaluator) labelsOf(v cue.Value) []label {
	var list []label
	for _, a := range v.Attributes(cue.FieldAttr) {
		if n, err := strconv.Atoi(a.Contents()); a.Name() == fieldAttr && err == nil && n >= 0 && n < len(e.labels) {
			list = append(list, e.labels[n])
		}
	}
	return list
}

// valuePos is where a field's value is, rather than its label.
func valuePos(v cue.Value) Pos {
	if f, ok := v.Source().(*ast.Field); ok && f.Value != nil {
		return position(f.Value.Pos())
	}
	return position(v.Pos())
}

// Label is a name as CUE has it for a field, quoted if need be.
func Label(name string) string {
	keyword := token.Lookup(name) != token.IDENT
	if plain(name) && !keyword && !strings.HasPrefix(name, "_") && (name[0] < '0' || name[0] > '9') {
		return name
	}
	return literal.Label.Quote(name)
}

// Text is a string as CUE has it.
func Text(s string) string { return literal.String.Quote(s) }

// pathString is the path as CUE writes it, with names quoted that need it.
func pathString(path []string) string {
	var b strings.Builder
	for i, p := range path {
		switch {
		case strings.HasPrefix(p, "[") && strings.HasSuffix(p, "]"): // a pattern
		case !plain(strings.TrimPrefix(p, "#")):
			p = literal.Label.Quote(p)
		}
		if i > 0 && !strings.HasPrefix(p, "[") {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	return b.String()
}

// plain reports whether a name needs no quotes, or is an index of a list.
func plain(name string) bool {
	for _, r := range name {
		if r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return name != ""
}

// unquoted is a path as CUE's errors have it, as names.
func unquoted(path []string) []string {
	names := make([]string, len(path))
	for i, p := range path {
		names[i] = p
		if s, err := literal.Unquote(p); err == nil && strings.HasPrefix(p, `"`) {
			names[i] = s
		}
	}
	return names
}

// short is a value in a message.
func short(v cue.Value) string {
	switch v.IncompleteKind() {
	case cue.StructKind:
		return "{…}" // which could be a page
	case cue.ListKind:
		return "[…]"
	}
	return clip(oneLine(fmt.Sprint(v)))
}

// clip keeps what a message quotes from filling the screen.
func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func (e *evaluator) compare(a, b Pos) int { return comparePos(a, b, e.order) }
