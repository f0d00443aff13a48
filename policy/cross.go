package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
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
		whole := setting{v, of(of(l.defaults, "profiles"), profile)}
		l.crossTimeout(whole, path)
		l.crossEngine(whole, path)
		l.crossMounts(whole.field("mounts"), append(slices.Clone(path), "mounts"))
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

// crossEngine finds what the engine that the profile names does not have.
func (l *loader) crossEngine(profile setting, path []string) {
	engine := profile.field("engine").text()
	refuse := func(name, why string) {
		f := profile.field(name)
		at := append(slices.Clone(path), name)
		if f.written.Exists() && !l.knows(at) {
			l.mistake(valuePos(f.written), at, "%s", why)
		}
	}
	switch engine {
	case "podman", "docker":
		refuse("python", fmt.Sprintf("a Python of the host is for the engine native, and this profile has %s, whose Python is that of the image", engine))
	case "native":
		for _, name := range []string{"image", "security"} {
			refuse(name, "it is for the engines podman and docker, and this profile has native")
		}
		if user := profile.field("user"); withGroup(user.text()) != withGroup(setting{written: user.usual}.text()) {
			refuse("user", "it is for the engines podman and docker, and this profile has native")
		}
	}
}

// crossMounts finds folders that would be mounted at one place, or one in the
// other: the place for the inner would have to be made in the host's folder.
func (l *loader) crossMounts(mounts setting, path []string) {
	if l.knows(path) {
		return
	}
	var seen []string
	for i, e := range mounts.elements() {
		target := e.field("target")
		name := strings.TrimSuffix(target.text(), "/")
		for _, other := range seen {
			if name != "" && (strings.HasPrefix(name+"/", other+"/") || strings.HasPrefix(other+"/", name+"/")) {
				l.mistake(valuePos(target.written), append(slices.Clone(path), strconv.Itoa(i), "target"), "%q and %q, the target of another mount, are one or in each other", name, other)
				break
			}
		}
		if name != "" {
			seen = append(seen, name)
		}
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
