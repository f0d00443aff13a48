package enginetest

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"bridge/sandbox"
)

// Probes are what is to be expected of a sandbox of the engine, in the eyes of
// those inside.
type Probes struct {
	// Python is the interpreter of the host that the sandbox has, "" if it has
	// one of its own.
	Python func(testing.TB, Engine) (executable string, prefixes []string)

	Open    map[string]string // probes that may be open, with what makes it so
	Fatal   []string          // probes that the filter may answer by ending the process
	Details map[string]string // what some probes tell, besides what they do of every engine, as JSON

	// Environment is all of the guest's. A variable without a value may have
	// any, or be absent.
	Environment map[string]string
}

type probed struct {
	Name   string
	Group  string
	Open   bool
	Broken bool
	Detail any
}

// host puts things on the host that a sandbox must not get at, and one folder
// that it is shown, and describes them to the probes.
func host(t *testing.T, prefixes []string) (shown, settings string) {
	t.Helper()
	dir := OpenDir(t, 0o755)
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("of the host"), 0o644); err != nil {
		t.Fatal(err)
	}
	home := OpenDir(t, 0o755)
	if err := os.WriteFile(filepath.Join(home, "seen"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	listen := func(network, address string) net.Listener {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	port := listen("tcp", "127.0.0.1:0").Addr().(*net.TCPAddr).Port
	abstract := "bridge-probe-" + strconv.Itoa(os.Getpid())
	listen("unix", "@"+abstract)
	socket := filepath.Join(dir, "socket")
	listen("unix", socket)
	t.Setenv("BRIDGE_PROBE_SECRET", "of the environment")
	shown = OpenDir(t, 0o755)
	if err := os.WriteFile(filepath.Join(shown, "seen"), []byte("shown"), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{
		"secret": secret, "home": home, "shown": shown, "port": port, "abstract": abstract, "socket": socket,
		"pid": os.Getpid(), "prefixes": prefixes, "scratch": "/tmp",
	})
	if err != nil {
		t.Fatal(err)
	}
	return shown, string(text)
}

func byName(t *testing.T, text string) map[string]probed {
	all := make(map[string]probed)
	for _, p := range lines[probed](t, text) {
		if p.Broken {
			t.Errorf("probe %s is broken: %v", p.Name, p.Detail)
		}
		all[p.Name] = p
	}
	return all
}

// loop is the line of the probes' program with which it begins to run them.
const loop = "for name, (group, f) in probes.items():"

// probes tries what a sandbox must refuse and what it must allow. What is
// refused inside must be open outside, wherever trying that does no harm, or
// the probe would prove nothing.
func (s Subject) probes(t *testing.T) {
	e := s.New(t)
	python, prefixes := "", []string{"/usr"}
	if s.Probes.Python != nil {
		python, prefixes = s.Probes.Python(t, e)
	}
	shown, settings := host(t, prefixes)
	source := Source(t, "probes/*.py")
	if strings.Count(source, loop) != 1 {
		t.Fatal("the probes are not run as they were")
	}
	fatal, _ := json.Marshal(append([]string{}, s.Probes.Fatal...))
	spec := s.with(sandbox.Limits{Tmp: 64 << 20, Memory: 1 << 30})
	spec.Mounts = []sandbox.Mount{{Source: shown, Target: "/data"}}
	b := Start(t, e, spec,
		strings.Replace(source, loop, "for name in "+string(fatal)+": del probes[name]\n"+loop, 1),
		`["needed","sealed","rooted","closed"]`, settings)
	stdout, stderr, exit := Collect(t, b)
	if exit != (sandbox.Exit{}) {
		t.Fatalf("probes ended with %+v\n%s%s", exit, stdout, stderr)
	}
	inside := byName(t, stdout)
	if len(inside) < 150 {
		t.Errorf("%d probes ran, want at least 150", len(inside))
	}
	open := 0
	for name, p := range inside {
		_, either := s.Probes.Open[name]
		if want := p.Group == "needed"; p.Open != want && !either {
			t.Errorf("%s (%s): open is %v inside, want %v: %v", name, p.Group, p.Open, want, p.Detail)
		}
		if p.Open {
			open++
		}
	}
	t.Logf("inside: %d probes, %d open, %d closed", len(inside), open, len(inside)-open)
	s.checkDetails(t, inside)
	s.tryFatal(t, e)
	if python != "" {
		checkOutside(t, python, source, settings)
		checkCalls(t, inside)
	}
}

// tryFatal makes each call in a sandbox of its own: none is carried out.
func (s Subject) tryFatal(t *testing.T, e Engine) {
	if runtime.GOARCH != "amd64" {
		return // there is one set of numbers on other architectures
	}
	source, _, _ := strings.Cut(Source(t, "probes/*.py"), loop)
	for _, name := range s.Probes.Fatal {
		b := Start(t, e, s.Spec, source+"print(probes["+strconv.Quote(name)+"][1]())", "[]", "{}")
		stdout, stderr, exit := Collect(t, b)
		const SIGSYS = 31
		if exit.Signal != SIGSYS && !strings.Contains(stderr, "OSError") {
			t.Errorf("%s: %q, ended with %+v\n%s", name, stdout, exit, stderr)
		}
	}
}

// checkOutside runs probes without a sandbox, as the control.
func checkOutside(t *testing.T, python, source, settings string) {
	groups := `["sealed"]`
	if os.Geteuid() == 0 {
		groups = `["sealed","rooted"]`
	}
	cmd := exec.CommandContext(t.Context(), python, "-I", "-c", source, groups, settings)
	cmd.Dir = t.TempDir()
	cmd.Stderr = os.Stderr
	// The environment as it is, of which the first process has a copy too.
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	control := byName(t, string(out))
	for name, p := range control {
		if !p.Open {
			t.Errorf("control: %s is closed outside, too: %v", name, p.Detail)
		}
	}
	t.Logf("outside: %d controls", len(control))
}

// checkCalls looks at how system calls are refused.
func checkCalls(t *testing.T, inside map[string]probed) {
	for name, p := range inside {
		if strings.HasPrefix(name, "call_") && p.Detail != nil {
			if d := p.Detail.(string); !strings.HasPrefix(d, "EPERM") && !strings.HasPrefix(d, "ENOSYS") {
				t.Errorf("%s: %s, want EPERM or ENOSYS", name, d)
			}
		}
	}
}

// details are what probes tell of every engine's sandboxes.
var details = map[string]string{
	"identity": `{"CapAmb":"0000000000000000","CapBnd":"0000000000000000","CapEff":"0000000000000000","CapInh":"0000000000000000","CapPrm":"0000000000000000",` +
		`"Gid":"65534\t65534\t65534\t65534","NoNewPrivs":"1","Seccomp":"2","Uid":"65534\t65534\t65534\t65534"}`,
	"host_name":          `"sandbox"`,
	"pipes_for_files":    `["pipe","pipe","pipe"]`,
	"own_processes_only": `["1"]`,
	"event_loop":         `"5\n"`,
	"another_python":     `"5\n"`,
	"places_to_write":    `"/workspace"`,
}

// checkDetails compares what the sandbox tells about itself.
func (s Subject) checkDetails(t *testing.T, inside map[string]probed) {
	for _, want := range []map[string]string{details, s.Probes.Details} {
		for name, w := range want {
			got, _ := json.Marshal(inside[name].Detail)
			if string(got) != w {
				t.Errorf("%s: %s, want %s", name, got, w)
			}
		}
	}
	env, _ := inside["environment"].Detail.(map[string]any)
	for name := range env {
		if _, known := s.Probes.Environment[name]; !known && name != "LC_CTYPE" {
			t.Errorf("environment: %s is in it", name)
		}
	}
	for name, value := range s.Probes.Environment {
		if value != "" && env[name] != value {
			t.Errorf("environment: %s is %v, want %q", name, env[name], value)
		}
	}
}
