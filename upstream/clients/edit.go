package clients

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/atomicwriter"
)

// An Edit is a change to the configuration of a client: the bridge comes in, and
// servers go out.
type Edit struct {
	Path   string
	Entry  string   // the bridge's, as the client has it
	Out    []string // the servers that go
	before []byte   // nil: there is no such file
	after  []byte
}

// Changes reports whether there is anything to do.
func (e *Edit) Changes() bool { return !bytes.Equal(e.before, e.after) }

// Backup is the file beside the configuration that has what it was before.
func (e *Edit) Backup() string { return e.Path + ".before-bridge" }

// Registration is how a client is to start the bridge.
type Registration struct {
	Command string
	Args    []string
	Seconds int // that the longest run takes, for clients that give up before
}

// ownEntry is the bridge's name in configurations.
const ownEntry = "bridge"

// editable are the clients whose configuration can be changed: where servers are
// in it, and what the bridge's entry is like.
var editable = map[string]struct {
	section []string
	entry   func(Registration) any
}{
	"claude-code":    {[]string{"mcpServers"}, withType("stdio")},
	"claude-desktop": {[]string{"mcpServers"}, withType("")},
	"cursor":         {[]string{"mcpServers"}, withType("")},
	"vscode":         {[]string{"servers"}, withType("stdio")},
	"windsurf":       {[]string{"mcpServers"}, withType("")},
	"codex":          {[]string{"mcp_servers"}, withType("")},
	"gemini": {[]string{"mcpServers"}, func(r Registration) any {
		return struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
			Timeout int      `json:"timeout"` // milliseconds
		}{r.Command, r.Args, r.Seconds * 1000}
	}},
	"opencode": {[]string{"mcp"}, func(r Registration) any {
		return struct {
			Type    string   `json:"type"`
			Command []string `json:"command"`
			Enabled bool     `json:"enabled"`
		}{"local", append([]string{r.Command}, r.Args...), true}
	}},
	"zed": {[]string{"context_servers"}, withType("")},
}

// withType is the entry that most clients have.
func withType(kind string) func(Registration) any {
	return func(r Registration) any {
		return struct {
			Type    string   `json:"type,omitempty"`
			Command string   `json:"command"`
			Args    []string `json:"args"`
		}{kind, r.Command, r.Args}
	}
}

// Editable are the names of the clients whose configuration can be changed.
func Editable() []string {
	var names []string
	for _, c := range known {
		if _, ok := editable[c.name]; ok {
			names = append(names, c.name)
		}
	}
	return names
}

// Register makes the change that puts the bridge into the configuration of a
// client, and takes out the servers that goes approves of. It writes nothing.
func Register(client string, r Registration, goes func(name string) bool, o Options) (*Edit, error) {
	e, err := open(client, o)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(e.Path) == ".toml" {
		e.after, e.Entry, e.Out, err = editTOML(e.before, r, goes)
	} else {
		c := editable[client]
		e.after, e.Entry, e.Out, err = editJSON(e.before, c.section, c.entry(r), goes)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Path, err)
	}
	return e, nil
}

// Undo makes the change that puts a configuration back. What else was changed in
// it since stays.
func Undo(client string, r Registration, o Options) (*Edit, error) {
	e, err := open(client, o)
	if err != nil {
		return nil, err
	}
	old, err := os.ReadFile(e.Backup())
	if err != nil {
		return nil, fmt.Errorf("%s: %s; there is nothing to undo", e.Backup(), cause(err))
	}
	now, then := servers(client, e.Path, e.before), servers(client, e.Path, old)
	missing := func(name string) bool {
		_, there := now.get(name)
		_, was := then.get(name)
		return was && !there
	}
	// If nothing else was changed, the old file is the right one, to the byte.
	again, err := Register(client, r, missing, o.reading(e.Path, old))
	if err == nil && bytes.Equal(again.after, e.before) {
		e.after = old
		return e, nil
	}
	if filepath.Ext(e.Path) == ".toml" {
		e.after, err = restoreTOML(e.before, old, missing)
	} else {
		e.after, err = restoreJSON(e.before, old, editable[client].section)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Path, err)
	}
	return e, nil
}

// reading has the options give a text for a file.
func (o Options) reading(path string, text []byte) Options {
	o.texts = map[string][]byte{path: text}
	return o
}

// servers are those that the configuration of a client has.
func servers(client, path string, text []byte) node {
	parse := parseJSON
	if filepath.Ext(path) == ".toml" {
		parse = parseTOML
	}
	root, _ := parse(text)
	n, _ := root.at(editable[client].section...)
	return n
}

// open reads the configuration that a client uses: of its files the first that is
// there, or else the first.
func open(client string, o Options) (*Edit, error) {
	if _, ok := editable[client]; !ok {
		return nil, fmt.Errorf("unknown client %q; clients: %s", client, strings.Join(Editable(), ", "))
	}
	f := &finder{options: o.complete()}
	f.env = environment(f.options.Environ)
	e := &Edit{}
	for _, p := range f.places([]string{client}) {
		if client == "vscode" && filepath.Base(p.path) != "mcp.json" {
			continue // its settings.json is of older versions
		}
		if e.Path == "" {
			e.Path = p.path
		}
		text, err := o.read(p.path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s", p.path, cause(err))
		}
		e.Path, e.before = p.path, text
		break
	}
	return e, nil
}

func (o Options) read(path string) ([]byte, error) {
	if text, ok := o.texts[path]; ok {
		return text, nil
	}
	return os.ReadFile(path)
}

// Write makes the change, and keeps what was there before beside it, unless that
// is there already. Undone, it removes that.
func (e *Edit) Write(undo bool) error {
	path := e.Path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // of a folder of settings under version control
	}
	mode := os.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(e.Backup()); !undo && errors.Is(err, os.ErrNotExist) {
		if err := atomicwriter.WriteFile(e.Backup(), e.before, mode); err != nil {
			return err
		}
	}
	if undo && len(e.after) == 0 {
		if err := os.Remove(path); err != nil {
			return err
		}
	} else if err := atomicwriter.WriteFile(path, e.after, mode); err != nil {
		return err
	}
	if undo {
		return os.Remove(e.Backup())
	}
	return nil
}
