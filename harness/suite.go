package harness

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Options say which scenarios of a user are run, and how.
type Options struct {
	Paths    []string       // scenarios, folders of them, and FOLDER/... with those below
	Policies []string       // what is tested; none for the policies that are built in
	Engines  []string       // all engines, each of which is a condition; the first is preferred
	Engine   string         // the engine of every profile, "" for the first that is ready
	Match    *regexp.Regexp // the names of the scenarios to run, nil for all
	Count    int            // how often each is run
	Parallel int            // how many are run at once
	Update   bool           // whether a cmp that fails writes what there is into the scenario
	Verbose  bool           // whether what has passed is told too
	Out      io.Writer      // what is told, as go test does
}

// A suite is the scenarios of one call of bridge test.
type suite struct {
	Options
	folders  []*folder
	policies []policyFile
	bin      string          // the folder of the command bridge
	stopped  <-chan struct{} // closed when scenarios are to end early
}

// A folder is scenarios that lie together, as the tests of a package do.
type folder struct {
	name   string
	trials []*trial
}

// Run runs scenarios until all have ended, or the context has: then those that
// run are ended and have failed. Nothing that they have started outlives it.
// The report is told to Out as it comes; an error means that there is none.
func Run(ctx context.Context, o Options) (*Report, error) {
	s := &suite{Options: o, stopped: ctx.Done()}
	var err error
	if s.folders, err = s.collect(); err != nil {
		return nil, err
	}
	if s.policies, err = readPolicies(o.Policies); err != nil {
		return nil, err
	}
	if s.bin, err = wrapper(); err != nil {
		return nil, err
	}
	defer os.RemoveAll(s.bin)
	// What a scenario leaves behind comes to us, and is ended.
	adopt()
	// The condition [short] asks package testing.
	if !flag.Parsed() {
		testing.Init()
		flag.CommandLine.Parse(nil)
	}
	return s.run(ctx), nil
}

func (s *suite) run(ctx context.Context) *Report {
	var all []*trial
	for _, f := range s.folders {
		all = append(all, f.trials...)
	}
	finished := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-ctx.Done():
			endChildren(finished)
		case <-finished:
		}
	}()
	go func() {
		slots := make(chan struct{}, max(s.Parallel, 1))
		for _, t := range all {
			slots <- struct{}{}
			go func() {
				defer func() { <-slots }()
				s.try(ctx, t)
			}()
		}
	}()
	r := s.report()
	close(finished)
	<-ended
	endChildren(nil)
	return r
}

// try runs one scenario to its end.
func (s *suite) try(ctx context.Context, t *trial) {
	t.began = time.Now()
	defer func() {
		t.took = time.Since(t.began)
		if t.verdict == fail {
			t.Log(t.words)
			if ctx.Err() != nil {
				t.Log(context.Cause(ctx))
			}
		}
		close(t.done)
	}()
	if ctx.Err() != nil {
		t.Fatal("not run")
	}
	testscript.RunT(t, testscript.Params{
		Files:              []string{t.file},
		Cmds:               userCommands(),
		Condition:          s.condition,
		RequireUniqueNames: true,
		UpdateScripts:      s.Update,
		Setup:              func(e *testscript.Env) error { return s.setUp(e, t) },
	})
}

// condition is true for the engine that is asked for.
func (s *suite) condition(name string) (bool, error) {
	if slices.Contains(s.Engines, name) {
		return name == cmp.Or(s.Engine, s.Engines[0]), nil
	}
	return false, fmt.Errorf("unknown condition %q; there are %s and those of testscript", name, strings.Join(s.Engines, ", "))
}

// setUp gives a scenario the policies, and the command bridge.
func (s *suite) setUp(e *testscript.Env, t *trial) error {
	e.Setenv("PATH", s.bin+string(os.PathListSeparator)+e.Getenv("PATH"))
	if s.Engine != "" {
		e.Setenv("MCP_BRIDGE_RUNTIME", s.Engine)
	}
	e.Setenv("MCP_BRIDGE_LOG_LEVEL", "warn") // for the report of a scenario that fails
	if err := bring(s.policies, filepath.Join(e.WorkDir, policiesFolder)); err != nil {
		return err
	}
	if st, err := os.Stat(filepath.Join(e.WorkDir, policiesFolder)); err == nil && st.IsDir() {
		e.Setenv("BRIDGE_POLICIES", policiesFolder)
		e.Setenv("POLICIES", policiesFolder)
	}
	e.Defer(func() { t.words = lastWords(filepath.Join(e.WorkDir, "bridge.log")) })
	if err := SetUp(e, t.file); err != nil {
		return err
	}
	e.Values[agentKey{}].(*Agent).stopped = s.stopped
	return nil
}

// lastWords are the last lines of what the bridge has logged.
func lastWords(file string) string {
	text, err := os.ReadFile(file)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err != nil || lines[0] == "" {
		return ""
	}
	return "bridge.log:\n" + strings.Join(lines[max(0, len(lines)-20):], "\n")
}
