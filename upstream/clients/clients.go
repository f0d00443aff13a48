// Package clients finds the MCP servers that the configurations of other MCP
// clients on this machine name: Claude, Cursor, VS Code and others, each in
// its own format and place.
//
// What it reads is the user's and may hold anything: a file or an entry that
// cannot be used costs a warning with its place, and the others nothing. It
// starts nothing, and does not know policies.
package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"

	"bridge/definition"
)

// All is the source that stands for every client that the package knows, and
// for the file that the variable Config names.
const All = "clients"

// Config is a variable of the environment: one more file to read, after those
// of all clients.
const Config = "MCP_SERVERS_CONFIG"

// Options say where to look. The zero value is this machine and its user.
type Options struct {
	Home    string   // the user's home folder
	Environ []string // as os.Environ gives it
	GOOS    string
	Dir     string // the folder whose project is the user's own; the current one unless given
	Self    string // the bridge's own executable

	// AllowSelf keeps entries that start the bridge itself, which are otherwise
	// left out.
	AllowSelf bool

	texts map[string][]byte // in the place of what files have, by their paths
}

// Pos is a place in a file. Line and Col begin at 1, and are 0 where they are
// not known.
type Pos struct {
	File string
	Line int
	Col  int
}

func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Found is a server of a configuration.
type Found struct {
	definition.Server
	Client string // whose configuration it is, by the name of the source
	Source Pos
}

// A Warning is something that could not be used, or was left out. Its message
// holds no value of the file but names.
type Warning struct {
	Pos     Pos
	Message string
	Minor   bool // nothing is amiss: the bridge itself, or the same server again
}

func (w Warning) String() string { return w.Pos.String() + ": " + w.Message }

// Find reads the sources in their order: All, the name of a client, or the path
// of a file that begins with / or ~/. Of servers with the same name the first
// is taken, and the others are among the warnings.
func Find(sources []string, o Options) ([]Found, []Warning) {
	f := &finder{options: o.complete(), byName: map[string]Found{}, read: map[string]bool{}}
	f.env = environment(f.options.Environ)
	for _, p := range f.places(sources) {
		f.file(p)
	}
	return f.found, f.warnings
}

// Files are the files that Find would read, whether they are there or not, and
// the folders that it would look into.
func Files(sources []string, o Options) []string {
	f := &finder{options: o.complete()}
	f.env = environment(f.options.Environ)
	var list []string
	for _, p := range f.places(sources) {
		list = append(list, p.path)
	}
	return append(list, f.folders...)
}

// complete fills in what is left out.
func (o Options) complete() Options {
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir()
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.GOOS == "" {
		o.GOOS = runtime.GOOS
	}
	if o.Dir == "" {
		o.Dir, _ = os.Getwd()
	}
	if o.Self == "" {
		o.Self, _ = os.Executable()
	}
	return o
}

func environment(list []string) map[string]string {
	env := map[string]string{}
	for _, entry := range list {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}

// finder is one search.
type finder struct {
	options Options
	env     map[string]string
	folders []string // that were looked into

	found    []Found
	warnings []Warning
	byName   map[string]Found
	read     map[string]bool // files, by path
}

func (f *finder) warn(pos Pos, format string, args ...any) {
	f.warnings = append(f.warnings, Warning{pos, fmt.Sprintf(format, args...), false})
}

// note is a warning that is none to worry about.
func (f *finder) note(pos Pos, format string, args ...any) {
	f.warnings = append(f.warnings, Warning{pos, fmt.Sprintf(format, args...), true})
}

// maxFile bounds a configuration, in bytes. Claude Code keeps histories in its
// own, which grow to some megabytes.
const maxFile = 64 << 20

// file reads one configuration.
func (f *finder) file(p place) {
	if f.read[p.path] {
		return
	}
	f.read[p.path] = true
	info, err := os.Stat(p.path)
	switch {
	case os.IsNotExist(err) && !p.named:
		return
	case err != nil:
		f.warn(Pos{File: p.path}, "%s", cause(err))
		return
	case !info.Mode().IsRegular():
		f.warn(Pos{File: p.path}, "not a file")
		return
	case info.Size() > maxFile:
		f.warn(Pos{File: p.path}, "%d bytes; at most %d are read", info.Size(), maxFile)
		return
	}
	text, err := os.ReadFile(p.path)
	if err != nil {
		f.warn(Pos{File: p.path}, "%s", cause(err))
		return
	}
	if len(strings.TrimSpace(string(text))) == 0 {
		return // as some clients leave it before its first use
	}
	parse := parseJSON
	if filepath.Ext(p.path) == ".toml" {
		parse = parseTOML
	}
	root, mistake := parse(text)
	if mistake != nil {
		f.warn(Pos{p.path, mistake.line, mistake.col}, "%s", mistake.message)
		return
	}
	entries := p.section(f, p, root)
	if len(entries) == 0 && p.named {
		f.warn(Pos{File: p.path}, "no MCP servers in it")
	}
	for _, e := range entries {
		f.entry(p, e)
	}
}

// cause is why a file cannot be read, without its path.
func cause(err error) error {
	if e, ok := err.(*os.PathError); ok {
		return e.Err
	}
	return err
}

// entry takes one server in, or says why not.
func (f *finder) entry(p place, e field) {
	pos := Pos{p.path, e.line, e.col}
	d, skip, err := f.definition(p, e)
	switch {
	case err != nil:
		f.warn(pos, "server %q: %v", e.name, err)
		return
	case skip:
		return
	}
	if why := f.own(d); why != "" {
		f.note(pos, "server %q: left out: %s", e.name, why)
		return
	}
	first, taken := f.byName[d.Name]
	switch {
	case taken && reflect.DeepEqual(first.Server, d):
		f.note(pos, "server %q: left out: %s has the same", e.name, first.Source)
	case taken:
		f.warn(pos, "server %q: left out: %s has one of this name", e.name, first.Source)
	default:
		found := Found{Server: d, Client: p.client, Source: pos}
		f.byName[d.Name] = found
		f.found = append(f.found, found)
	}
}
