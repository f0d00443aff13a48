package policy

import (
	"maps"
	"slices"
	"time"

	"bridge/definition"

	"cuelang.org/go/cue"
)

// A finder mounts servers that the policy does not define, where a profile
// names them or has a pattern for their names.
type finder struct {
	*evaluator
	servers cue.Value // of the profile
}

// WithServers is the profile with those of the servers found that its servers
// name, or have a pattern for, and that the policy does not define itself. Of
// several with one name it takes the first.
func (p *Profile) WithServers(found []definition.Server) *Profile {
	q := *p
	q.Servers = slices.Clone(p.Servers)
	q.allow = maps.Clone(p.allow)
	if p.finder == nil {
		return &q
	}
	for _, s := range found {
		if _, ok := q.allow[s.Name]; ok {
			continue
		}
		m := p.finder.mounted(s.Name)
		if m == nil {
			continue
		}
		usual := server(s.Name, setting{usual: of(of(p.finder.defaults, "servers"), s.Name)})
		s.StartTimeout = orElse(s.StartTimeout, usual.StartTimeout)
		s.CallTimeout = orElse(s.CallTimeout, usual.CallTimeout)
		q.Servers = append(q.Servers, s)
		q.allow[s.Name] = m
	}
	slices.SortFunc(q.Servers, byName)
	return &q
}

// Undefined are the servers that the profile names and that neither the policy
// defines nor WithServers was given.
func (p *Profile) Undefined() []Error {
	if p.finder == nil {
		return nil
	}
	p.finder.mu.Lock()
	defer p.finder.mu.Unlock()
	var list Errors
	for name, v := range fields(p.finder.servers) {
		_, defined := p.finder.defined[name]
		if _, mounted := p.allow[name]; defined || mounted {
			continue
		}
		list = append(list, Error{
			Pos: p.finder.posOf(v), Path: pathString([]string{"profiles", p.Name, "servers", name}),
			Message: "the policy does not define this server, and it is not among those that the profile discovers" + DidYouMean(name, sortedKeys(p.allow)),
		})
	}
	return list.sorted(p.finder.order)
}

// WithoutServers is the profile with no servers: it mounts none, and finds none.
func (p *Profile) WithoutServers() *Profile {
	q := *p
	q.Servers, q.Discover, q.allow, q.finder = nil, nil, nil, nil
	return &q
}

// orElse is the time, or what it usually is if it is none.
func orElse(d, usual time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return usual
}

// mounted is how the profile mounts a server that was found, or nil if it does
// not.
func (f *finder) mounted(name string) *mount {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.defined[name]; ok || !isServerName(name) {
		return nil
	}
	if v := lookup(f.servers, name); v.Exists() {
		return f.mount(name, v)
	}
	matched := false
	for pattern := range patterns(f.servers) {
		p := f.pattern(pattern)
		matched = matched || p.matches(name)
	}
	if !matched || !f.servers.Allows(cue.Str(name)) {
		return nil
	}
	v := lookup(f.servers.FillPath(cue.MakePath(cue.Str(name)), f.ctx.CompileString("{}")), name)
	if v.Validate() != nil {
		return nil // patterns that contradict each other mount nothing
	}
	return f.mount(name, v)
}
