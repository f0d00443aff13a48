package policy

import (
	"fmt"
	"slices"
	"strings"

	"bridge/definition"

	"cuelang.org/go/cue"
)

// Live compares the profile's rules for a server with the tools that it has. The
// mistakes are rules that allow nothing, or not what they say; what may be meant
// is among the warnings.
func (p *Profile) Live(server string, tools []definition.Tool) (mistakes, warnings []Error) {
	m, ok := p.allow[server]
	if !ok || m.merger == nil {
		return nil, nil
	}
	v := &live{
		evaluator: m.merger.evaluator, mount: m, tools: tools, rules: map[string]ruling{},
		path: []string{"profiles", p.Name, "servers", server, "tools"},
	}
	for _, t := range tools {
		if r, ok := m.rule(t.Name); ok {
			v.rules[t.Name] = r
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, name := range sortedKeys(m.names) {
		v.name(name)
	}
	for i := range m.patterns {
		v.pattern(&m.patterns[i])
	}
	v.shadowed()
	return v.mistakes.sorted(v.order), v.warnings.sorted(v.order)
}

// live vets the rules of one mounted server.
type live struct {
	*evaluator
	mount *mount
	tools []definition.Tool
	rules map[string]ruling // that hold for the tools
	path  []string

	mistakes, warnings Errors
}

// say adds to a list what is wrong with the field at the path of a rule.
func (v *live) say(list *Errors, at Pos, path []string, format string, args ...any) {
	path = append(slices.Clone(v.path), path...)
	*list = append(*list, Error{Pos: at, Path: pathString(path), Message: fmt.Sprintf(format, args...)})
}

// name vets the rule of one tool.
func (v *live) name(name string) {
	rule := v.mount.names[name]
	var all []string
	i := slices.IndexFunc(v.tools, func(t definition.Tool) bool { return t.Name == name })
	if i < 0 {
		for _, t := range v.tools {
			all = append(all, t.Name)
		}
		v.say(&v.mistakes, rule.Pos, []string{name}, "the server has no such tool%s", DidYouMean(name, all))
		return
	}
	tools := v.mount.merger.tools
	value := lookup(tools, name)
	if !value.Exists() {
		value = tools.LookupPath(cue.MakePath(cue.Str(name).Optional()))
	}
	if misfit := rule.Fits(v.tools[i]); misfit != nil && rule.bad == "" {
		at := rule.Pos
		if f := lookup(value, misfit.Field); f.Exists() {
			at = valuePos(f)
		}
		v.say(&v.mistakes, at, []string{name, misfit.Field}, "%s", misfit.Why)
	}
	v.arguments(name, value, v.tools[i:i+1], true)
}

// pattern vets the rule of all tools that it matches.
func (v *live) pattern(p *pattern) {
	var matched []definition.Tool
	fits, whys := false, []string{}
	for _, t := range v.tools {
		rule, ok := v.rules[t.Name]
		if !ok || !p.matches(t.Name) {
			continue
		}
		matched = append(matched, t)
		if _, named := v.mount.names[t.Name]; rule.bad != "" && !named && rule.Pos == p.Pos {
			v.say(&v.warnings, p.Pos, []string{p.written}, "%s is denied: %s", t.Name, rule.bad)
		}
		if misfit := rule.Fits(t); misfit != nil {
			whys = append(whys, t.Name+": "+misfit.Why)
		} else {
			fits = true
		}
	}
	if len(matched) == 0 {
		v.say(&v.warnings, p.Pos, []string{p.written}, "no tool of the server matches this pattern")
		return
	}
	if !fits {
		v.say(&v.mistakes, p.Pos, []string{p.written}, "no tool that it matches is as the rule requires: %s", clip(strings.Join(whys, "; ")))
	}
	if !p.own {
		v.arguments(p.written, p.body, matched, false)
	}
}

// shadowed finds patterns that only allow, where each of the tools has another
// rule.
func (v *live) shadowed() {
	gone := map[int]bool{}
	for i := len(v.mount.patterns) - 1; i >= 0; i-- {
		p := &v.mount.patterns[i]
		if p.own || !saysNothing(p.body) {
			continue
		}
		var by []string
		matched := false
		for _, t := range v.tools {
			if !p.matches(t.Name) {
				continue
			}
			matched = true
			other := v.other(i, t.Name, gone)
			if other == "" {
				by = nil
				break
			}
			if !slices.Contains(by, other) {
				by = append(by, other)
			}
		}
		if matched && len(by) > 0 {
			gone[i] = true
			v.say(&v.warnings, p.Pos, []string{p.written}, "it has no effect: each tool that it matches has another rule: %s", clip(strings.Join(by, ", ")))
		}
	}
}

// other is a rule beside the pattern that the tool has, "" if there is none, or
// if it is another with the pattern than without.
func (v *live) other(pattern int, tool string, gone map[int]bool) string {
	if _, ok := v.mount.names[tool]; ok {
		return tool
	}
	for j := range v.mount.patterns {
		q := &v.mount.patterns[j]
		if j != pattern && !gone[j] && q.matches(tool) && !counts(q.body) {
			return q.written
		}
	}
	return ""
}
