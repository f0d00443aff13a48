package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cuelang.org/go/cue"
)

// Warnings are what in the policy is allowed, and hardly what was meant, in the
// order of the files. A policy that says what it means has none.
func (p *Policy) Warnings() []Error {
	w := warner{evaluator: p.eval}
	w.mu.Lock()
	defer w.mu.Unlock()
	all := setting{w.user, w.defaults}
	for name, v := range fields(w.user, "profiles") {
		w.profile(name, setting{v, of(of(w.defaults, "profiles"), name)})
	}
	for names, v := range patterns(lookup(w.user, "profiles")) {
		w.everywhere(names, v)
	}
	for name := range fields(w.user, "servers") {
		w.server(name, all.field("servers").field(name))
	}
	return w.list.sorted(w.order)
}

// A warner finds what is hardly meant.
type warner struct {
	*evaluator
	list Errors
	seen []mounted
}

// mounted is a server as a profile that mounts it has it.
type mounted struct {
	profile, server string
	most            time.Duration // that a run of the profile may take
}

func (w *warner) warn(at Pos, path []string, format string, args ...any) {
	if at.Line == 0 {
		at = w.nearest(path)
	}
	w.list = append(w.list, Error{Pos: at, Path: pathString(path), Message: fmt.Sprintf(format, args...)})
}

// everywhere finds rules under a pattern of profiles: meant to restrict, they also
// allow, in profiles that did not.
func (w *warner) everywhere(names, v cue.Value) {
	pattern := w.pattern(names)
	path := []string{"profiles", pattern.written, "servers"}
	grants := func(server string, tools cue.Value) {
		at := append(slices.Clip(path), server, "tools")
		say := func(pos Pos, name string) {
			w.warn(pos, append(slices.Clip(at), name), "this allows the tool in every profile that %s matches, also where no other rule does", pattern.written)
		}
		for name, rule := range fields(tools) {
			say(w.posOf(rule), name)
		}
		for tool := range patterns(tools) {
			p := w.pattern(tool)
			say(p.Pos, p.written)
		}
	}
	servers := lookup(v, "servers")
	for server, m := range fields(servers) {
		grants(server, lookup(m, "tools"))
	}
	for server, m := range patterns(servers) {
		grants(w.pattern(server).written, lookup(m, "tools"))
	}
}

// server finds servers that nothing uses, and timeouts that no run reaches.
func (w *warner) server(name string, s setting) {
	path := []string{"servers", name}
	var longest *mounted
	for i, m := range w.seen {
		if m.server == name && (longest == nil || m.most > longest.most) {
			longest = &w.seen[i]
		}
	}
	if longest == nil {
		// Files of servers alone are vetted alone as well.
		if !s.field("disabled").truth() && lookup(w.user, "profiles").Exists() {
			w.warn(w.posOf(s.written), path, "no profile mounts this server")
		}
		return
	}
	for _, part := range []string{"start", "call"} {
		timeout := s.field("timeout").field(part)
		if timeout.written.Exists() && timeout.seconds() > longest.most {
			w.warn(valuePos(timeout.written), append(slices.Clone(path), "timeout", part),
				"%s s is more than any run has that could wait for it: timeout.max of profile %q is %s s", number(timeout), longest.profile, plainNumber(longest.most.Seconds()))
		}
	}
}

func (w *warner) profile(name string, p setting) {
	path := []string{"profiles", name}
	w.budget(p, path, p)
	w.folders(p.field("mounts"), append(slices.Clip(path), "mounts"))
	discovers := len(p.field("discover").elements()) > 0
	servers := lookup(p.written, "servers")
	for server, v := range fields(servers) {
		at := append(slices.Clip(path), "servers", server)
		w.seen = append(w.seen, mounted{name, server, p.field("timeout").field("max").seconds()})
		w.mount(server, v, at, p)
	}
	for names, v := range patterns(servers) {
		pattern := w.pattern(names)
		at := append(slices.Clip(path), "servers", pattern.written)
		used := discovers
		for server := range fields(servers) {
			used = used || pattern.matches(server)
		}
		if !used {
			w.warn(pattern.Pos, at, "it mounts nothing: patterns match discovered servers, and this profile has no discover")
			continue
		}
		if discovers {
			w.mount("", v, at, p)
		}
	}
}

