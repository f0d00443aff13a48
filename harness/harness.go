// Package harness runs testscript scenarios against the bridge: it plays the agent
// over stdio. It is what bridge test runs users' scenarios with.
//
// It knows the MCP of an agent, and processes. It does not know the bridge's
// insides. What only this project's own tests need is in package project.
package harness

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// engineVariables tell clients of podman and docker where these are.
var engineVariables = []string{"XDG_RUNTIME_DIR", "CONTAINER_HOST", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "CONTAINERS_REGISTRIES_CONF", "DOCKER_HOST"}

// SetUp gives the scenario in a file its own home, and an agent.
func SetUp(e *testscript.Env, file string) error {
	e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
	e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, "home", ".config"))
	// Scenarios use the engines of this machine.
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
	a := &Agent{work: e.WorkDir, variables: names}
	e.Values[agentKey{}] = a
	e.Defer(a.End)
	return nil
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
