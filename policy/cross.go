package policy

import (
	"slices"
	"time"

	"cuelang.org/go/cue"
)

// cross finds the mistakes that concern more than one field.
func (l *loader) cross() {
	servers := map[string]bool{}
	for name := range fields(l.user, "servers") {
		servers[name] = true
	}
	for profile, v := range fields(l.user, "profiles") {
		path := []string{"profiles", profile}
		l.crossTimeout(setting{v, of(of(l.defaults, "profiles"), profile)}, path)
		for name, mount := range fields(v, "servers") {
			at := append(slices.Clip(path), "servers", name)
			if !servers[name] {
				l.mistake(l.posOf(mount), at, "%s", unknownServer(name, "", "the policy defines none", sortedKeys(servers)))
			}
			l.crossTools(mount, append(at, "tools"))
		}
	}
}

// crossTimeout finds a default that is more than the maximum.
func (l *loader) crossTimeout(profile setting, path []string) {
	timeout := profile.field("timeout")
	least, most := timeout.field("default"), timeout.field("max")
	path = append(slices.Clip(path), "timeout", "default")
	if !least.written.Exists() || l.knows(path) {
		return
	}
	rest := ""
	if !most.written.Exists() {
		rest = " unless given"
	}
	if d, m := least.seconds(), most.seconds(); d > m && m > 0 {
		l.mistake(valuePos(least.written), path, "%d is more than timeout.max, which is %d%s", d/time.Second, m/time.Second, rest)
	}
}

// crossTools finds tools that are open with "...". CUE would allow every name
// of them; who means that can say so where it is seen.
func (l *loader) crossTools(mount cue.Value, path []string) {
	tools := lookup(mount, "tools")
	if tools.IncompleteKind() != cue.StructKind {
		return
	}
	closed := l.ctx.CompileString("close(tools)", cue.Scope(mount))
	if !closed.Allows(cue.AnyString) {
		return
	}
	it, err := tools.Fields(cue.Patterns(true))
	if err != nil {
		return
	}
	for it.Next() {
		if sel := it.Selector(); sel.ConstraintType() == cue.PatternConstraint && l.pattern(sel.Pattern()).any {
			return
		}
	}
	l.mistake(l.posOf(tools), path, `"..." would allow every tool: write [_]: {} if that is meant`)
}
