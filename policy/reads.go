package policy

// ReadsArguments reports whether the rule for a tool looks at a call's
// arguments, so that only with them there is a decision.
func (p *Profile) ReadsArguments(server, tool string) bool {
	m, ok := p.allow[server]
	if !ok {
		return false
	}
	rule, ok := m.rule(tool)
	return ok && rule.args != nil
}
