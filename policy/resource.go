package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// CheckRead decides on reading a resource of a server. Its errors are those of
// CheckCall.
func (p *Profile) CheckRead(server, uri string) (Rule, error) {
	m, ok := p.allow[server]
	if !ok {
		return Rule{}, p.unknown(server)
	}
	m = m.resources
	deny := func(at Pos, reason string) (Rule, error) {
		return Rule{}, &Denial{Server: server, Tool: uri, Resource: true, Profile: p.Name, Pos: at, Allows: m.allows, Reason: reason}
	}
	rule, ok := m.rule(uri)
	if !ok {
		return deny(m.pos, "")
	}
	if _, named := m.names[uri]; !named && wanders(uri) {
		return deny(rule.Pos, "it has . or .. in its path, and servers may take it for another")
	}
	if rule.bad != "" {
		return deny(rule.Pos, rule.bad)
	}
	return rule.Rule, nil
}

var escaped = regexp.MustCompile(`%[0-9a-fA-F]{2}`)

// wanders tells whether a URI has a segment that stands for another: the one
// above it, or none. A pattern sees the text, and a server where it leads: some
// unescape it twice, and take what follows a ? for a part of the path, and
// readers of URLs leave out tabs, ends of lines, and spaces at the end.
func wanders(uri string) bool {
	for escaped.MatchString(uri) {
		uri = escaped.ReplaceAllStringFunc(uri, func(e string) string {
			b, _ := strconv.ParseUint(e[1:], 16, 8)
			return string([]byte{byte(b)})
		})
	}
	segments := strings.FieldsFunc(uri, func(r rune) bool { return strings.ContainsRune("/\\?#;\x00", r) })
	return slices.ContainsFunc(segments, func(s string) bool {
		s = strings.Trim(strings.Map(func(r rune) rune {
			if r < ' ' {
				return -1
			}
			return r
		}, s), " ")
		return s == "." || s == ".."
	})
}

// ReadsResources reports whether the profile may allow anything of the server's
// resources.
func (p *Profile) ReadsResources(server string) bool {
	m, ok := p.allow[server]
	return ok && len(m.resources.names)+len(m.resources.patterns) > 0
}

// AllowsTemplate reports whether the profile may allow a resource with a URI of
// the template. Where that cannot be told, it may.
func (p *Profile) AllowsTemplate(server, template string) bool {
	m, ok := p.allow[server]
	if !ok {
		return false
	}
	for uri := range m.resources.names {
		if gives(template, uri) {
			return true
		}
	}
	return slices.ContainsFunc(m.resources.patterns, func(p pattern) bool { return p.meets(template) })
}

var blank = regexp.MustCompile(`\{[^{}]*\}`)

// gives reports whether a template has a URI of its own, whatever its variables
// may be.
func gives(template, uri string) bool {
	parts := blank.Split(template, -1)
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	re, err := regexp.Compile("^(?s:" + strings.Join(parts, ".*") + ")$")
	return err != nil || re.MatchString(uri)
}

// meets reports whether a URI of the template may match the pattern. It knows
// the beginnings of both.
func (p *pattern) meets(template string) bool {
	if p.re == nil {
		return true
	}
	begin, _, _ := strings.Cut(template, "{")
	s := spelling(p.re)
	return !s.before || strings.HasPrefix(s.first, begin) || strings.HasPrefix(begin, s.first)
}

// ResourceRules are those of a mounted server's resources, in the order of the
// policy.
func (p *Profile) ResourceRules(server string) ([]RuleText, error) {
	m, ok := p.allow[server]
	if !ok {
		return nil, p.unknown(server)
	}
	return m.resources.texts(), nil
}

// LiveResources holds the profile's rules for the resources of a server against
// those that it lists, and its templates. A server can have more than it lists,
// so that all that is found are warnings.
func (p *Profile) LiveResources(server string, uris, templates []string) []Error {
	m, ok := p.allow[server]
	if !ok || m.resources.merger == nil {
		return nil
	}
	m = m.resources
	v := &live{evaluator: m.merger.evaluator, path: []string{"profiles", p.Name, "servers", server, "resources"}}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, uri := range sortedKeys(m.names) {
		if !slices.Contains(uris, uri) && !slices.ContainsFunc(templates, func(t string) bool { return gives(t, uri) }) {
			v.say(&v.warnings, m.names[uri].Pos, []string{uri}, "the server lists no such resource%s", DidYouMean(uri, uris))
		}
	}
	for i := range m.patterns {
		p := &m.patterns[i]
		if !slices.ContainsFunc(uris, p.matches) && !slices.ContainsFunc(templates, p.meets) {
			v.say(&v.warnings, p.Pos, []string{p.written}, "no resource that the server lists matches this pattern, and no template of the server can give one that does")
		}
	}
	return v.warnings.sorted(v.order)
}

// subject is what a denial is of.
func (d *Denial) subject() string {
	if d.Resource {
		return fmt.Sprintf("resource %s of %s", shorten(d.Tool), shorten(d.Server))
	}
	return shorten(d.Server) + "." + shorten(d.Tool)
}
