package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"bridge/harness"
	"bridge/policy"
	"bridge/sandbox/engines"
)

const testPage = `Test runs scenarios against policies, as go test runs tests. A scenario is a file
NAME.txtar: commands, and after them the files that they need. A PATH is such a
file, a folder of them, or FOLDER/... for those below it as well.

    # Issues can be read, and nothing can be merged.
    profile reader
    call github.list_issues owner=acme repo=site
    stdout 'a bug'
    ! call github.merge_pull_request owner=acme repo=site pull_number:=1
    stderr 'github\.merge_pull_request: denied by profile "reader"'
    ! grep merge_pull_request github.log

    -- servers/github.py --
    def list_issues(owner: str, repo: str):
        return [{"title": "a bug"}]
    def merge_pull_request(owner: str, repo: str, pull_number: int):
        pass

No server of the policy is started. A file in servers/ stands in for the server
of its name: functions in Python (NAME.py), or data (NAME.cue, NAME.json) of the
form tools: TOOL: {result: …}; each call is a line of NAME.log. Files in
mounts/data/ are what the profile mounts at /data. Profiles that name no engine
run on native if that is ready.

The commands are those of testscript (exec, stdout, stderr, cmp, exists, grep, env,
and so on; see pkg.go.dev/github.com/rogpeppe/go-internal/testscript) and

    profile [-elicit ANSWER] NAME [POLICIES…]
                                an agent connects, under the profile, in a new session;
                                a person answers what it is asked: accept, always (for
                                the run), decline or cancel. Questions are in asked.txt
    call SERVER.TOOL [JSON | NAME=TEXT | NAME:=JSON]…
                                call a tool with any arguments, in a run of its own
    run_python FILE             run code; what the agent is shown goes to stdout
    mcp METHOD [PARAMS]         any other request of an agent
    bridge ARGUMENT…            any command of the bridge: vet, run and so on
    waitfor FILE REGEXP         wait until a file holds a match

A "!" before a command says that it must fail. The policies that are tested are
copied to the scenario's folder policies, $POLICIES; with -- policies/x.cue -- a
scenario brings its own instead.

The exit status is 0 if all have passed, 1 if not.`

// tests are the flags of bridge test.
type tests struct {
	options harness.Options
	match   string
	junit   string
	timeout time.Duration
}

func newTest() *cobra.Command {
	var c choice
	var t tests
	cmd := &cobra.Command{
		Use:   "test PATH...",
		Short: "run scenarios against policies, with nothing real behind them",
		Long:  testPage,
		Example: `  bridge test scenarios/
  bridge test --policies policies/ -v --run 'read' scenarios/...
  bridge test --junit report.xml scenarios/`,
		Args: func(_ *cobra.Command, paths []string) error {
			if len(paths) == 0 {
				return usagef("no scenarios named")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, paths []string) error {
			t.options.Paths, t.options.Policies, t.options.Out = paths, c.paths(), cmd.OutOrStdout()
			return t.run()
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&c.policies, "policies", nil, "test the policy file or folder of them at `PATH` (repeatable; default as for every command)")
	f.StringVar(&t.match, "run", "", "run only scenarios whose name matches `REGEXP`")
	f.BoolVarP(&t.options.Verbose, "verbose", "v", false, "print everything that the scenarios do")
	f.BoolVar(&t.options.Update, "update", false, "where cmp finds a difference, update the file in the scenario")
	f.IntVar(&t.options.Count, "count", 1, "run each scenario `N` times")
	f.IntVar(&t.options.Parallel, "parallel", runtime.GOMAXPROCS(0), "run `N` scenarios at once")
	f.DurationVar(&t.timeout, "timeout", 10*time.Minute, "stop after the time `D`, such as 30s")
	f.StringVar(&t.options.Engine, "engine", "", "run on the engine `NAME`: native, podman or docker")
	f.StringVar(&t.junit, "junit", "", "write a report for CI, JUnit XML, to `FILE`")
	return cmd
}

func (t *tests) run() error {
	if err := t.check(); err != nil {
		return err
	}
	// A mistake in the policies would be one in every scenario.
	if _, err := policy.Load(t.options.Policies); err != nil {
		var list policy.Errors
		if errors.As(err, &list) {
			return report(list)
		}
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, t.timeout, fmt.Errorf("ended after %s, the timeout of bridge test", t.timeout))
	defer cancel()
	r, err := harness.Run(ctx, t.options)
	if err != nil {
		return err
	}
	if t.junit != "" {
		if err := t.write(r); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	if !r.Passed {
		return exitStatus(1)
	}
	return nil
}

// check finds mistakes in the flags.
func (t *tests) check() error {
	var err error
	if t.match != "" {
		if t.options.Match, err = regexp.Compile(t.match); err != nil {
			return usagef("--run: %w", err)
		}
	}
	t.options.Engines = engines.Names()
	slices.Reverse(t.options.Engines) // as choice.engines tries them for a scenario
	switch o := t.options; {
	case o.Engine != "" && !slices.Contains(o.Engines, o.Engine):
		return usagef("--engine: unknown engine %q; engines: %s", o.Engine, strings.Join(engines.Names(), ", "))
	case o.Count < 1:
		return usagef("--count: %d is not 1 or more", o.Count)
	case o.Parallel < 1:
		return usagef("--parallel: %d is not 1 or more", o.Parallel)
	case t.timeout <= 0:
		return usagef("--timeout: %s is not more than 0", t.timeout)
	}
	return nil
}

func (t *tests) write(r *harness.Report) error {
	f, err := os.Create(t.junit)
	if err != nil {
		return err
	}
	if err := r.JUnit(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// asGoTest is a command line in which the flags of bridge test may be written as
// those of go test, with one dash.
func asGoTest(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil || cmd.Name() != "test" {
		return args
	}
	args = slices.Clone(args)
	for i, arg := range args {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && len(name) > 1 && cmd.Flags().Lookup(name) != nil {
			args[i] = "-" + arg
		}
	}
	return args
}
