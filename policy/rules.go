package policy

import (
	"regexp"
	resyntax "regexp/syntax"
	"slices"
	"strings"
	"sync"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

// A Rule is the part of a policy that allows a tool.
type Rule struct {
	Pos Pos // of the tool's name, or of the bracket of the pattern of names
}

// A mount is a server as a profile mounts it: which of its tools may be
// called.
type mount struct {
	pos      Pos // of its tools, or where it is mounted without any
	names    map[string]Rule
	patterns []pattern // in the order of the files
	asker    *asker    // decides in place of the patterns, if it is there
	allows   []string  // the rules as a denial lists them
}

// A pattern is a rule for all tools with names that it matches.
type pattern struct {
	Rule
	text string
	any  bool
	re   *regexp.Regexp
	cue  cue.Value // a constraint of another kind
}

// rule is the rule that allows the tool, if there is one.
func (m *mount) rule(tool string) (Rule, bool) {
	if r, ok := m.names[tool]; ok {
		return r, true
	}
	if len(tool) > maxName {
		return Rule{}, false
	}
	if m.asker != nil {
		return m.asker.rule(tool)
	}
	for i := range m.patterns {
		if m.patterns[i].matches(tool) {
			return m.patterns[i].Rule, true
		}
	}
	return Rule{}, false
}

// maxName is the length of the longest tool's name that a pattern can allow.
const maxName = 512

// matches reports whether the tool has a name of the pattern.
func (p *pattern) matches(tool string) bool {
	switch {
	case p.any:
		return true
	case p.re != nil:
		return p.re.MatchString(tool)
	}
	return p.cue.Unify(cuecontext.New().Encode(tool)).Validate(cue.Concrete(true)) == nil
}

// An asker has CUE decide on names, where patterns are more than a regular
// expression each, or where definitions close what they are combined with.
type asker struct {
	patterns []pattern

	mu    sync.Mutex // cue.Value is not for concurrent use
	tools cue.Value
	known map[string]verdict // bounded: the names come from the sandbox
	asked int
}

type verdict struct {
	rule    Rule
	allowed bool
}

const (
	maxKnown = 4096

	// maxAsked bounds the questions to CUE, which keeps about a kilobyte of
	// every name for good. Beyond them what is not known is denied.
	maxAsked = 32_768
)

func (a *asker) rule(tool string) (Rule, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	v, ok := a.known[tool]
	if !ok && a.asked < maxAsked {
		a.asked++
		v = a.ask(tool)
		if len(a.known) >= maxKnown {
			clear(a.known)
		}
		a.known[strings.Clone(tool)] = v
	}
	return v.rule, v.allowed
}

// ask has CUE decide on a name.
func (a *asker) ask(tool string) (v verdict) {
	defer func() {
		if recover() != nil {
			v = verdict{} // a check that cannot be made is a denial
		}
	}()
	if !a.tools.Allows(cue.Str(tool)) {
		return verdict{}
	}
	for i := range a.patterns {
		if a.patterns[i].matches(tool) {
			return verdict{a.patterns[i].Rule, true}
		}
	}
	return verdict{}
}

// mount works out the rules of a mounted server. v is the user's own value: the
// schema allows every name of a tool.
func (l *loader) mount(v cue.Value) *mount {
	m := &mount{pos: l.posOf(v), names: map[string]Rule{}}
	tools := lookup(v, "tools")
	if !tools.Exists() {
		return m
	}
	m.pos = l.posOf(tools)
	tools, _ = tools.Default()
	it, err := tools.Fields(cue.Optional(true), cue.Patterns(true))
	if err != nil {
		return m
	}
	simple := !tools.IsClosed()
	written := map[string]Pos{}
	for it.Next() {
		sel := it.Selector()
		if sel.ConstraintType() == cue.PatternConstraint {
			p := l.pattern(sel.Pattern())
			simple = simple && !p.cue.Exists()
			m.patterns = append(m.patterns, p)
			written[p.text] = p.Pos
			continue
		}
		name := sel.Unquoted()
		if sel.ConstraintType() == cue.OptionalConstraint {
			if !tools.Allows(cue.Str(name)) {
				continue
			}
		}
		m.names[name] = Rule{l.posOf(it.Value())}
		written[name] = m.names[name].Pos
	}
	slices.SortStableFunc(m.patterns, func(a, b pattern) int { return l.compare(a.Pos, b.Pos) })
	m.allows = sortedKeys(written)
	slices.SortStableFunc(m.allows, func(a, b string) int { return l.compare(written[a], written[b]) })

	if !simple {
		m.asker = &asker{patterns: m.patterns, tools: tools, known: map[string]verdict{}}
	}
	return m
}

// pattern is the rule of a pattern of names.
func (l *loader) pattern(names cue.Value) pattern {
	p := pattern{Rule: Rule{position(names.Pos())}}
	if mark, ok := l.marks[p.Pos]; ok {
		p.Pos, p.text = mark.Pos, mark.text
	}
	op, args := names.Expr()
	switch {
	case op == cue.RegexMatchOp && len(args) == 1:
		expr, err := args[0].String()
		if err != nil {
			break
		}
		if p.re, err = regexp.Compile(expr); err != nil {
			break
		}
		p.text = regexpText(expr, p.text)
		return p
	case op == cue.NoOp && (p.text == "_" || p.text == "string"):
		p.any, p.text = true, "*"
		return p
	}
	p.cue = names
	return p
}

// regexpText is how a denial shows a regular expression: like a file pattern if
// it is a plain beginning, middle, or end.
func regexpText(expr, written string) string {
	re, err := resyntax.Parse(expr, resyntax.Perl)
	if err != nil {
		return written
	}
	parts := []*resyntax.Regexp{re}
	if re.Op == resyntax.OpConcat {
		parts = re.Sub
	}
	before, after := "*", "*"
	if parts[0].Op == resyntax.OpBeginText {
		before, parts = "", parts[1:]
	}
	if n := len(parts); n > 0 && parts[n-1].Op == resyntax.OpEndText {
		after, parts = "", parts[:n-1]
	}
	if len(parts) > 0 && isAnything(parts[0]) {
		before, parts = "*", parts[1:]
	}
	if n := len(parts); n > 0 && isAnything(parts[n-1]) {
		after, parts = "*", parts[:n-1]
	}
	if len(parts) != 1 || parts[0].Op != resyntax.OpLiteral || parts[0].Flags&resyntax.FoldCase != 0 {
		return written
	}
	return before + string(parts[0].Rune) + after
}

// isAnything reports whether the expression is .*
func isAnything(re *resyntax.Regexp) bool {
	return re.Op == resyntax.OpStar && (re.Sub[0].Op == resyntax.OpAnyChar || re.Sub[0].Op == resyntax.OpAnyCharNotNL)
}
