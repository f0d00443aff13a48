package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"bridge/definition"
	"bridge/upstream/keeper"
)

// Marker is a variable in the environment of every server that the bridge
// starts. A bridge that finds it in its own knows that it runs as somebody's
// server.
const Marker = "MCP_BRIDGE_SERVER"

// passed are the variables of the bridge's own environment that every server
// gets: who and where the user is, how to write text, and how to reach the
// network. docs/clients.md lists them.
var passed = append([]string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LANGUAGE",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "NODE_USE_ENV_PROXY", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	// What Windows programs do not start without.
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATHEXT",
	"PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "SYSTEMDRIVE", "SYSTEMROOT",
	"TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}, proxies...)

// proxies are those of passed whose values may hold a password.
var proxies = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
}

// isPassed tells whether a variable of the bridge is a server's too. A value
// that begins as an exported shell function is nobody's data.
func isPassed(name, value string) bool {
	if strings.HasPrefix(value, "()") {
		return false
	}
	return slices.Contains(passed, name) || strings.HasPrefix(name, "LC_")
}

// variable is the one way to write a variable's name: Windows takes Path and
// PATH for the same.
func variable(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

// reference is ${NAME}, ${env:NAME} or ${NAME:-default}, as the configurations
// of clients write them. Other uses of "$" are plain text.
var reference = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)

// expansion replaces references to the bridge's own environment.
type expansion struct {
	env     map[string]string
	missing []string          // variables without a value or a default
	secrets map[string]string // what was put in, by value: never to be shown
}

func (x *expansion) expand(s string) string {
	return reference.ReplaceAllStringFunc(s, func(ref string) string {
		m := reference.FindStringSubmatch(ref)
		name, hasDefault, byDefault := m[1], m[2] != "", m[3]
		value, set := x.env[variable(name)]
		switch {
		case hasDefault && value == "":
			return byDefault
		case !set:
			if !slices.Contains(x.missing, name) {
				x.missing = append(x.missing, name)
			}
			return ""
		}
		x.secrets[value] = "${" + name + "}"
		return value
	})
}

// newExpansion is one with the environment env of the bridge.
func newExpansion(env []string) *expansion {
	x := &expansion{env: map[string]string{}, secrets: map[string]string{}}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		x.env[variable(name)] = value
	}
	return x
}

// secret also takes the whole for what must not be shown: it is told as it is
// written, if that has a reference in it, and else not at all.
func (x *expansion) secret(s, written string) string {
	value := x.expand(s)
	if value != "" && value == written {
		written = "…"
	}
	if _, known := x.secrets[value]; !known {
		x.secrets[value] = written
	}
	return value
}

// incomplete says which variables are missing.
func (x *expansion) incomplete() error {
	if len(x.missing) == 0 {
		return nil
	}
	slices.Sort(x.missing)
	verb := "is"
	if len(x.missing) > 1 {
		verb = "are"
	}
	return fmt.Errorf("${%s} %s not set in the bridge's environment", strings.Join(x.missing, "}, ${"), verb)
}

// path also replaces a leading ~ by the user's home folder.
func (x *expansion) path(s string) string {
	s = x.expand(s)
	if s != "~" && !strings.HasPrefix(s, "~/") {
		return s
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return s
	}
	return filepath.Join(home, s[1:])
}

// launchSpec is how a server is started, and what of that must stay secret.
type launchSpec struct {
	keeper.Spec
	redact *strings.Replacer
}

// prepare makes a definition into what can be started, with the environment
// env of the bridge. Its errors name variables, never their values.
func prepare(def definition.Server, env []string) (launchSpec, error) {
	if def.Absent != "" {
		return launchSpec{}, errors.New(def.Absent)
	}
	x := newExpansion(env)
	server := map[string]string{}
	for name, value := range x.env {
		if !isPassed(name, value) {
			continue
		}
		server[name] = value
		if at := strings.LastIndexByte(value, '@'); at >= 0 && slices.Contains(proxies, name) {
			x.secrets[value] = "${" + name + "}"
			x.secrets[value[strings.LastIndexByte(value[:at], ':')+1:at]] = "…" // the password
		}
	}
	command, dir := x.path(def.Command), x.path(def.Cwd)
	args := []string{command}
	for _, arg := range def.Args {
		args = append(args, x.path(arg))
	}
	file := x.path(def.EnvFile)
	if err := x.incomplete(); err != nil {
		return launchSpec{}, err
	}
	if file != "" {
		variables, err := readEnvFile(file)
		if err != nil {
			return launchSpec{}, fmt.Errorf("its envFile %q: %w", def.EnvFile, err)
		}
		for name, value := range variables {
			server[variable(name)] = value
			x.secrets[value] = "${" + name + "}"
		}
	}
	for name, value := range def.Env {
		server[variable(name)] = x.secret(value, "${"+name+"}")
	}
	server[Marker] = "1"
	if err := x.incomplete(); err != nil {
		return launchSpec{}, err
	}
	if dir != "" {
		// The program's own path must not be taken from there a second time.
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return launchSpec{}, fmt.Errorf("its cwd %q is not a folder", def.Cwd)
		}
	}
	path, err := lookPath(command, server["PATH"], dir)
	if err != nil {
		return launchSpec{}, notFound(def.Command, err)
	}
	spec := launchSpec{redact: redactor(x.secrets)}
	spec.Path, spec.Args, spec.Dir = path, args, dir
	for name, value := range server {
		spec.Env = append(spec.Env, name+"="+value)
	}
	slices.Sort(spec.Env)
	return spec, nil
}

// notFound words why a program cannot be started, without what its references
// stand for.
func notFound(command string, err error) error {
	hint := ""
	if fields := strings.Fields(command); len(fields) > 1 {
		args, _ := json.Marshal(fields[1:])
		hint = fmt.Sprintf("; it holds arguments, which belong in args: command: %q, args: %s", fields[0], args)
	}
	var cause *os.PathError
	switch {
	case strings.ContainsAny(command, `/\`) && errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("exec %q: no such file%s", command, hint)
	case strings.ContainsAny(command, `/\`):
		if errors.As(err, &cause) {
			err = cause.Err
		} else if inner := errors.Unwrap(err); inner != nil {
			err = inner
		}
		return fmt.Errorf("exec %q: %w", command, err)
	}
	return fmt.Errorf("exec %q: not found in PATH%s", command, hint)
}

// redactor puts references back in the place of their values. Very short
// values are left: they would be found in any text.
func redactor(secrets map[string]string) *strings.Replacer {
	values := make([]string, 0, len(secrets))
	for value := range secrets {
		if len(value) >= 6 {
			values = append(values, value)
		}
	}
	// Longest first, so that no value hides part of another.
	slices.SortFunc(values, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, value := range values {
		pairs = append(pairs, value, secrets[value])
	}
	return strings.NewReplacer(pairs...)
}
