package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"bridge/definition"
)

// isServerName tells whether a policy can call a server so. A regular
// expression of the same, which repeats a large class 64 times, takes long to
// be made.
func isServerName(name string) bool {
	n := utf8.RuneCountInString(name)
	return 0 < n && n <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return r == '.' || r == '/' || unicode.Is(unicode.C, r)
	})
}

// policyName is the name of a server as a policy has it. Names from galleries
// have dots and slashes, which in a policy stand between a server and a tool.
func policyName(name string) string {
	return strings.NewReplacer(".", "-", "/", "-").Replace(name)
}

// definition makes an entry into a definition. It is skipped without a word if
// the user has switched it off.
func (f *finder) definition(p place, e field) (d definition.Server, skip bool, err error) {
	if _, ok := e.value.([]field); !ok {
		return d, false, errors.New("not an object")
	}
	if off, _ := e.get("disabled"); off.value == true {
		return d, true, nil
	}
	if on, _ := e.get("enabled"); on.value == false {
		return d, true, nil
	}
	d.Name = policyName(e.name)
	if !isServerName(d.Name) {
		return d, false, errors.New("a name of more than 64 characters, or with some that cannot be seen")
	}
	r := &reader{finder: f, place: p, node: e.node}
	d.Description = r.text("description")
	d.Command, d.Args = r.command()
	address, _ := e.first("url", "serverUrl", "httpUrl")
	switch {
	case r.err != nil:
	case d.Command == "" && address.value == nil:
		if source, _ := e.get("source"); source.text() == "extension" {
			r.fail("it belongs to an extension of Zed, which alone can start it")
		} else {
			r.fail("neither a command nor a url")
		}
	case d.Command != "":
		r.process(&d)
	default:
		r.remote(&d, address)
	}
	r.timeouts(&d)
	return d, false, r.err
}

