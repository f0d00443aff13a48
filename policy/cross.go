package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cuelang.org/go/cue"
)

// cross finds the mistakes that concern more than one field.
func (l *loader) cross() {
	servers := map[string]bool{}
	for name, v := range fields(l.user, "servers") {
		servers[name] = true
		l.crossServer(v, []string{"servers", name})
	}
	for profile, v := range fields(l.user, "profiles") {
		path := []string{"profiles", profile}
		whole := setting{v, of(of(l.defaults, "profiles"), profile)}
		l.crossTimeout(whole, path)
		l.crossAudit(whole.field("audit"), append(slices.Clone(path), "audit", "required"))
		l.crossEngine(whole, path)
		l.crossMounts(whole.field("mounts"), append(slices.Clone(path), "mounts"))
		discovers := len(whole.field("discover").elements()) > 0
		for name, mount := range fields(v, "servers") {
			at := append(slices.Clip(path), "servers", name)
			switch {
			case servers[name]:
			case !discovers:
				l.mistake(l.posOf(mount), at, "%s", unknownServer(name, "", "the policy defines none", sortedKeys(servers)))
			case !isServerName(name):
				text, _ := refusal([]string{"servers"}, name, nil)
				l.mistake(l.posOf(mount), at, "%s", text)
			}
			l.crossTools(mount, append(slices.Clip(at), "tools"))
			l.crossTools(mount, append(slices.Clip(at), "resources"))
		}
		for names, mount := range patterns(lookup(v, "servers")) {
			at := append(slices.Clip(path), "servers", l.pattern(names).written)
			l.crossTools(mount, append(slices.Clip(at), "tools"))
			l.crossTools(mount, append(slices.Clip(at), "resources"))
		}
	}
}

// isServerName tells whether the schema lets a server be called so. A regular
// expression of the same, which repeats a large class 64 times, takes long to
// be made.
func isServerName(name string) bool {
	n := utf8.RuneCountInString(name)
	return 0 < n && n <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return r == '.' || r == '/' || unicode.Is(unicode.C, r)
	})
}

// crossServer finds a server that is neither a program nor an address, or both,
// and what does not go with the one that it is.
func (l *loader) crossServer(server cue.Value, path []string) {
	if l.knows(path) {
		return
	}
	command, url := lookup(server, "command"), lookup(server, "url")
	refuse := func(why string, names ...string) {
		for _, name := range names {
			at := append(slices.Clone(path), name)
			if f := lookup(server, name); f.Exists() && !l.knows(at) {
				l.mistake(l.posOf(f), at, "%s", why)
			}
		}
	}
	switch {
	case command.Exists() && url.Exists():
		refuse("a server has a command or a url, and this one has both", "url")
	case command.Exists():
		refuse("it is for servers with a url, and this one has a command", "headers", "transport")
	case url.Exists():
		refuse("it is for servers with a command, and this one has a url", "args", "env", "envFile", "cwd")
	case !slices.ContainsFunc(l.errs, func(e Error) bool { return strings.HasPrefix(e.Path, pathString(path)+".") }):
		// What is missing may be among what is misspelt.
		l.mistake(l.posOf(server), path, "a server has a command, or a url; this one has neither")
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

// crossAudit finds a log that must be written, and is not.
func (l *loader) crossAudit(audit setting, path []string) {
	if required := audit.field("required"); required.truth() && !audit.field("enabled").truth() && !l.knows(path) {
		l.mistake(valuePos(required.written), path, "it needs audit.enabled, which is false")
	}
}

// crossEngine finds fields that the engine which the profile names does not have.
func (l *loader) crossEngine(profile setting, path []string) {
	engine := profile.field("engine").text()
	if !slices.Contains(Engines(), engine) {
		return // none is named, or it is refused by itself
	}
	for _, field := range schemaEngines().fields {
		f, at := profile.field(field.name), append(slices.Clone(path), field.name)
		if !f.written.Exists() || l.knows(at) || slices.Contains(field.engines, engine) {
			continue
		}
		if field.name == "user" && withGroup(f.text()) == withGroup(setting{written: f.usual}.text()) {
			continue // every engine has this one
		}
		l.mistake(valuePos(f.written), at, "it is for %s, and this profile has %s", engineList(field.engines), engine)
	}
}

func engineList(names []string) string {
	if len(names) == 1 {
		return "the engine " + names[0]
	}
	return "the engines " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
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

// crossTools finds tools, or resources, that are open with "...". CUE would allow every name
// of them; who means that can say so where it is seen. And it finds what the
// rules of tools cannot have.
func (l *loader) crossTools(mount cue.Value, path []string) {
	field := path[len(path)-1]
	tools := lookup(mount, field)
	if tools.IncompleteKind() != cue.StructKind {
		return
	}
	n := 0
	for names, rule := range patterns(tools) {
		l.crossRule(rule, append(slices.Clip(path), l.pattern(names).written))
		n++
	}
	if n > maxPatterns {
		l.mistake(l.posOf(tools), path, "%d patterns: at most %d of one server", n, maxPatterns)
	}
	for name, rule := range fields(tools) {
		l.crossRule(rule, append(slices.Clip(path), name))
	}
	closed := l.ctx.CompileString("close("+field+")", cue.Scope(mount))
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
	l.mistake(l.posOf(tools), path, `"..." would allow every %s: write [_]: {} if that is meant`, strings.TrimSuffix(field, "s"))
}

// crossRule finds sums of arguments that are not named, or that the rule lets
// no call have as a number.
func (l *loader) crossRule(rule cue.Value, path []string) {
	args := lookup(rule, "args")
	for name, sum := range fields(rule, "sum") {
		at := append(slices.Clip(path), "sum", name)
		if !args.Exists() || l.knows(at) || l.knows(append(slices.Clip(path), "args")) {
			continue
		}
		argument := lookup(args, name)
		if !argument.Exists() {
			argument = args.LookupPath(cue.MakePath(cue.Str(name).Optional()))
		}
		switch {
		case !args.Allows(cue.Str(name)):
			l.mistake(l.posOf(sum), at, "the rule's args let no call have %q", name)
		case argument.Exists() && argument.IncompleteKind()&cue.NumberKind == 0:
			l.mistake(l.posOf(sum), at, "only numbers have a sum, and the rule's args have %q as %s", name, argument.IncompleteKind())
		}
	}
	for names := range patterns(lookup(rule, "sum")) {
		p := l.pattern(names)
		l.mistake(p.Pos, append(slices.Clip(path), "sum", p.written), "a sum is of one argument, by its name")
	}
}
