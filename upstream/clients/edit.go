package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/moby/sys/atomicwriter"
	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
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
	c := editable[client]
	entry := c.entry(r)
	text := e.before
	if filepath.Ext(e.Path) == ".toml" {
		e.after, e.Entry, e.Out, err = editTOML(text, r, goes)
	} else {
		e.after, e.Entry, e.Out, err = editJSON(text, c.section, entry, goes)
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
	missing := func(now, then node) func(string) bool {
		return func(name string) bool {
			_, there := now.get(name)
			_, was := then.get(name)
			return was && !there
		}
	}
	// If nothing else was changed, the old file is the right one, to the byte.
	again, err := Register(client, r, func(name string) bool { return missing(e.servers(client), servers(client, e.Path, old))(name) }, o.reading(e.Path, old))
	if err == nil && bytes.Equal(again.after, e.before) {
		e.after = old
		return e, nil
	}
	if filepath.Ext(e.Path) == ".toml" {
		e.after, err = restoreTOML(e.before, old, missing(e.servers(client), servers(client, e.Path, old)))
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

// servers are those that a configuration has.
func (e *Edit) servers(client string) node { return servers(client, e.Path, e.before) }

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

// jsonText is JSON with comments, which keeps them and its spaces.
type jsonText struct {
	root hujson.Value
	mark bool   // whether it begins with a byte order mark
	unit string // one step of indentation
	end  string // of a line
}

func readJSON(text []byte) (*jsonText, error) {
	t := &jsonText{unit: "  ", end: "\n"}
	if rest, ok := bytes.CutPrefix(text, []byte("\ufeff")); ok {
		t.mark, text = true, rest
	}
	if bytes.Contains(text, []byte("\r\n")) {
		t.end = "\r\n"
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{" + t.end + "}" + t.end)
	}
	if _, bad := parseJSON(text); bad != nil {
		return nil, fmt.Errorf("%d:%d: %s", bad.line, bad.col, bad.message)
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, err
	}
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New("not an object")
	}
	if len(object.Members) > 0 {
		before := string(object.Members[0].Name.BeforeExtra)
		if i := strings.LastIndexByte(before, '\n'); i >= 0 && strings.TrimSpace(before[i:]) == "" && len(before) > i+1 {
			t.unit = before[i+1:]
		}
	}
	t.root = root
	return t, nil
}

func (t *jsonText) bytes() []byte {
	text := t.root.Pack()
	if t.mark {
		text = append([]byte("\ufeff"), text...)
	}
	return text
}

// section is the object at a path, which is made if need be.
func (t *jsonText) section(path []string) (*hujson.Object, error) {
	object := t.root.Value.(*hujson.Object)
	for depth, name := range path {
		i := index(object, name)
		if i < 0 {
			t.add(object, depth, name, hujson.Value{Value: &hujson.Object{}})
			i = len(object.Members) - 1
		}
		inner, ok := object.Members[i].Value.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%s is not an object", strings.Join(path[:depth+1], "."))
		}
		object = inner
	}
	return object, nil
}

func index(object *hujson.Object, name string) int {
	return slices.IndexFunc(object.Members, func(m hujson.ObjectMember) bool { return literal(m.Name.Value) == name })
}

// add puts a member at the end of an object that is so deep.
func (t *jsonText) add(object *hujson.Object, depth int, name string, value hujson.Value) {
	before := hujson.Extra(t.end + strings.Repeat(t.unit, depth+1))
	closing := object.AfterExtra
	if strings.TrimSpace(string(closing)) != "" {
		// A comment at the end, which is about what is there.
		before = append(bytes.TrimRight(closing, " \t\r\n"), before...)
		closing = nil
	}
	if !bytes.Contains(closing, []byte("\n")) {
		closing = hujson.Extra(t.end + strings.Repeat(t.unit, depth))
	}
	value.BeforeExtra = hujson.Extra(" ")
	if n := len(object.Members); n > 0 && object.Members[n-1].Value.AfterExtra != nil {
		value.AfterExtra = hujson.Extra{} // which hujson writes as a comma at the end
	}
	object.AfterExtra = closing
	object.Members = append(object.Members, hujson.ObjectMember{Name: hujson.Value{BeforeExtra: before, Value: hujson.String(name)}, Value: value})
}

