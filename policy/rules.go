package policy

import (
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strings"

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
func (e *evaluator) mount(server string, v cue.Value) *mount {
	m := e.table(server, v, "tools", maxName)
	m.budget = e.budget(setting{written: v})
	m.resources = e.table(server+"\x00resources", v, "resources", maxURI)
	return m
}

// table works out the rules of one of a mount's fields.
func (e *evaluator) table(server string, v cue.Value, field string, longest int) *mount {
	m := &mount{pos: e.posOf(v), longest: longest, names: map[string]ruling{}}
	tools := lookup(v, field)
	if !tools.Exists() {
		return m
	}
	m.pos = e.posOf(tools)
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
			p := e.pattern(sel.Pattern())
			p.body = it.Value()
			p.ruling = e.ruling(server, p.written, p.Pos, p.body)
			simple = simple && !p.cue.Exists() && !p.own
			m.patterns = append(m.patterns, p)
			written[p.text] = p.Pos
			continue
		}
		name := sel.Unquoted()
		at := e.posOf(it.Value())
		if sel.ConstraintType() == cue.OptionalConstraint {
			if !tools.Allows(cue.Str(name)) {
				continue
			}
			optional = append(optional, name)
		}
		m.names[name] = e.ruling(server, name, at, it.Value()).in(tools, name)
		written[name] = at
	}
	slices.SortStableFunc(m.patterns, func(a, b pattern) int { return e.compare(a.Pos, b.Pos) })
	m.allows = sortedKeys(written)
	slices.SortStableFunc(m.allows, func(a, b string) int { return e.compare(written[a], written[b]) })

	m.merger = &merger{evaluator: e, server: server, tools: tools, patterns: m.patterns, merged: map[patternSet]ruling{}}
	for _, name := range optional {
		// CUE unifies what patterns say with fields that are there alone.
		m.names[name] = e.ruling(server, name, written[name], m.merger.field(name)).in(tools, name)
	}
	if !simple {
		m.asker = &asker{merger: m.merger, tools: tools, known: map[string]verdict{}}
	}
	return m
}

// pattern is the rule of a pattern of names.
func (e *evaluator) pattern(names cue.Value) pattern {
	p := pattern{}
	p.Pos = position(names.Pos())
	if mark, ok := e.marks[p.Pos]; ok {
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
		return p
	case op == cue.NoOp && (p.text == "_" || p.text == "string"):
		p.any = true
		return p
	}
	p.cue = names
	return p
}

// maxPatterns bounds the patterns of one server's tools.
const maxPatterns = 256

// A patternSet is which of a server's patterns a name matches.
type patternSet [maxPatterns / 64]uint64

func (s *patternSet) add(i int) { s[i/64] |= 1 << (i % 64) }

// all are the members, in order.
func (s *patternSet) all(yield func(int) bool) {
	for word, set := range s {
		for ; set != 0; set &= set - 1 {
			if !yield(word*64 + bits.TrailingZeros64(set)) {
				return
			}
		}
	}
}

// A merger works out the rules of tools that several patterns match: their
// unification, as CUE would have it for a field with such a name. There are as
// many as the policy has sets of patterns with a name in common, however many
// names the sandbox asks for.
type merger struct {
	*evaluator // its mu is held by whoever asks
	server     string
	tools      cue.Value
	patterns   []pattern
	merged     map[patternSet]ruling
}

// merge is the rule of tools that match those patterns, such as this one.
func (m *merger) merge(matched patternSet, tool string) ruling {
	if r, ok := m.merged[matched]; ok {
		return r
	}
	if len(m.merged) == maxKnown {
		return ruling{bad: fmt.Sprintf("more than %d sets of patterns have names in common", maxKnown)}
	}
	r := m.byName(matched, tool)
	m.merged[matched] = r
	return r
}

// byName is the rule of a tool as CUE has it once there is a field of that name.
// The patterns' own values would not tell what definitions close.
func (m *merger) byName(matched patternSet, tool string) ruling {
	id := ""
	at := Pos{}
	for i := range matched.all {
		if id == "" {
			at = m.patterns[i].Pos
		}
		id += m.patterns[i].written
	}
	tool = strings.Clone(tool)
	return m.ruling(m.server, id, at, m.field(tool)).in(m.tools, tool)
}

// field is the tool's, were there one.
func (m *merger) field(tool string) cue.Value {
	return lookup(m.tools.FillPath(cue.MakePath(cue.Str(tool)), m.ctx.CompileString("{}")), tool)
}

// An asker has CUE decide on names, where patterns are more than a regular
// expression each, or where definitions close what they are combined with.
type asker struct {
	*merger
	tools cue.Value
	known map[string]verdict // bounded: the names come from the sandbox
	asked int
}

type verdict struct {
	rule    ruling
	allowed bool
}

const (
	maxKnown = 4096

	// maxAsked bounds the questions to CUE, which keeps about a kilobyte of
	// every name for good. Beyond them what is not known is denied.
	maxAsked = 32_768
)

func (a *asker) rule(tool string) (ruling, bool) {
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
	var matched patternSet
	own := false
	for i := range a.patterns {
		if a.patterns[i].matches(tool) {
			matched.add(i)
			own = own || a.patterns[i].own
		}
	}
	if matched == (patternSet{}) {
		return verdict{}
	}
	if own {
		return verdict{a.byName(matched, tool), true}
	}
	return verdict{a.merge(matched, tool), true}
}
