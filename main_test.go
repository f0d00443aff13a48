package main

import (
	"bytes"
	"cmp"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bridge/cli"
	"bridge/harness/project"
	"bridge/harness/standin"
	"bridge/harness/toy"
	"bridge/sandbox"
	"bridge/sandbox/container"
	"bridge/sandbox/engines"
	"bridge/sandbox/native"
)

// TestMain registers the real bridge, and a server for it to call, as
// commands of the scenarios.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"bridge": func() { os.Exit(cli.Main(containerfile)) },
		"toy":    func() { os.Exit(toy.Main()) },
		// STANDIN FILE LOG: a server made of the functions of a file.
		"standin": func() { os.Exit(standin.Main(os.Args[1], os.Args[2])) },
	})
}

// Engines is the variable of the environment that names the engines whose
// tests are run, with spaces between them. All are if it is empty.
const Engines = "BRIDGE_TEST_ENGINES"

// Pull is the variable of the environment that names an image with Python in a
// registry, for the engines to fetch.
const Pull = "BRIDGE_TEST_PULL"

// forEachEngine runs a test on each engine that is wanted and present, native
// first.
func forEachEngine(t *testing.T, test func(t *testing.T, engine sandbox.Engine)) {
	all := engines.All(engines.Options{Image: container.OwnImage(containerfile)})
	slices.Reverse(all)
	for _, engine := range all {
		t.Cleanup(engine.Close)
		name := engine.Name()
		if only := strings.Fields(os.Getenv(Engines)); len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if err := engine.Ready(t.Context(), sandbox.Spec{Rootful: true}); err != nil {
				project.Skip(t, err)
			}
			test(t, engine)
		})
	}
}

// once matches scenarios that no engine has a part in: the same goes over the
// wire on all of them, and what they state is decided and worded by the bridge.
// Of these, every matches those that send much or in parallel, that have an end
// or a time, or that need a mount.
var (
	once  = regexp.MustCompile(`^(audit|call|discover|explain|limit_bridge|memory|npm|serve|upstream|vet)_`)
	every = regexp.MustCompile(`^(call_(images|names|parallel|results|timeout|unfinished)|memory_(folder|import|large|reach|tools)|serve_(killed|progress|reload_session|signal|usual|vanished)|upstream_crash)\.`)
)

// TestScript runs the specification, once for each engine that is present. What
// does not depend on the engine is run on the first of them alone.
func TestScript(t *testing.T) {
	first := ""
	forEachEngine(t, func(t *testing.T, engine sandbox.Engine) {
		name := engine.Name()
		first = cmp.Or(first, name)
		wanted := func(scenario string) bool {
			return name == first || every.MatchString(scenario) || !once.MatchString(scenario)
		}
		peers, err := filepath.Abs("testdata/npm/node_modules")
		if err != nil {
			t.Fatal(err)
		}
		typist, err := filepath.Abs("testdata/typist.py")
		if err != nil {
			t.Fatal(err)
		}
		prepare := rootful
		if engine.Ready(t.Context(), sandbox.Spec{}) == nil {
			prepare = nil
		}
		conditions := map[string]bool{
			"rootless": os.Geteuid() != 0,
			"memory":   holdsMemory(t, engine),
			"npm":      present(peers),
			"jq":       name != native.Name || found("jq"),
			"pull":     os.Getenv(Pull) != "",
		}
		for _, other := range engines.Names() {
			conditions[other] = other == name
		}
		project.RunDir(t, "testdata/script", wanted, conditions, map[string]string{"NPM": peers, "TYPIST": typist, "PULL": os.Getenv(Pull), "MCP_BRIDGE_RUNTIME": name}, prepare)
	})
}

// rootful makes the policies of a scenario allow what an engine that runs as
// root wants to be allowed: those that it has written, at their ends, where no
// line moves; and the built-in ones.
func rootful(e *testscript.Env) error {
	own := filepath.Join(e.WorkDir, ".policies")
	if err := os.CopyFS(own, os.DirFS("policies")); err != nil {
		return err
	}
	e.Setenv("BRIDGE_POLICIES", own)
	return filepath.WalkDir(e.WorkDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".cue" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("profiles: ")) {
			return err
		}
		return os.WriteFile(path, append(text, "\nprofiles: [string]: rootful: true\n"...), 0o644)
	})
}

// holdsMemory tells whether the engine can hold the memory of a whole sandbox
// on this machine, as it says itself.
func holdsMemory(t *testing.T, e sandbox.Engine) bool {
	box, err := e.Start(t.Context(), sandbox.Spec{Rootful: true}, []string{"-I", "-c", ""}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Wait()
	defer box.Kill()
	return box.Limits()["memory"] != ""
}

func present(dir string) bool {
	st, err := os.Stat(filepath.Join(dir, "@modelcontextprotocol"))
	return err == nil && st.IsDir()
}

func found(command string) bool {
	_, err := exec.LookPath(command)
	return err == nil
}
