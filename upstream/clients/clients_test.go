package clients

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/want.txt")

// testHome copies the home folder of testdata, which has a file for each
// client, as they have been seen.
func testHome(t *testing.T) Options {
	t.Helper()
	home := t.TempDir()
	if err := os.CopyFS(home, os.DirFS("testdata/home")); err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Abs("testdata/more.json")
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Home: home, GOOS: "linux", Dir: "/home/user/blog/posts", Self: "/nowhere/bridge",
		Environ: []string{Config + "=" + more, "CODEX_PASSED=1"},
	}
}

// TestFind holds what is found in the configurations of all clients, and what
// is said of what cannot be used.
func TestFind(t *testing.T) {
	o := testHome(t)
	found, warnings := Find([]string{All}, o)
	var text strings.Builder
	plain := strings.NewReplacer(o.Home, "~", filepath.Dir(strings.TrimPrefix(o.Environ[0], Config+"=")), "testdata")
	for _, f := range found {
		d := f.Server
		d.Name = ""
		line, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s (%s, %s)\n\t%s\n", f.Name, f.Client, f.Source, brief(line))
	}
	text.WriteString("\n")
	for _, w := range warnings {
		fmt.Fprintln(&text, w)
	}
	got := plain.Replace(text.String())
	if *update {
		if err := os.WriteFile("testdata/want.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/want.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// brief leaves out what is empty.
func brief(line []byte) string {
	var all map[string]any
	if err := json.Unmarshal(line, &all); err != nil {
		return err.Error()
	}
	for name, value := range all {
		switch v := value.(type) {
		case nil:
			delete(all, name)
		case string:
			if v == "" {
				delete(all, name)
			}
		case float64:
			if v == 0 {
				delete(all, name)
			}
		case map[string]any:
			if len(v) == 0 {
				delete(all, name)
			}
		case []any:
			if len(v) == 0 {
				delete(all, name)
			}
		}
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(all); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(out.String())
}

// TestSources tells that a source stands for its own client only, and a path
// for that file.
func TestSources(t *testing.T) {
	o := testHome(t)
	for _, c := range []struct {
		sources []string
		want    string
	}{
		{[]string{"cursor"}, "linear postgres"},
		{[]string{"mcp", "zed"}, "clock notes hex older zed-remote"},
		{[]string{"~/MCPs/team.json"}, "tracker"},
		{[]string{"~/absent.json"}, ""},
		{nil, ""},
	} {
		found, _ := Find(c.sources, o)
		var names []string
		for _, f := range found {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%v: %q, want %q", c.sources, got, c.want)
		}
	}
	_, warnings := Find([]string{"~/absent.json"}, o)
	if len(warnings) != 1 || !strings.HasSuffix(warnings[0].String(), "absent.json: no such file or directory") {
		t.Errorf("of a file that is not there: %v", warnings)
	}
}

// TestPlatforms tells where Claude Desktop keeps its configuration.
func TestPlatforms(t *testing.T) {
	for goos, want := range map[string]string{
		"darwin":  "/h/Library/Application Support/Claude/claude_desktop_config.json",
		"windows": "/h/AppData/Roaming/Claude/claude_desktop_config.json",
		"linux":   "/h/.config/Claude/claude_desktop_config.json",
	} {
		files := Files([]string{"claude-desktop"}, Options{Home: "/h", GOOS: goos, Environ: []string{}})
		if files[0] != want {
			t.Errorf("%s: %s, want %s", goos, files[0], want)
		}
	}
}

// TestOwn tells that the bridge does not find itself, unless it is asked to.
func TestOwn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	link := filepath.Join(dir, "python-tool")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "servers.json")
	text := fmt.Sprintf(`{"mcpServers": {
		"sandbox": {"command": %q, "args": ["--profile", "strict"]},
		"Code_Execution": {"command": "something"},
		"old": {"command": "uvx", "args": ["--from", "git+https://git.example/mcp-server-code-execution-mode", "run"]},
		"files": {"command": "files-mcp", "args": ["/src/mcp-server-code-execution-mode"]}
	}}`, link)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	names := func(o Options) (list []string) {
		found, _ := Find([]string{file}, o)
		for _, f := range found {
			list = append(list, f.Name)
		}
		return list
	}
	if got := names(Options{}); !slices.Equal(got, []string{"files"}) {
		t.Errorf("found %v, want files alone", got)
	}
	if got := names(Options{AllowSelf: true}); len(got) != 4 {
		t.Errorf("found %v although it may find itself, want all four", got)
	}
}

// TestNoValueIsTold tells that warnings hold no value of a file, however broken
// it is.
func TestNoValueIsTold(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.json": `{"mcpServers": {"a": {"command": "x", "env": {"KEY": s3cret}}}}`,
		"b.json": `{"mcpServers": {"a": {"command": "x", "env": {"KEY": ["s3cret"]}}}}`,
		"c.json": `{"mcpServers": {"a": {"url": "s3cret://x"}}}`,
		"d.json": `{"mcpServers": {"a": {"command": "x", "args": [{"s3cret": 1}]}}}`,
		"e.json": `{"mcpServers": {"a": {"command": ["s3cret", null]}}}`,
		"f.toml": "[mcp_servers.a]\nenv = { KEY = s3cret }",
		"g.json": `{"mcpServers": {"a": {"command": "x", "env": "s3cret"}}}`,
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		found, warnings := Find([]string{file}, Options{})
		if len(found) > 0 || len(warnings) == 0 {
			t.Errorf("%s: %v, %v", text, found, warnings)
		}
		if strings.Contains(fmt.Sprint(warnings), "s3cret") {
			t.Errorf("%s: %v", text, warnings)
		}
	}
}

// FuzzFind tells that no file makes the reading fail in another way than with
// warnings, and that what is found can be named.
func FuzzFind(f *testing.F) {
	f.Add(`{"mcpServers": {"a": {"command": "x"}}}`, ".json")
	f.Add("[mcp_servers.a]\ncommand = 'x'", ".toml")
	f.Add(`{"mcp": {"servers": {"a": {"command": ["x"]}}}}`, ".json")
	f.Fuzz(func(t *testing.T, text, ext string) {
		if ext != ".toml" {
			ext = ".json"
		}
		file := filepath.Join(t.TempDir(), "f"+ext)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		found, _ := Find([]string{file}, Options{Home: "/h", Environ: []string{}, Dir: "/h", Self: "/h/bridge"})
		for _, s := range found {
			if s.Name == "" || s.Command == "" && s.URL == "" {
				t.Errorf("%+v", s)
			}
		}
	})
}

// TestTheDocumentHasAllClients holds docs/clients.md against the table.
func TestTheDocumentHasAllClients(t *testing.T) {
	text, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, name := range Names() {
		i := strings.Index(string(text), "| `"+name+"` |")
		if i < at {
			t.Errorf("%s is not in its place in docs/clients.md", name)
		}
		at = i
	}
}

// Names are the clients that the package knows, in the order in which they are
// read, as sources of Find.
func Names() []string {
	var list []string
	for _, c := range known {
		list = append(list, c.name)
	}
	return list
}
