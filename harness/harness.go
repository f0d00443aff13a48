// Package harness makes testscript scenarios speak with the bridge: it plays
// the agent over stdio, and tells what the bridge has left behind. It runs the
// scenarios of this project as Go tests, and those of users for bridge test.
//
// It knows the MCP of an agent, and processes. It does not know how the
// bridge is made.
package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Require is the variable of the environment that turns every skip into a
// failure: CI sets it to 1.
const Require = "BRIDGE_TEST_REQUIRE"

// engineVariables tell clients of podman and docker where these are.
var engineVariables = []string{"XDG_RUNTIME_DIR", "CONTAINER_HOST", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "CONTAINERS_REGISTRIES_CONF", "DOCKER_HOST"}

// RunDir runs the scenarios of a folder whose names are wanted. The commands are
// those of testscript and those listed in Commands; the conditions and the
// variables are those given. If prepare is not nil it is called for each scenario
// before it begins.
func RunDir(t *testing.T, dir string, wanted func(name string) bool, conditions map[string]bool, env map[string]string, prepare func(*testscript.Env) error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in %s: %v", dir, err)
	}
	for _, file := range files {
		if !wanted(title(file)) {
			continue
		}
		t.Run(title(file), func(t *testing.T) {
			testscript.RunT(alone{strict{t}}, testscript.Params{
				Files:               []string{file},
				Cmds:                Commands(),
				RequireExplicitExec: true,
				RequireUniqueNames:  true,
				UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
				Condition: func(name string) (bool, error) {
					return conditions[name], nil
				},
				Setup: func(e *testscript.Env) error {
					e.Setenv("TOY_LOG", e.WorkDir+"/toy.log")
					for name, value := range env {
						e.Setenv(name, value)
					}
					if prepare != nil {
						if err := prepare(e); err != nil {
							return err
						}
					}
					return setUp(e, file)
				},
			})
		})
	}
}

// title is the name of the scenario in a file.
func title(file string) string {
	return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
}

// setUp gives the scenario in a file a home of its own, and an agent.
func setUp(e *testscript.Env, file string) error {
	e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
	e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, "home", ".config"))
	// Where engines listen is the machine's to say.
	for _, name := range engineVariables {
		// Podman takes one that is empty for the name of a file.
		if value := os.Getenv(name); value != "" {
			e.Setenv(name, value)
		}
	}
	names, err := variables(e.Vars, file)
	if err != nil {
		return err
	}
	a := &agent{work: e.WorkDir, variables: names}
	e.Values[agentKey{}] = a
	e.Defer(a.end)
	return nil
}

// alone is the test of one scenario, which testscript takes for the test of a
// folder with this scenario in it.
type alone struct{ testscript.T }

// Run runs the scenario.
func (a alone) Run(_ string, f func(testscript.T)) { f(a.T) }

// strict is a test in which a skip is a failure if the environment says so.
type strict struct{ *testing.T }

func (s strict) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(strict{t}) })
}

func (s strict) Skip(why ...any) {
	Skip(s.T, why...)
}

func (s strict) Verbose() bool { return testing.Verbose() }

// Skip skips a test, or fails it where nothing may be skipped.
func Skip(t testing.TB, why ...any) {
	t.Helper()
	if os.Getenv(Require) == "1" {
		t.Fatal(append([]any{"skipped although " + Require + "=1: "}, why...)...)
	}
	t.Skip(why...)
}

// Commands are the commands of scenarios beyond testscript's own.
func Commands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"mcp":        cmdMCP,
		"run_python": cmdRunPython,
		"waitfor":    cmdWaitfor,
	}
}

// usage ends a scenario that calls a command in the wrong way.
func usage(ts *testscript.TestScript, text string) {
	ts.Fatalf("usage: %s", strings.TrimSpace(text))
}
