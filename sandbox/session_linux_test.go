package sandbox_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bridge/harness/project"
	"bridge/sandbox"
	"bridge/sandbox/engines"
	"bridge/sandbox/native"
)

// engine is one engine with one Python to run the tables on.
type engine struct {
	name   string
	make   sandbox.Engine
	python string
}

// all are the engines of this process. What they have started ends with it.
var all = sync.OnceValue(func() []engines.Engine {
	return engines.All(engines.Options{Image: os.Getenv("BRIDGE_TEST_IMAGE")})
})

// rootful is an engine that is allowed to run as root.
type rootful struct{ sandbox.Engine }

func (r rootful) Start(ctx context.Context, spec sandbox.Spec, args []string, progress io.Writer) (sandbox.Sandbox, error) {
	spec.Rootful = true
	return r.Engine.Start(ctx, spec, args, progress)
}

// subjects returns what the tables run on: the engine without isolation with
// every Python of BRIDGE_TEST_PYTHONS (a list like PATH) or the one on PATH,
// the native engine where it is ready, and the container engines that
// BRIDGE_TEST_ENGINES names: their own packages test them, and here they are slow.
func subjects(t *testing.T) []engine {
	t.Helper()
	var list []engine
	pythons := os.Getenv("BRIDGE_TEST_PYTHONS")
	if pythons == "" {
		pythons = "python3"
	}
	for _, name := range strings.Split(pythons, ":") {
		out, err := exec.Command(name, "-I", "-c", "import sys; print(sys.executable)").Output()
		if err != nil {
			project.Skip(t, name, " is not there: ", err, "; install Python 3.9 or later")
		}
		path := strings.TrimSpace(string(out))
		list = append(list, engine{"plain-" + strings.ReplaceAll(name, "/", "_"), plain{path}, ""})
	}
	wanted := strings.Fields(os.Getenv("BRIDGE_TEST_ENGINES"))
	for _, e := range all() {
		name := e.Name()
		switch {
		case slices.Contains(wanted, name) && name != native.Name:
			list = append(list, engine{name, rootful{e}, ""})
		case name != native.Name:
		case e.Ready(t.Context(), sandbox.Spec{}) == nil:
			list = append(list, engine{name, e, ""})
		default:
			t.Log("not on the native engine: it is not ready")
		}
	}
	return list
}

// open starts a session that ends with the test.
func open(t *testing.T, e engine, h sandbox.Handler) *sandbox.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := sandbox.Open(ctx, e.make, sandbox.Spec{Label: "test", Python: e.python}, h, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// step is one run and what is wanted of it. Text that begins with "~" is a
// regular expression, other text is compared whole.
type step struct {
	code       string
	servers    []sandbox.Server // nil: toy and "my-server"
	output     int
	pause      time.Duration // before the run, for what goes on between runs
	timeout    time.Duration
	status     sandbox.Status // "": success; "~": whatever comes of it
	stdout     string
	stderr     string
	background string
	value      string
	err        string // "Type: message"
	trace      string
	exit       int
	lost       string
}

func (w step) check(t *testing.T, r sandbox.Result) {
	t.Helper()
	if w.status == "" {
		w.status = sandbox.Succeeded
	}
	if w.status == "~" {
		w.status = r.Status
	}
	if r.Status != w.status {
		t.Errorf("status %q, want %q", r.Status, w.status)
	}
	match(t, "stdout", shown(r.Stdout), w.stdout)
	match(t, "stderr", shown(r.Stderr), w.stderr)
	match(t, "background", shown(r.Background), w.background)
	var value, message, trace, lost string
	if r.Value != nil {
		value = *r.Value
	}
	if r.Error != nil {
		message, trace = r.Error.Type+": "+r.Error.Message, r.Error.Traceback
	}
	if r.Lost != nil {
		lost = r.Lost.Error()
	}
	match(t, "value", value, w.value)
	if w.err != "" || w.status == sandbox.Succeeded {
		match(t, "error", message, w.err)
	}
	if w.trace != "" {
		match(t, "traceback", trace, w.trace)
	}
	match(t, "loss", lost, w.lost)
	exit := 0
	if r.ExitCode != nil {
		exit = *r.ExitCode
	}
	if exit != w.exit {
		t.Errorf("exit code %d, want %d", exit, w.exit)
	}
	if t.Failed() {
		t.Logf("code:\n%s", w.code)
		if trace != "" {
			t.Logf("traceback:\n%s", trace)
		}
	}
}

// shown is an output's text with its gap.
func shown(o sandbox.Output) string {
	if o.Skipped == 0 {
		return o.Text
	}
	return o.Text[:o.Gap] + "[…]" + o.Text[o.Gap:]
}

func match(t *testing.T, what, got, want string) {
	t.Helper()
	if pattern, is := strings.CutPrefix(want, "~"); is {
		if !regexp.MustCompile("(?s)^(?:" + pattern + ")$").MatchString(got) {
			t.Errorf("%s:\n%s\nwant to match:\n%s", what, got, pattern)
		}
		return
	}
	if got != want {
		t.Errorf("%s:\n%s\nwant:\n%s", what, got, want)
	}
}

// table runs each case in a session of its own, on every engine.
func table(t *testing.T, cases map[string][]step) {
	t.Helper()
	for _, e := range subjects(t) {
		t.Run(e.name, func(t *testing.T) {
			for name, steps := range cases {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					s := open(t, e, newToy().serve)
					for _, step := range steps {
						step.check(t, run(t, s, step))
						if t.Failed() {
							return
						}
					}
				})
			}
		})
	}
}

func run(t *testing.T, s *sandbox.Session, w step) sandbox.Result {
	t.Helper()
	time.Sleep(w.pause)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	servers := w.servers
	if servers == nil {
		servers = toyServers
	}
	r := sandbox.Run{Code: w.code, Servers: servers, Output: w.output}
	switch {
	case w.timeout == soon:
		r.Code = "print('go')\n" + r.Code
		var once sync.Once
		r.Stream = func(string, string, int64) {
			once.Do(func() { time.AfterFunc(200*time.Millisecond, cancel) })
		}
	case w.timeout > 0:
		time.AfterFunc(w.timeout, cancel)
	}
	result, err := s.Run(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	if errors.Is(result.Stopped, context.DeadlineExceeded) {
		t.Fatalf("a minute was not enough for\n%s", w.code)
	}
	if w.timeout == soon {
		result.Stdout.Text = strings.TrimPrefix(result.Stdout.Text, "go\n")
		result.Stdout.Gap = max(0, result.Stdout.Gap-len("go\n"))
	}
	return result
}

func newNative() sandbox.Engine { return native.New() }
