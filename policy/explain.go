package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/format"
)

// A Setting is a field of a profile that has a value.
type Setting struct {
	Field  string `json:"field"` // such as limits.memory
	Value  string `json:"value"` // as CUE
	Source string `json:"source"`
}

// A RuleText is a rule as the policy has it.
type RuleText struct {
	Name string `json:"name"` // of the tool, or the pattern of names in brackets
	Pos  Pos    `json:"-"`
	Text string `json:"text"` // as CUE, in several lines
}

// An origin is what a profile was made of.
type origin struct {
	*evaluator
	setting
	pos Pos
}

// Pos is where the profile is written.
func (p *Profile) Pos() Pos {
	if p.from == nil {
		return Pos{}
	}
	return p.from.pos
}

// Settings are the profile's fields, but for its servers, in the order of the
// schema. The source of each is its place in the policy, a variable of the
// environment, or "default".
func (p *Profile) Settings() []Setting {
	if p.from == nil {
		return nil
	}
	p.from.mu.Lock()
	defer p.from.mu.Unlock()
	schema := p.from.ctx.CompileString(schemaSource).LookupPath(cue.ParsePath("#Profile"))
	return p.settings(schema, p.from.setting, "")
}

func (p *Profile) settings(schema cue.Value, s setting, path string) []Setting {
	it, err := schema.Fields(cue.Optional(true))
	if err != nil {
		return nil
	}
	var list []Setting
	for it.Next() {
		name := it.Selector().Unquoted()
		at := strings.TrimPrefix(path+"."+name, ".")
		f := s.field(name)
		switch {
		case at == "servers" || !f.value().Exists():
		case it.Value().IncompleteKind() == cue.StructKind:
			list = append(list, p.settings(it.Value(), f, at)...)
		default:
			list = append(list, Setting{at, p.shown(at, f.value()), p.source(at, f)})
		}
	}
	return list
}

// shown is the value of a field, with a multiplier if it is a size.
func (p *Profile) shown(field string, v cue.Value) string {
	if field == "timeout.default" {
		return fmt.Sprint(int(p.Timeout.Default / time.Second))
	}
	name := field[strings.LastIndex(field, ".")+1:]
	n, err := v.Int64()
	if err == nil && slices.Contains([]string{"memory", "tmp", "workspace", "shm", "output", "bytes"}, name) {
		for _, unit := range []string{"Gi", "Mi", "Ki"} {
			if size := int64(1) << (10 * (1 + strings.Index("KMGT", unit[:1]))); n >= size && n%size == 0 {
				return fmt.Sprintf("%d%s", n/size, unit)
			}
		}
	}
	return oneLine(fmt.Sprint(v))
}

// source is what has set a field.
func (p *Profile) source(field string, f setting) string {
	if variable, ok := p.chosen[field]; ok {
		return variable
	}
	at := p.from.posOf(f.written)
	if !f.written.Exists() || f.usual.Exists() && !isOwn(f.written) {
		if most := p.from.field("timeout").field("max"); field == "timeout.default" && p.Timeout.Default < f.seconds() {
			return "timeout.max, " + p.source("timeout.max", most)
		}
		if f.written.Exists() {
			return fmt.Sprintf("default, in %s (%s)", short(f.written), at)
		}
		return "default"
	}
	return at.String()
}

// isOwn reports whether the policy gives the field a value, rather than a choice.
func isOwn(v cue.Value) bool {
	d, _ := v.Default()
	return d.IsConcrete()
}

// Rules are those of a mounted server, in the order of the policy.
func (p *Profile) Rules(server string) ([]RuleText, error) {
	m, ok := p.allow[server]
	if !ok {
		return nil, p.unknown(server)
	}
	return m.texts(), nil
}

// texts are the rules, in the order of the policy.
func (m *mount) texts() []RuleText {
	if m.merger == nil {
		return nil
	}
	m.merger.mu.Lock()
	defer m.merger.mu.Unlock()
	var list []RuleText
	for name, r := range m.names {
		list = append(list, r.text(name))
	}
	for i := range m.patterns {
		list = append(list, m.patterns[i].ruling.text(m.patterns[i].written))
	}
	slices.SortFunc(list, func(a, b RuleText) int { return m.merger.compare(a.Pos, b.Pos) })
	return list
}

// RulesFor are those of the server's rules that a tool has, by its name and by
// the patterns that its name matches, and what they come to together. It has a
// *Denial if there are none.
func (p *Profile) RulesFor(server, tool string) (list []RuleText, together RuleText, err error) {
	rules, err := p.Rules(server)
	if err != nil {
		return nil, RuleText{}, err
	}
	m := p.allow[server]
	r, ok := m.rule(tool)
	if !ok || r.bad != "" {
		_, err := p.CheckCall(server, tool, nil)
		return nil, RuleText{}, err
	}
	m.merger.mu.Lock()
	defer m.merger.mu.Unlock()
	for _, rule := range rules {
		i := slices.IndexFunc(m.patterns, func(p pattern) bool { return p.written == rule.Name && p.Pos == rule.Pos })
		if rule.Name == tool && i < 0 || i >= 0 && m.patterns[i].matches(tool) {
			list = append(list, rule)
		}
	}
	return list, r.text(tool), nil
}

// text is what the rule says.
func (r ruling) text(name string) RuleText {
	return RuleText{Name: name, Pos: r.Pos, Text: written(r.value)}
}

// written is a value as CUE has it.
func written(v cue.Value) string {
	text, err := format.Node(v.Syntax(cue.Raw(), cue.Docs(false), cue.Attributes(false)), format.Simplify())
	if err != nil {
		return "{…}"
	}
	return string(text)
}