// reader reads one entry and remembers the first mistake in it.
type reader struct {
	*finder
	place
	node
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// text is a field that is a string, with references as the bridge writes them.
func (r *reader) text(name string) string {
	n, ok := r.first(name)
	if !ok {
		return ""
	}
	s, isText := n.value.(string)
	if !isText {
		r.fail("%s: not a string", name)
	}
	return r.reference(name, s)
}

// command is the program and its arguments: a string and a list, one list, or
// an object with both.
func (r *reader) command() (string, []string) {
	n, ok := r.first("command")
	if !ok {
		return "", nil
	}
	switch v := n.value.(type) {
	case string:
		if strings.TrimSpace(v) == "" {
			return "", nil
		}
		return r.reference("command", v), r.list(r.node, "args")
	case []node:
		words := r.texts("command", v)
		if len(words) == 0 {
			r.fail("command: an empty list")
			return "", nil
		}
		return words[0], append(words[1:], r.list(r.node, "args")...)
	case []field:
		path, _ := n.get("path")
		if path.text() == "" {
			r.fail("command: no path")
		}
		return r.reference("command", path.text()), r.list(n, "args")
	}
	r.fail("command: neither a string nor a list")
	return "", nil
}

func (r *reader) list(n node, name string) []string {
	v, ok := n.first(name)
	if !ok {
		return nil
	}
	elements, isList := v.value.([]node)
	if !isList {
		r.fail("%s: not a list", name)
	}
	return r.texts(name, elements)
}

func (r *reader) texts(name string, elements []node) []string {
	var list []string
	for _, e := range elements {
		s, ok := e.scalar()
		if !ok {
			r.fail("%s: not all strings", name)
		}
		list = append(list, r.reference(name, s))
	}
	return list
}

// table is an object of strings. What is null is left out.
func (r *reader) table(n node, name string) map[string]string {
	table := map[string]string{}
	v, ok := n.first(name)
	if !ok {
		return table
	}
	if _, isObject := v.value.([]field); !isObject {
		r.fail("%s: not an object", name)
	}
	for _, e := range v.fields() {
		s, isText := e.scalar()
		switch {
		case e.value == nil:
		case !isText:
			r.fail("%s: %s is not a string", name, e.name)
		default:
			table[e.name] = r.reference(name+"."+e.name, s)
		}
	}
	return table
}

// variableName is that of a variable of the environment. Windows has some with
// brackets.
var variableName = regexp.MustCompile(`^[^=\x00]+$`)

// process reads what a server is started with.
func (r *reader) process(d *definition.Server) {
	d.Cwd = r.text("cwd")
	d.Env = map[string]string{}
	sources := []node{r.node}
	if c, _ := r.get("command"); c.value != nil {
		sources = append(sources, c) // Zed's older form
	}
	for _, n := range sources {
		for _, name := range []string{"env", "environment"} {
			for key, value := range r.table(n, name) {
				if !variableName.MatchString(key) {
					r.fail("%s: %q is not the name of a variable", name, key)
				}
				d.Env[key] = value
			}
		}
	}
	if v, ok := r.get("env_vars"); ok {
		elements, _ := v.value.([]node)
		for _, e := range elements {
			name := e.text()
			if name == "" {
				inner, _ := e.get("name")
				name = inner.text()
			}
			// Only those that are set.
			if _, set := r.env[name]; set && variableName.MatchString(name) {
				d.Env[name] = "${" + name + "}"
			}
		}
	}
	if file := r.text("envFile"); file != "" {
		if !filepath.IsAbs(file) && !strings.HasPrefix(file, "~") && !strings.HasPrefix(file, "${") {
			file = filepath.Join(filepath.Dir(r.path), file)
		}
		d.EnvFile = file
	}
}

// remote reads where a server is.
func (r *reader) remote(d *definition.Server, address node) {
	d.URL = r.reference("url", address.text())
	if u, err := url.Parse(d.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		if !strings.HasPrefix(d.URL, "${") {
			r.fail("url: it does not begin with http:// or https://")
		}
	}
	d.Headers = map[string]string{}
	for _, name := range []string{"headers", "http_headers", "requestInit"} {
		n := r.node
		if name == "requestInit" {
			n, _ = r.get(name)
			name = "headers"
		}
		for key, value := range r.table(n, name) {
			d.Headers[key] = value
		}
	}
	for key, variable := range r.table(r.node, "env_http_headers") {
		d.Headers[key] = "${" + variable + "}"
	}
	if variable := r.text("bearer_token_env_var"); variable != "" {
		d.Headers["Authorization"] = "Bearer ${" + variable + "}"
	}
	kind, _ := r.first("type", "transport", "transportType")
	switch k := strings.ToLower(strings.NewReplacer("-", "", "_", "", "able", "").Replace(kind.text())); {
	case slices.Contains([]string{"http", "streamhttp", "stream"}, k):
		d.Transport = "http"
	case k == "sse":
		d.Transport = "sse"
	case k == "" || k == "remote":
		if _, bare := r.get("url"); bare && r.dialect.bareSSE && strings.HasSuffix(strings.TrimRight(d.URL, "/"), "/sse") {
			d.Transport = "sse"
		}
	default:
		r.fail("type %q is not one that the bridge speaks; types: http, sse", kind.text())
	}
}

// timeouts reads how long to wait for a server, where a client says so.
func (r *reader) timeouts(d *definition.Server) {
	seconds := func(name string, unit time.Duration) time.Duration {
		n, ok := r.get(name)
		if !ok {
			return 0
		}
		number, _ := n.value.(json.Number)
		value, err := number.Float64()
		if err != nil || value <= 0 || value > 86400*1000 {
			return 0
		}
		return time.Duration(value * float64(unit))
	}
	d.StartTimeout = max(seconds("startup_timeout_sec", time.Second), seconds("startup_timeout_ms", time.Millisecond))
	d.CallTimeout = seconds("tool_timeout_sec", time.Second)
	if r.dialect.millis {
		d.CallTimeout = max(d.CallTimeout, seconds("timeout", time.Millisecond))
	}
}