// remove takes a member out, with the comment before it.
func remove(object *hujson.Object, i int) {
	comma := object.Members[len(object.Members)-1].Value.AfterExtra != nil
	// A comment on the line of the member before is about that one.
	if line, _, more := bytes.Cut(object.Members[i].Name.BeforeExtra, []byte("\n")); more && i > 0 && len(bytes.TrimSpace(line)) > 0 {
		next := &object.AfterExtra
		if i+1 < len(object.Members) {
			next = &object.Members[i+1].Name.BeforeExtra
		}
		*next = append(slices.Clone(line), *next...)
	}
	object.Members = slices.Delete(object.Members, i, i+1)
	n := len(object.Members)
	switch {
	case n == 0 && strings.TrimSpace(string(object.AfterExtra)) == "":
		object.AfterExtra = nil
	case n == 0:
	case !comma:
		object.Members[n-1].Value.AfterExtra = nil
	case object.Members[n-1].Value.AfterExtra == nil:
		object.Members[n-1].Value.AfterExtra = hujson.Extra{}
	}
}

// editJSON puts the bridge into a section, and takes out of it what goes.
func editJSON(text []byte, section []string, entry any, goes func(string) bool) (after []byte, shown string, out []string, err error) {
	t, err := readJSON(text)
	if err != nil {
		return nil, "", nil, err
	}
	servers, err := t.section(section)
	if err != nil {
		return nil, "", nil, err
	}
	for i := len(servers.Members) - 1; i >= 0; i-- {
		if name := literal(servers.Members[i].Name.Value); name != ownEntry && goes(name) {
			out = append(out, name)
			remove(servers, i)
		}
	}
	slices.Reverse(out)
	var written bytes.Buffer
	enc := json.NewEncoder(&written)
	enc.SetEscapeHTML(false)
	enc.SetIndent(strings.Repeat(t.unit, len(section)+1), t.unit)
	if err := enc.Encode(entry); err != nil {
		return nil, "", nil, err
	}
	lines := strings.ReplaceAll(strings.TrimSpace(written.String()), "\n", t.end)
	value, err := hujson.Parse([]byte(lines))
	if err != nil {
		return nil, "", nil, err
	}
	plain, err := json.MarshalIndent(entry, "", "  ")
	if err != nil {
		return nil, "", nil, err
	}
	shown = fmt.Sprintf("%q: %s", ownEntry, plain)
	if i := index(servers, ownEntry); i >= 0 {
		was := &servers.Members[i].Value
		if sameJSON(*was, value) {
			if len(out) == 0 {
				return text, shown, nil, nil
			}
		} else {
			was.Value = value.Value
		}
	} else {
		t.add(servers, len(section), ownEntry, value)
	}
	return t.bytes(), shown, out, nil
}

// sameJSON reports whether two values are the same, whatever their spaces.
func sameJSON(a, b hujson.Value) bool {
	plain := func(v hujson.Value) (value any) {
		v = v.Clone()
		v.Standardize()
		json.Unmarshal(v.Pack(), &value)
		return value
	}
	return reflect.DeepEqual(plain(a), plain(b))
}

// restoreJSON takes the bridge out of a section, and puts back what it had.
func restoreJSON(text, old []byte, section []string) ([]byte, error) {
	t, err := readJSON(text)
	if err != nil {
		return nil, err
	}
	now, err := t.section(section)
	if err != nil {
		return nil, err
	}
	if i := index(now, ownEntry); i >= 0 {
		remove(now, i)
	}
	was, err := readJSON(old)
	if err != nil {
		return nil, err
	}
	then, err := was.section(section)
	if err != nil {
		return nil, err
	}
	for _, m := range then.Members {
		if name := literal(m.Name.Value); index(now, name) < 0 {
			value := m.Value.Clone()
			value.AfterExtra = nil
			t.add(now, len(section), name, value)
		}
	}
	return t.bytes(), nil
}

// part is the lines of a TOML file that belong to one server.
type part struct{ from, to int } // to is the first that does not

