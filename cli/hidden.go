package cli

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"bridge/definition"
)

// hidden is what of the definitions of servers is not written down, because it may
// be secret: a reference to a variable of the environment stands for it.
//
// Of variables and headers that is every value but those that are plain. Of
// arguments and addresses it is what looks like a secret: what follows a flag such
// as --api-key, who asks in a URL and its query, the value in NAME=value, and what
// only a machine would write.
type hidden struct {
	values map[string]string // what each variable stands for
	names  []string          // of those that are to be set

	server string   // whose definition is read
	wanted []string // its variables
}

var (
	// referred is a reference to a variable, with what holds if that is not set.
	referred = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}`)
	// secretive is a name of what nobody should see.
	secretive = regexp.MustCompile(`(?i)token(s?[^s]|$)|secret|passw|passphrase|pwd|credential|private|auth|bearer|cookie|signature|webhook|api.?key|dsn|connection|(^|[^a-z])(key|pass|pat|pin|sid|jwt)([^a-z]|$)`)
	// plainWord and plainNumber are values that are not secrets; a number can be,
	// under a name that says so.
	plainWord   = regexp.MustCompile(`(?i)^(true|false|yes|no|on|off|debug|info|warn|warning|error|production|development|test|stdio|http|sse)?$`)
	plainNumber = regexp.MustCompile(`^\d{1,5}$`)
	// keyLike is what can be a key: many letters and digits, or a UUID.
	keyLike = regexp.MustCompile(`[A-Za-z0-9]{16,}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)
	// within is a text with a secret in it, by the word for that, or with a
	// variable that is set.
	within = regexp.MustCompile(`(?i:password|pwd|secret|token|api_?key) *[=:]|[ ;][A-Z_][A-Z0-9_]*=[^ ]`)
	// kind is how a header says which kind of secret follows.
	kind = regexp.MustCompile(`(?i)^(bearer|basic|token) +`)
	// assigned is NAME=value, flagged --flag=value, inHeader a header.
	assigned = regexp.MustCompile(`^([A-Z_][A-Z0-9_]*)=(.*)$`)
	flagged  = regexp.MustCompile(`^-{1,2}([A-Za-z][\w.-]*)=(.*)$`)
	inHeader = regexp.MustCompile(`^([A-Za-z0-9-]+)(: *)(.*)$`)
	// located is a URL: its scheme, who asks, where, the query, and the rest.
	located = regexp.MustCompile(`^([a-z][a-z0-9+.-]*://)([^/?#]*@)?([^?#]*)(\?[^#]*)?(#.*)?$`)
	// noName is what a variable's name cannot have.
	noName = regexp.MustCompile(`[^A-Z0-9]+`)
)

// newHidden knows which variables the definitions refer to already.
func newHidden(defs []definition.Server) *hidden {
	h := &hidden{values: map[string]string{}}
	for _, m := range referred.FindAllStringSubmatch(fmt.Sprint(defs), -1) {
		h.values[m[1]] = m[0]
	}
	return h
}

// definition is the server's without what may be secret, and the variables that
// stand for that.
func (h *hidden) definition(d definition.Server) (definition.Server, []string) {
	h.server, h.wanted = d.Name, nil
	d.Args, d.URL = h.arguments(d.Args), h.address(d.URL)
	if words := strings.Fields(d.Command); len(words) > 1 && !plain("", d.Command) {
		d.Command = strings.Join(h.arguments(words), " ") // some write the arguments there
	}
	d.Env, d.Headers = maps.Clone(d.Env), maps.Clone(d.Headers)
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		d.Env[name] = h.value(name, d.Env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		d.Headers[name] = h.header(name, d.Headers[name])
	}
	h.names = append(h.names, h.wanted...)
	return d, h.wanted
}

// redact is a text about the server, without what is hidden of it.
func (h *hidden) redact(text string) string {
	for _, name := range h.wanted {
		if value := h.values[name]; len(value) >= 4 { // a shorter one is in any text
			text = strings.ReplaceAll(text, value, "${"+name+"}")
		}
	}
	return text
}