// ways are places in which programs of the host are known to have sockets.
var ways = []string{
	"~/.gnupg", "~/.ssh/agent", "~/.docker/run", "~/.colima", "~/.lima", "~/.orbstack/run", "~/.rd", "~/.local/share/containers",
	"/tmp/.X11-unix", "/var/lib/docker", "/var/run", "/var/snap", "/var/spool/postfix", "/mnt/wslg",
}

// homes are the home folders of people, who are not all whoever runs the bridge.
var homes = regexp.MustCompile(`^(/root|/home/[^/]+|/Users/[^/]+)(/|$)`)

// folders finds mounts by which code could reach what listens on the host. An
// engine looks for itself, and refuses what it finds when a sandbox starts.
func (w *warner) folders(mounts setting, path []string) {
	for i, m := range mounts.elements() {
		source := m.field("source")
		name := strings.TrimSuffix(source.text(), "/")
		name = homes.ReplaceAllString(name, "~$2")
		if name == "/home" || name == "/Users" {
			name = "~"
		}
		for _, way := range ways {
			if strings.HasPrefix(way+"/", name+"/") {
				w.warn(valuePos(source.written), append(slices.Clone(path), strconv.Itoa(i), "source"),
					"%q has %s in it, where programs of the host listen on sockets; the profile does not start while there is one: name a folder of data alone", source.text(), way)
				break
			}
		}
	}
}

// mount finds mounted servers of which nothing can be called, and goes on to
// their rules. With a name of "" the server is any that a pattern matches.
func (w *warner) mount(server string, v cue.Value, path []string, profile setting) {
	w.budget(setting{written: v}, path, profile)
	m := w.evaluator.mount(server, v)
	if len(m.names)+len(m.patterns)+len(m.resources.names)+len(m.resources.patterns) == 0 {
		w.warn(w.posOf(v), path, "no tool of this server is allowed: tools: [_]: {} would allow every one")
		return
	}
	w.table(server, m, lookup(v, "tools"), append(slices.Clip(path), "tools"), profile)
	path = append(slices.Clip(path), "resources")
	w.table(server, m.resources, lookup(v, "resources"), path, profile)
	for _, p := range m.resources.patterns {
		if p.re != nil && !spelling(p.re).before {
			w.warn(p.Pos, append(slices.Clip(path), p.written), "it matches anywhere in a URI, in what follows ? or # as well: begin it with ^")
		}
	}
}

// table goes on to the rules of a server's tools, or resources.
func (w *warner) table(server string, m *mount, tools cue.Value, path []string, profile setting) {
	for name, rule := range m.names {
		if path[len(path)-1] == "tools" && strings.ContainsAny(name, "*?") {
			w.warn(w.posOf(toolValue(tools, name)), append(slices.Clip(path), name),
				"it is the name of one tool, and no pattern: that is a regular expression in brackets, such as [=~%q]", "^"+strings.Trim(name, "*?"))
		}
		w.rule(server, rule, toolValue(tools, name), append(slices.Clip(path), name), profile)
	}
	for _, p := range m.patterns {
		w.rule(server, p.ruling, p.body, append(slices.Clip(path), p.written), profile)
	}
	w.overlaps(m, tools, path)
}

// toolValue is what the policy says of a tool by its name, whether it is there
// or would only have to be.
func toolValue(tools cue.Value, name string) cue.Value {
	if v := lookup(tools, name); v.Exists() {
		return v
	}
	return tools.LookupPath(cue.MakePath(cue.Str(name).Optional()))
}

// rule finds timeouts and budgets of a rule that others overrule.
func (w *warner) rule(server string, r ruling, v cue.Value, path []string, profile setting) {
	s := setting{written: v}
	w.budget(s, path, profile)
	for argument, sum := range fields(v, "sum") {
		w.inOrder(setting{written: sum}, append(slices.Clip(path), "sum", argument))
	}
	timeout := s.field("timeout")
	if !timeout.written.Exists() || r.Timeout == 0 {
		return
	}
	at := append(slices.Clip(path), "timeout")
	if most := profile.field("timeout").field("max"); r.Timeout > most.seconds() {
		w.warn(valuePos(timeout.written), at, "%s s is more than a run of the profile may take, which is %s s", number(timeout), number(most))
		return
	}
	if _, ok := w.defined[server]; !ok {
		return // its timeouts are not the policy's
	}
	call := setting{w.user, w.defaults}.field("servers").field(server).field("timeout").field("call")
	if r.Timeout > call.seconds() {
		w.warn(valuePos(timeout.written), at, "%s s is more than the server's timeout.call, which is %s s", number(timeout), number(call))
	}
}

