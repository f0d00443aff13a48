package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bridge/cli"
	"bridge/harness"
	"bridge/harness/toy"
	"bridge/sandbox"
	"bridge/sandbox/native"
)

// TestMain registers the real bridge, and a server for it to call, as
// commands of the scenarios.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"bridge": func() { os.Exit(cli.Main(containerfile)) },
		"toy":    func() { os.Exit(toy.Main()) },
	})
}

// TestScript runs the specification, once for each engine that is present.
func TestScript(t *testing.T) {
	for _, engine := range []sandbox.Engine{native.New()} {
		t.Run(engine.Name(), func(t *testing.T) {
			if err := engine.Ready(t.Context(), sandbox.Spec{}); err != nil {
				harness.Skip(t, err)
			}
			peers, err := filepath.Abs("testdata/npm/node_modules")
			if err != nil {
				t.Fatal(err)
			}
			harness.Run(t, "testdata/script", map[string]bool{
				"native": engine.Name() == "native",
				"npm":    present(peers),
				"jq":     found("jq"),
			}, map[string]string{"NPM": peers})
		})
	}
}

func present(dir string) bool {
	st, err := os.Stat(filepath.Join(dir, "@modelcontextprotocol"))
	return err == nil && st.IsDir()
}

func found(command string) bool {
	_, err := exec.LookPath(command)
	return err == nil
}
