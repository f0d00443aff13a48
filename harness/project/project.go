// Package project runs this project's own scenarios as Go tests, and has what else
// its tests share. It is in no binary.
package project

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bridge/harness"
)

// Require is the variable of the environment that turns every skip into a
// failure: CI sets it to 1.
const Require = "BRIDGE_TEST_REQUIRE"

// RunDir runs the scenarios of a folder whose names are wanted. The commands are
// those of testscript and those of harness.Commands; the conditions and the
// variables are those given. If prepare is not nil it is called for each scenario
// before it begins.
func RunDir(t *testing.T, dir string, wanted func(name string) bool, conditions map[string]bool, env map[string]string, prepare func(*testscript.Env) error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in %s: %v", dir, err)
	}
	for _, file := range files {
		if !wanted(harness.Title(file)) {
			continue
		}
		t.Run(harness.Title(file), func(t *testing.T) {
			testscript.RunT(alone{strict{t}}, testscript.Params{
				Files:               []string{file},
				Cmds:                harness.Commands(),
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
					return harness.SetUp(e, file)
				},
			})
		})
	}
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

// An Agent is an agent outside of a scenario, where many runs share a session.
type Agent struct{ agent *harness.Agent }

// Dial starts a bridge and initializes it. It ends with the test.
func Dial(t testing.TB, cmd *exec.Cmd) *Agent {
	t.Helper()
	a, err := harness.Connect(t.TempDir(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.End)
	return &Agent{a}
}

// RunPython runs code in the session and gives the text of the result. Other
// content is a line that names its type, in brackets.
func (a *Agent) RunPython(code string) (string, error) {
	raw, err := a.agent.Call("tools/call", map[string]any{"name": "run_python", "arguments": map[string]any{"code": code}})
	if err != nil {
		return "", err
	}
	var r struct {
		Content []struct{ Type, Text string }
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return "", err
	}
	var text strings.Builder
	for _, c := range r.Content {
		if c.Type != "text" {
			c.Text = "[" + c.Type + "]"
		}
		text.WriteString(strings.TrimRight(c.Text, "\n") + "\n")
	}
	return text.String(), nil
}