// budget finds limits of calls and bytes that others make pointless.
func (w *warner) budget(s setting, path []string, profile setting) {
	for _, part := range []string{"calls", "bytes"} {
		w.inOrder(s.field(part), append(slices.Clip(path), part))
	}
	parallel, most := s.field("calls").field("parallel"), profile.field("parallel")
	if n := parallel.limit(); parallel.written.Exists() && n > most.number() {
		w.warn(valuePos(parallel.written), append(slices.Clip(path), "calls", "parallel"),
			"%d is more than the profile's parallel, which is %d", n, most.number())
	}
}

// inOrder finds a limit for a run that is more than the one for a session.
func (w *warner) inOrder(s setting, path []string) {
	run, session := s.field("perRun"), s.field("perSession")
	if !run.written.Exists() || !session.written.Exists() {
		return
	}
	if run.most() > session.most() {
		w.warn(valuePos(run.written), append(slices.Clip(path), "perRun"), "%s is more than perSession, which is %s", number(run), number(session))
	}
}

// number is a setting that is one, as it is written.
func number(s setting) string { return plainNumber(s.fraction()) }

// overlaps finds rules that others leave without effect, or never fulfilled.
func (w *warner) overlaps(m *mount, tools cue.Value, path []string) {
	for i, p := range m.patterns {
		at := append(slices.Clip(path), p.written)
		if p.re != nil && matchesNothing(p.re.String()) {
			w.warn(p.Pos, at, "no name matches this pattern")
			continue
		}
		for j, q := range m.patterns {
			if i == j || p.own || q.own || !covers(q, p) || covers(p, q) && i < j {
				continue
			}
			if r := w.ruling("", "", p.Pos, p.body.Unify(q.body)); p.bad == "" && q.bad == "" && r.bad != "" {
				w.warn(p.Pos, at, "it allows no call: %s (%s) matches all of its names, and contradicts it: %s", q.written, q.Pos, r.bad)
			} else if r.bad == "" && saysNothing(p.body) && !counts(q.body) {
				w.warn(p.Pos, at, "it has no effect: %s (%s) matches all of its names, and what that says holds for them as well", q.written, q.Pos)
			} else {
				continue
			}
			break
		}
	}
	for name, rule := range m.names {
		at := append(slices.Clip(path), name)
		if rule.bad != "" {
			w.warn(rule.Pos, at, "it allows no call: %s", rule.bad)
		}
		w.exempt(m, name, toolValue(tools, name), at)
	}
}

// exempt finds a tool that is named without a word, and looks as if a pattern
// did not hold for it.
func (w *warner) exempt(m *mount, name string, tool cue.Value, path []string) {
	if !w.bare(tool) {
		return
	}
	for _, p := range m.patterns {
		if p.matches(name) && !saysNothing(p.body) && !counts(p.body) {
			w.warn(m.names[name].Pos, path, "it has no effect: what %s (%s) says holds for this tool as well", p.written, p.Pos)
			return
		}
	}
}

// bare reports whether nothing but {} is written of the field by its name.
func (w *warner) bare(v cue.Value) bool {
	named := false
	for _, at := range w.labelsOf(v) {
		if !at.pattern && !at.bare {
			return false
		}
		named = named || !at.pattern
	}
	return named
}

// saysNothing reports whether a rule only allows.
func saysNothing(rule cue.Value) bool {
	for name := range said(rule) {
		if name != "description" {
			return false
		}
	}
	return true
}

// counts reports whether a rule has a budget, which rules do not share.
func counts(rule cue.Value) bool {
	for name := range said(rule) {
		if name == "calls" || name == "bytes" || name == "sum" {
			return true
		}
	}
	return false
}

// said are the names of the fields that a rule says something of.
func said(rule cue.Value) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		it, err := rule.Fields(cue.Optional(true), cue.Patterns(true))
		if err != nil {
			return
		}
		for it.Next() {
			name := it.Selector().String()
			if it.Selector().ConstraintType() != cue.PatternConstraint && it.Selector().IsString() {
				name = it.Selector().Unquoted()
			}
			if !yield(name) {
				return
			}
		}
	}
}
