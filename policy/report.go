package policy

import (
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
)

func (l *loader) report(err error, known map[string]bool) map[string]bool {
	for _, e := range errors.Errors(err) {
		l.errs = append(l.errs, Error{l.userPos(e), pathString(e.Path()), oneLine(e.Error())})
	}
	return known
}

// userPos is the first of the error's positions that is in a user's file.
func (l *loader) userPos(e errors.Error) Pos {
	for _, p := range errors.Positions(e) {
		if at := position(p); at.File != schemaFile && at.File != defaultsFile {
			return at
		}
	}
	return Pos{}
}
func (l *loader) reportAt(err error, path []string) {
	for _, e := range errors.Errors(err) {
		l.errs = append(l.errs, Error{l.userPos(e), pathString(append(path, e.Path()...)), oneLine(e.Error())})
	}
}

// posOf is the place of the field that v is the value of.
func (l *loader) posOf(v cue.Value) Pos {
	var best label
	for _, a := range v.Attributes(cue.FieldAttr) {
		n, err := strconv.Atoi(a.Contents())
		if a.Name() != fieldAttr || err != nil || n >= len(l.labels) {
			continue
		}
		at := l.labels[n]
		if best.Line == 0 || best.pattern && !at.pattern || best.pattern == at.pattern && l.compare(at.Pos, best.Pos) < 0 {
			best = at
		}
	}
	if best.Line > 0 {
		return best.Pos
	}
	return position(v.Pos())
}

func (l *loader) compare(a, b Pos) int { return comparePos(a, b, l.order) }
func comparePos(a, b Pos, order map[string]int) int {
	if d := order[a.File] - order[b.File]; d != 0 {
		return d
	}
	if d := a.Line - b.Line; d != 0 {
		return d
	}
	return a.Col - b.Col
}

func pathString(path []string) string { return strings.Join(path, ".") }