// parts finds the tables of the servers. The servers of a file that writes them
// otherwise than in tables of their own cannot be taken out.
func parts(text []byte) (lines []string, found map[string][]part, err error) {
	if _, bad := parseTOML(text); bad != nil {
		return nil, nil, fmt.Errorf("%d:%d: %s", bad.line, bad.col, bad.message)
	}
	lines = strings.SplitAfter(string(text), "\n")
	found = map[string][]part{}
	type header struct {
		line int
		path []string
	}
	var headers []header
	for _, t := range tables(text) {
		line := strings.TrimSpace(lines[t.line-1])
		if !strings.HasPrefix(line, "[") {
			own := len(headers) > 0 && len(headers[len(headers)-1].path) > 1 // within the table of a server
			if len(t.path) > 1 && t.path[0] == "mcp_servers" && !own {
				found[t.path[1]] = append(found[t.path[1]], part{-1, -1})
			}
			continue
		}
		if n := len(headers); n > 0 && headers[n-1].line == t.line {
			headers[n-1].path = t.path
			continue
		}
		headers = append(headers, header{t.line, t.path})
	}
	for i, h := range headers {
		if len(h.path) < 2 || h.path[0] != "mcp_servers" {
			continue
		}
		// The comment above a table is about it.
		top := func(line int) int {
			for line > 0 && strings.HasPrefix(strings.TrimSpace(lines[line-1]), "#") {
				line--
			}
			return line
		}
		p := part{top(h.line - 1), len(lines)}
		if i+1 < len(headers) {
			p.to = top(headers[i+1].line - 1)
		}
		found[h.path[1]] = append(found[h.path[1]], p)
	}
	return lines, found, nil
}

// cut takes the parts of a server out of the lines.
func cut(lines []string, of []part, name string) error {
	for _, p := range of {
		if p.from < 0 {
			return fmt.Errorf("server %q is not written as a table of its own, [mcp_servers.%s]; take it out yourself", name, name)
		}
		for i := p.from; i < p.to; i++ {
			lines[i] = ""
		}
	}
	return nil
}

// editTOML is editJSON for the configuration of Codex.
func editTOML(text []byte, r Registration, goes func(string) bool) (after []byte, shown string, out []string, err error) {
	lines, found, err := parts(text)
	if err != nil {
		return nil, "", nil, err
	}
	entry, err := toml.Marshal(map[string]any{"mcp_servers": map[string]any{ownEntry: map[string]any{
		"command": r.Command, "args": r.Args, "tool_timeout_sec": r.Seconds,
	}}})
	if err != nil {
		return nil, "", nil, err
	}
	// Of the library's tables the last is the entry.
	shown = string(entry[bytes.LastIndexByte(entry, '['):])
	if i := strings.Index(string(entry), "["+"mcp_servers."+ownEntry+"]"); i >= 0 {
		shown = string(entry[i:])
	}
	if bytes.Contains(text, []byte("\r\n")) {
		shown = strings.ReplaceAll(shown, "\n", "\r\n")
	}
	for name := range found {
		if name != ownEntry && goes(name) {
			out = append(out, name)
			if err := cut(lines, found[name], name); err != nil {
				return nil, "", nil, err
			}
		}
	}
	slices.Sort(out)
	if was, there := found[ownEntry]; there {
		if len(was) == 1 && was[0].from >= 0 && strings.TrimSpace(strings.Join(lines[was[0].from:was[0].to], "")) == strings.TrimSpace(shown) {
			return []byte(strings.Join(lines, "")), shown, out, nil
		}
		if err := cut(lines, was, ownEntry); err != nil {
			return nil, "", nil, err
		}
	}
	rest := strings.Join(lines, "")
	if rest != "" && !strings.HasSuffix(rest, "\n") {
		rest += "\n"
	}
	if strings.TrimSpace(rest) != "" && !strings.HasSuffix(rest, "\n\n") {
		rest += "\n"
	}
	return []byte(rest + shown), shown, out, nil
}

// restoreTOML takes the bridge out, and puts back what the old file had.
func restoreTOML(text, old []byte, missing func(string) bool) ([]byte, error) {
	lines, found, err := parts(text)
	if err != nil {
		return nil, err
	}
	if err := cut(lines, found[ownEntry], ownEntry); err != nil {
		return nil, err
	}
	rest := strings.TrimRight(strings.Join(lines, ""), "\n") + "\n"
	were, then, err := parts(old)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(then)) {
		if !missing(name) {
			continue
		}
		for _, p := range then[name] {
			rest += "\n" + strings.TrimRight(strings.Join(were[p.from:p.to], ""), "\n") + "\n"
		}
	}
	return []byte(rest), nil
}
