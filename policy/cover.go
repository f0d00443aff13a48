package policy

import (
	"regexp"
	resyntax "regexp/syntax"
	"strings"
)

// covers reports whether every name that q matches is known to match p. It
// looks at beginnings, ends and parts that a regular expression spells out.
func covers(p, q pattern) bool {
	if p.any {
		return true
	}
	if p.re == nil || q.re == nil {
		return false
	}
	wide, narrow := spelling(p.re), spelling(q.re)
	switch {
	case p.re.String() == q.re.String():
		return true
	case !wide.whole:
		return false
	case wide.before && wide.after:
		return narrow.whole && narrow.before && narrow.after && narrow.first == wide.first
	case wide.before:
		return narrow.before && strings.HasPrefix(narrow.first, wide.first)
	case wide.after:
		return narrow.after && strings.HasSuffix(narrow.last, wide.last)
	}
	return strings.Contains(narrow.first, wide.first) || strings.Contains(narrow.last, wide.first)
}

// spelt is what a regular expression spells out of its names: the first and the
// last part, and whether they are at the beginning and at the end.
type spelt struct {
	first, last   string
	before, after bool
	whole         bool // it is one part, and the rest is anything
}

func spelling(re *regexp.Regexp) spelt {
	tree, err := resyntax.Parse(re.String(), resyntax.Perl)
	if err != nil {
		return spelt{}
	}
	var s spelt
	parts := []*resyntax.Regexp{tree}
	if tree.Op == resyntax.OpConcat {
		parts = tree.Sub
	}
	if parts[0].Op == resyntax.OpBeginText {
		s.before, parts = true, parts[1:]
	}
	if n := len(parts); n > 0 && parts[n-1].Op == resyntax.OpEndText {
		s.after, parts = true, parts[:n-1]
	}
	if len(parts) > 0 && isAnything(parts[0]) {
		s.before, parts = false, parts[1:]
	}
	if n := len(parts); n > 0 && isAnything(parts[n-1]) {
		s.after, parts = false, parts[:n-1]
	}
	if len(parts) == 0 {
		return spelt{}
	}
	s.first, s.last = spells(parts[0]), spells(parts[len(parts)-1])
	s.whole = len(parts) == 1 && s.first != ""
	return s
}

func spells(re *resyntax.Regexp) string {
	if re.Op != resyntax.OpLiteral || re.Flags&resyntax.FoldCase != 0 {
		return ""
	}
	return string(re.Rune)
}

// matchesNothing reports whether no name matches the regular expression, such
// as a$b. Whether a place is at a word's or a line's end it does not look into.
func matchesNothing(expr string) bool {
	tree, err := resyntax.Parse(expr, resyntax.Perl)
	if err != nil {
		return false
	}
	prog, err := resyntax.Compile(tree.Simplify())
	if err != nil {
		return false
	}
	// A place in the program, whether characters came before it, and whether
	// none may come after it.
	type place struct {
		pc          uint32
		after, ends bool
	}
	seen := map[place]bool{}
	next := []place{{pc: uint32(prog.Start)}, {pc: uint32(prog.Start), after: true}}
	for len(next) > 0 {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		inst := prog.Inst[at.pc]
		to := place{inst.Out, at.after, at.ends}
		switch inst.Op {
		case resyntax.InstMatch:
			return false
		case resyntax.InstAlt, resyntax.InstAltMatch:
			next = append(next, to, place{inst.Arg, at.after, at.ends})
		case resyntax.InstCapture, resyntax.InstNop:
			next = append(next, to)
		case resyntax.InstEmptyWidth:
			if resyntax.EmptyOp(inst.Arg)&resyntax.EmptyBeginText != 0 && at.after {
				continue
			}
			to.ends = to.ends || resyntax.EmptyOp(inst.Arg)&resyntax.EmptyEndText != 0
			next = append(next, to)
		case resyntax.InstRune, resyntax.InstRune1, resyntax.InstRuneAny, resyntax.InstRuneAnyNotNL:
			if !at.ends {
				to.after = true
				next = append(next, to)
			}
		}
	}
	return true
}

// isAnything reports whether the expression is .*
func isAnything(re *resyntax.Regexp) bool {
	return re.Op == resyntax.OpStar && (re.Sub[0].Op == resyntax.OpAnyChar || re.Sub[0].Op == resyntax.OpAnyCharNotNL)
}
