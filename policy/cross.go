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
		l.crossTimeout(v, path)
		for name, mount := range fields(v, "servers") {
			at := append(slices.Clip(path), "servers", name)
			if !servers[name] {
				l.mistake(l.posOf(mount), at, "%s", unknownServer(name, "", sortedKeys(servers)))
			}
			l.crossTools(mount, append(at, "tools"))
		}
	}
}

// crossTimeout finds a default that is more than the maximum.
func (l *loader) crossTimeout(profile cue.Value, path []string) {
	least, most := lookup(profile, "timeout", "default"), lookup(profile, "timeout", "max")
	path = append(slices.Clip(path), "timeout", "default")
	if !least.Exists() || l.knows(path) {
		return
	}
	usual := of(of(of(of(l.defaults, "profiles"), ""), "timeout"), "max")
	rest := " unless given"
	if most.Exists() {
		usual, rest = most.Unify(usual), ""
	}
	if d, m := seconds(least), seconds(usual); d > m && m > 0 {
		l.mistake(valuePos(least), path, "%d is more than timeout.max, which is %d%s", d/time.Second, m/time.Second, rest)
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