// plain reports whether a value is plainly no secret: a usual word, a short
// number, a path that is there, or nothing but references.
func plain(name, value string) bool {
	value = referred.ReplaceAllString(value, "$2")
	if strings.HasPrefix(value, "/") || strings.HasPrefix(value, "~/") {
		_, err := os.Stat(inHome([]string{value})[0])
		return err == nil
	}
	return plainWord.MatchString(value) || plainNumber.MatchString(value) && !secretive.MatchString(name)
}

// random reports whether only a machine would write this.
func random(text string) bool {
	return slices.ContainsFunc(keyLike.FindAllString(referred.ReplaceAllString(text, "$2"), -1), func(s string) bool {
		return strings.ContainsAny(s, "0123456789") || len(s) >= 24 && s != strings.ToUpper(s) && s != strings.ToLower(s)
	})
}

// value is one that is plain, or a reference to a variable that stands for it: of
// that name, or a longer one where that stands for something else.
func (h *hidden) value(name, value string) string {
	if plain(name, value) {
		return value
	}
	variable := variableOf(name)
	for n := 2; !h.free(variable, value); n++ {
		variable = variableOf(fmt.Sprintf("%s_%s_%d", h.server, name, n))
	}
	h.values[variable] = value
	if !slices.Contains(h.wanted, variable) {
		h.wanted = append(h.wanted, variable)
	}
	return "${" + variable + "}"
}

// free reports whether a variable can stand for the value.
func (h *hidden) free(name, value string) bool {
	other, taken := h.values[name]
	if !taken {
		other, taken = os.LookupEnv(name)
	}
	return !taken || other == value
}

// variableOf is a name of a variable for what is called so.
func variableOf(name string) string {
	name = strings.Trim(noName.ReplaceAllString(strings.ToUpper(name), "_"), "_")
	if name == "" || name[0] <= '9' {
		name = "VALUE_" + name
	}
	return name
}

// own is a value that has no name but with the server's before it.
func (h *hidden) own(name, value string) string { return h.value(h.server+"_"+name, value) }

// header is the value of one, with the word before the secret.
func (h *hidden) header(name, value string) string {
	before := kind.FindString(value)
	return before + h.own(name, value[len(before):])
}

// address is a URL without who asks, the values of its query, and keys in its
// path.
func (h *hidden) address(text string) string {
	m := located.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	if m[2] != "" {
		m[2] = h.own("login", strings.TrimSuffix(m[2], "@")) + "@"
	}
	parts := strings.Split(m[3], "/")
	for i, part := range parts[1:] {
		if random(part) || len(part) >= 8 && strings.ContainsAny(part, "0123456789") {
			parts[i+1] = h.own("path", part)
		}
	}
	pairs := strings.Split(m[4], "&")
	for i, pair := range pairs {
		if name, value, ok := strings.Cut(pair, "="); ok {
			pairs[i] = name + "=" + h.own(name, value)
		}
	}
	return m[1] + m[2] + strings.Join(parts, "/") + strings.Join(pairs, "&") + m[5]
}

// arguments are those of a program.
func (h *hidden) arguments(args []string) []string {
	list := slices.Clone(args)
	flag := "" // before the argument
	for i, arg := range args {
		name := flag
		flag = ""
		if m := assigned.FindStringSubmatch(arg); m != nil {
			list[i] = m[1] + "=" + h.value(m[1], m[2])
		} else if m := flagged.FindStringSubmatch(arg); m != nil {
			list[i] = strings.TrimSuffix(arg, m[2]) + h.argument(m[1], m[2])
		} else if strings.HasPrefix(arg, "-") {
			flag = strings.TrimLeft(arg, "-")
		} else {
			list[i] = h.argument(name, arg)
		}
	}
	return list
}

// argument is one after a flag, "" for none.
func (h *hidden) argument(flag, value string) string {
	m := inHeader.FindStringSubmatch(value)
	switch {
	case located.MatchString(value):
		return h.address(value)
	case m != nil && (flag == "H" || flag == "header"):
		return m[1] + m[2] + h.header(m[1], m[3])
	case flag != "" && secretive.MatchString(flag):
		return h.own(flag, value)
	case within.MatchString(value), random(value):
		return h.own("argument", value)
	}
	return value
}
