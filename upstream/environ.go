package upstream

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"bridge/upstream/keeper"
)

// Marker is a variable in the environment of every server that the bridge
// starts. A bridge that finds it in its own knows that it runs as somebody's
// server.
const Marker = "MCP_BRIDGE_SERVER"

// passed are the variables of the bridge's own environment that every server
// gets: who and where the user is, how to write text, and where certificates
// lie. Proxies are not among them, as their addresses may hold passwords.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LANGUAGE",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	// What Windows programs do not start without.
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATHEXT",
	"PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "SYSTEMDRIVE", "SYSTEMROOT",
	"TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
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

// reference is ${NAME} or ${NAME:-default}, as client configurations write
// them. Other uses of "$" are plain text.
var reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)

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

// launchSpec is how a server is started, and what must not be told of it.
type launchSpec struct {
	keeper.Spec
	redact *strings.Replacer
}

// prepare makes a definition into what can be started, with the environment
// env of the bridge. Its errors name variables, never their values.
func prepare(def Definition, env []string) (launchSpec, error) {
	if def.Absent != "" {
		return launchSpec{}, errors.New(def.Absent)
	}
	own := map[string]string{}
	server := map[string]string{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		name = variable(name)
		own[name] = value
		if isPassed(name, value) {
			server[name] = value
		}
	}
	x := &expansion{env: own, secrets: map[string]string{}}
	command, dir := x.path(def.Command), x.path(def.Cwd)
	args := []string{command}
	for _, arg := range def.Args {
		args = append(args, x.path(arg))
	}
	for name, value := range def.Env {
		server[variable(name)] = x.expand(value)
	}
	server[Marker] = "1"
	if len(x.missing) > 0 {
		slices.Sort(x.missing)
		verb := "is"
		if len(x.missing) > 1 {
			verb = "are"
		}
		return launchSpec{}, fmt.Errorf("${%s} %s not set in the bridge's environment", strings.Join(x.missing, "}, ${"), verb)
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
	var cause *os.PathError
	switch {
	case strings.ContainsAny(command, `/\`) && errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("exec %q: no such file", command)
	case strings.ContainsAny(command, `/\`):
		if errors.As(err, &cause) {
			err = cause.Err
		} else if inner := errors.Unwrap(err); inner != nil {
			err = inner
		}
		return fmt.Errorf("exec %q: %w", command, err)
	}
	return fmt.Errorf("exec %q: not found in PATH", command)
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
