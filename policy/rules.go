package policy

import (
	"regexp"
	resyntax "regexp/syntax"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

// A mount is a server as a profile mounts it: which of its tools may be
// called. Its resources are a table of the same kind, of the URIs that may be
// read.
type mount struct {
	pos      Pos // of its tools, or where it is mounted without any
	longest  int // bytes of a name that a pattern can allow
	budget   Budget
	names    map[string]ruling
	patterns []pattern // in the order of the files
	merger   *merger   // of patterns that match the same tool
	asker    *asker    // decides in place of the patterns, if it is there
	allows   []string  // the rules as a denial lists them

	resources *mount // nil for resources themselves
}

// A pattern is a rule for all tools with names that it matches.
type pattern struct {
	ruling
	text    string // as a denial shows it
	written string // as the policy has it, in brackets
	any     bool
	re      *regexp.Regexp
	cue     cue.Value // a constraint of another kind
	body    cue.Value
	own     bool // the body refers to the name
}

// rule is the rule that allows the tool, if there is one.
func (m *mount) rule(tool string) (ruling, bool) {
	if r, ok := m.names[tool]; ok {
		return r, true
	}
	if len(tool) > m.longest {
		return ruling{}, false
	}
	if m.asker != nil {
		return m.asker.rule(tool)
	}
	first, matched := -1, 0
	var set patternSet
	for i := range m.patterns {
		if m.patterns[i].matches(tool) {
			if matched++; first < 0 {
				first = i
			}
			set.add(i)
		}
	}
	switch matched {
	case 0:
		return ruling{}, false
	case 1:
		if r := m.patterns[first].ruling; r.args == nil {
			return r, true
		}
	}
	m.merger.mu.Lock()
	defer m.merger.mu.Unlock()
	return m.merger.merge(set, tool), true
}

// The lengths of the longest names of tools, and of the longest URIs, that a
// pattern can allow.
const (
	maxName = 512
	maxURI  = 2048
)

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

// mount works out the rules of a mounted server. v is the user's own value: the
// schema allows every name of a tool.
func (l *loader) mount(server string, v cue.Value) *mount {
	m := l.table(server, v, "tools", maxName)
	m.budget = l.budget(setting{written: v})
	m.resources = l.table(server+"\x00resources", v, "resources", maxURI)
	return m
}

// table works out the rules of one of a mount's fields.
func (l *loader) table(server string, v cue.Value, field string, longest int) *mount {
	m := &mount{pos: l.posOf(v), longest: longest, names: map[string]ruling{}}
	tools := lookup(v, field)
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
	var optional []string
	for it.Next() {
		sel := it.Selector()
		if sel.ConstraintType() == cue.PatternConstraint {
			p := l.pattern(sel.Pattern())
			p.body = it.Value()
			p.ruling = l.ruling(server, p.written, p.Pos, p.body)
			simple = simple && !p.cue.Exists() && !p.own
			m.patterns = append(m.patterns, p)
			written[p.text] = p.Pos
			continue
		}
		name := sel.Unquoted()
		at := l.posOf(it.Value())
		if sel.ConstraintType() == cue.OptionalConstraint {
			if !tools.Allows(cue.Str(name)) {
				continue
			}
			optional = append(optional, name)
		}
		m.names[name] = l.ruling(server, name, at, it.Value()).in(tools, name)
		written[name] = at
	}
	slices.SortStableFunc(m.patterns, func(a, b pattern) int { return l.compare(a.Pos, b.Pos) })
	m.allows = sortedKeys(written)
	slices.SortStableFunc(m.allows, func(a, b string) int { return l.compare(written[a], written[b]) })

	m.merger = &merger{loader: l, server: server, tools: tools, patterns: m.patterns, merged: map[patternSet]ruling{}}
	for _, name := range optional {
		// CUE unifies what patterns say with fields that are there alone.
		m.names[name] = l.ruling(server, name, written[name], m.merger.field(name)).in(tools, name)
	}
	if !simple {
		m.asker = &asker{merger: m.merger, tools: tools, known: map[string]verdict{}}
	}
	return m
}

// pattern is the rule of a pattern of names.
func (l *loader) pattern(names cue.Value) pattern {
	p := pattern{}
	p.Pos = position(names.Pos())
	if mark, ok := l.marks[p.Pos]; ok {
		p.Pos, p.text, p.own = mark.Pos, mark.text, mark.alias
	}
	p.written = "[" + p.text + "]"
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
