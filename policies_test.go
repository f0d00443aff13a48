package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bridge/harness/project"
	"bridge/sandbox"
	"bridge/sandbox/native"
)

// needNative skips a test that cannot make sandboxes without a container engine.
func needNative(t *testing.T) {
	t.Helper()
	engine := native.New()
	t.Cleanup(engine.Close)
	if err := engine.Ready(t.Context(), sandbox.Spec{}); err != nil {
		project.Skip(t, err)
	}
}

// TestPolicies runs the scenarios of the policies that come with the bridge, as
// their users would run their own.
func TestPolicies(t *testing.T) {
	needNative(t)
	for policies, scenarios := range map[string]string{"policies": "policies/scenarios", "policies/cookbook": "policies/cookbook"} {
		out, err := exec.Command("bridge", "test", "--policies", policies, scenarios).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", scenarios, err, out)
		}
	}
}

// TestCookbook vets each policy of the cookbook by itself, and sees that it says
// what it is not good for, and has a scenario and its line in the list.
func TestCookbook(t *testing.T) {
	list, err := os.ReadFile("docs/cookbook.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("policies/cookbook/*.cue")
	if err != nil || len(files) == 0 {
		t.Fatalf("the cookbook is empty: %v", err)
	}
	for _, file := range files {
		if out, err := exec.Command("bridge", "vet", "--strict-warnings", file).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if intro, _, _ := strings.Cut(string(text), "\nservers: "); !strings.Contains(intro, "does not") && !strings.Contains(intro, "not the first") {
			t.Errorf("%s does not say what it does not do", file)
		}
		scenario := strings.TrimSuffix(file, ".cue") + ".txtar"
		if _, err := os.Stat(scenario); err != nil {
			t.Error(err)
		}
		for _, link := range []string{file, scenario} {
			if !strings.Contains(string(list), "](../"+filepath.ToSlash(link)+")") {
				t.Errorf("docs/cookbook.md has no link to %s", link)
			}
		}
	}
}

// TestCI runs the commands that docs/ci.md gives to CI systems.
func TestCI(t *testing.T) {
	needNative(t)
	pages := append(blocksOf(t, "docs/ci.md", "yaml"), blocksOf(t, "docs/ci.md", "sh")...)
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "policies"), os.DirFS("policies")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	seen := map[string]bool{}
	for _, page := range pages {
		for line := range strings.Lines(page) {
			line = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(line), "run: "), "- ")
			if !strings.HasPrefix(line, "bridge ") || seen[line] {
				continue
			}
			seen[line] = true
			if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		}
	}
	if len(seen) < 3 {
		t.Errorf("docs/ci.md has only %d commands of the bridge", len(seen))
	}
}

// TestTestingPage runs the scenario of docs/testing.md, and reads its stand-ins.
func TestTestingPage(t *testing.T) {
	needNative(t)
	page := "docs/testing.md"
	reader := "\n-- policies/team.cue --\nservers: github: command: \"github\"\nprofiles: reader: servers: github: tools: list_issues: {}\n"
	every := "-- policies/team.cue --\nservers: github: command: \"github\"\nprofiles: default: servers: github: tools: [_]: {}\n"
	scenarios := map[string]string{
		"page":   blocksOf(t, page, "")[0] + reader,
		"python": "call github.list-issues owner=acme repo=site\nstdout '\"state\": \"open\"'\n" + every + "-- servers/github.py --\n" + blocksOf(t, page, "python")[0],
		"cue":    "call github.create_issue owner=acme repo=site title='A bug'\nstdout '^created A bug in acme/site$'\n" + every + "-- servers/github.cue --\n" + blocksOf(t, page, "cue")[0],
		"json":   "call github.get_me\nstdout '\"login\": \"ada\"'\n" + every + "-- servers/github.json --\n" + blocksOf(t, page, "json")[0],
	}
	dir := t.TempDir()
	for name, text := range scenarios {
		if err := os.WriteFile(filepath.Join(dir, name+".txtar"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("bridge", "test", dir).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
