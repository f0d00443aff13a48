package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bridge/definition"
	"bridge/policy"
)

// A toolList is what a real server says of its tools, without the words: names,
// annotations, and the schemas of arguments.
type toolList struct {
	Server string   // its package, or its address
	Env    []string // variables that it reads
	Tools  json.RawMessage
}

// isOf tells whether the list is of the server that a policy defines.
func (l toolList) isOf(s definition.Server) bool {
	return s.URL == l.Server || slices.Contains(s.Args, l.Server)
}

// TestRealTools vets every policy of README.md, the docs and the cookbook against
// the tools that the servers which it names really have.
func TestRealTools(t *testing.T) {
	files, err := filepath.Glob("testdata/servers/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no lists", err)
	}
	var lists []toolList
	for _, file := range files {
		var l toolList
		if err := json.Unmarshal([]byte(read(t, file)), &l); err != nil {
			t.Fatal(file, err)
		}
		lists = append(lists, l)
	}
	for name, text := range shownPolicies(t) {
		t.Run(name, func(t *testing.T) { vetReal(t, text, lists) })
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shownPolicies are the policies that users see, by where they are.
func shownPolicies(t *testing.T) map[string]string {
	shown := map[string]string{}
	pages, _ := filepath.Glob("docs/*.md")
	for _, page := range append(pages, "README.md") {
		if !strings.Contains(read(t, page), "```cue\n") {
			continue
		}
		for i, block := range blocksOf(t, page, "cue") {
			if strings.Contains(block, "profiles:") {
				shown[fmt.Sprintf("%s %d", page, i+1)] = block
			}
		}
	}
	files, _ := filepath.Glob("policies/cookbook/*.cue")
	for _, file := range files {
		shown[file] = read(t, file)
	}
	if len(shown) < 15 {
		t.Fatalf("only %d policies are shown", len(shown))
	}
	return shown
}

// vetReal vets one policy. What other clients are said to have are a server of
// GitHub's and one of docs.
func vetReal(t *testing.T, text string, lists []toolList) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("servers", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("policy.cue", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := policy.Load([]string{"policy.cue"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range p.Profiles() {
		profile, err := p.Profile(name)
		if err != nil {
			t.Fatal(err)
		}
		servers := profile.Servers
		if len(profile.Discover) > 0 {
			servers = append(servers,
				definition.Server{Name: "github", Args: []string{"@modelcontextprotocol/server-github"}},
				definition.Server{Name: "docs", Args: []string{"@upstash/context7-mcp"}})
		}
		for _, s := range servers {
			i := slices.IndexFunc(lists, func(l toolList) bool { return l.isOf(s) })
			if i < 0 {
				t.Errorf("server %q: testdata/servers has no list of its tools", s.Name)
				continue
			}
			for name := range s.Env {
				if !slices.Contains(lists[i].Env, name) {
					t.Errorf("server %q does not read %s, but %v", s.Name, name, lists[i].Env)
				}
			}
			list := fmt.Sprintf(`{"tools": %s}`, lists[i].Tools)
			if err := os.WriteFile(filepath.Join("servers", s.Name+".json"), []byte(list), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("HOME", ".")
	t.Setenv("XDG_CONFIG_HOME", "")
	cmd := exec.Command("bridge", "vet", "--live", "--strict-warnings", "--stand-ins", "servers", "policy.cue")
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
