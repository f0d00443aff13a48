package harness

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

// What the command env of a scenario sets, by line and by variable.
var (
	envLine    = regexp.MustCompile(`(?m)^[ \t]*(?:\[[^]\n]*\][ \t]*)*env[ \t]+(.*)$`)
	assignment = regexp.MustCompile(`(?:^|[ \t'])([A-Za-z_][A-Za-z0-9_]*)=`)
)

// variables are the names of a scenario's variables: those it begins with and
// those that it sets. Testscript gives the value of a variable, and no list.
func variables(begin []string, file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range begin {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	for _, line := range envLine.FindAllSubmatch(txtar.Parse(text).Comment, -1) {
		for _, set := range assignment.FindAllSubmatch(line[1], -1) {
			names = append(names, string(set[1]))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// environ is the scenario's environment, as far as commands are to see it.
func environ(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range agentOf(ts).variables {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}
