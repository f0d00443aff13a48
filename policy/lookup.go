package policy

// Rule is the rule under which calls of a tool are allowed, if there is one,
// whatever it wants of their arguments.
func (p *Profile) Rule(server, tool string) (Rule, bool) {
	m, ok := p.allow[server]
	if !ok {
		return Rule{}, false
	}
	r, ok := m.rule(tool)
	return r.Rule, ok && r.bad == ""
}
