//go:build linux

package native

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bridge/sandbox"
)

type probed struct {
	Name   string
	Group  string
	Open   bool
	Broken bool
	Detail any
}

// host puts things on the host that a sandbox must not get at, and describes
// them to the probes.
func host(t *testing.T, py *python) string {
	t.Helper()
	dir := openDir(t, 0o755)
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("of the host"), 0o644); err != nil {
		t.Fatal(err)
	}
	home := openDir(t, 0o755)
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
	settings, err := json.Marshal(map[string]any{
		"secret": secret, "home": home, "port": port, "abstract": abstract, "socket": socket,
		"pid": os.Getpid(), "prefixes": py.Prefixes, "scratch": "/tmp",
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(settings)
}

// outside runs probes without a sandbox, as the control.
func outside(t *testing.T, py *python, settings string, groups ...string) map[string]probed {
	t.Helper()
	list, _ := json.Marshal(groups)
	cmd := exec.CommandContext(t.Context(), py.Executable, "-I", "-c", source(t, "probes/*.py"), string(list), settings)
	cmd.Dir = t.TempDir()
	cmd.Stderr = os.Stderr
	// The environment as it is, of which the first process has a copy too.
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return byName(t, string(out))
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

// TestProbes tries what a sandbox must refuse and what it must allow. What is
// refused inside must be open outside, wherever trying that does no harm, or
// the probe would prove nothing.
func TestProbes(t *testing.T) {
	e := newEngine(t)
	py, err := e.pythons.find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	settings := host(t, py)
	b := start(t, e, sandbox.Spec{Limits: sandbox.Limits{Tmp: 64 << 20, Memory: 1 << 30}}, source(t, "probes/*.py"),
		`["needed","sealed","rooted","closed"]`, settings)
	stdout, stderr, exit := collect(t, b)
	if exit != (sandbox.Exit{}) {
		t.Fatalf("probes ended with %+v\n%s%s", exit, stdout, stderr)
	}
	inside := byName(t, stdout)
	if len(inside) < 150 {
		t.Errorf("%d probes ran, want at least 150", len(inside))
	}
	open := 0
	for name, p := range inside {
		if want := p.Group == "needed"; p.Open != want {
			t.Errorf("%s (%s): open is %v inside, want %v: %v", name, p.Group, p.Open, want, p.Detail)
		}
		if p.Open {
			open++
		}
		if strings.HasPrefix(name, "call_") && p.Detail != nil {
			if d := p.Detail.(string); !strings.HasPrefix(d, "EPERM") && !strings.HasPrefix(d, "ENOSYS") {
				t.Errorf("%s: %s, want EPERM or ENOSYS", name, d)
			}
		}
	}
	t.Logf("inside: %d probes, %d open, %d closed", len(inside), open, len(inside)-open)

	groups := []string{"sealed"}
	if os.Geteuid() == 0 {
		groups = append(groups, "rooted")
	}
	control := outside(t, py, settings, groups...)
	for name, p := range control {
		if !p.Open {
			t.Errorf("control: %s is closed outside, too: %v", name, p.Detail)
		}
	}
	t.Logf("outside: %d controls", len(control))
	checkDetails(t, inside)
}

// checkDetails compares what the sandbox tells about itself.
func checkDetails(t *testing.T, inside map[string]probed) {
	want := map[string]string{
		"identity": `{"CapAmb":"0000000000000000","CapBnd":"0000000000000000","CapEff":"0000000000000000","CapInh":"0000000000000000","CapPrm":"0000000000000000",` +
			`"Gid":"65534\t65534\t65534\t65534","NoNewPrivs":"1","Seccomp":"2","Uid":"65534\t65534\t65534\t65534"}`,
		"host_name":          `"sandbox"`,
		"pipes_for_files":    `["pipe","pipe","pipe"]`,
		"account":            `"sandbox:x:65534:65534:sandbox:/workspace:/bin/sh\n"`,
		"own_processes_only": `["1"]`,
		"event_loop":         `"5\n"`,
		"another_python":     `"5\n"`,
		"places_to_write":    `"/workspace"`,
		"newest_calls":       `"ENOSYS"`,
	}
	for name, w := range want {
		got, _ := json.Marshal(inside[name].Detail)
		if string(got) != w {
			t.Errorf("%s: %s, want %s", name, got, w)
		}
	}
	env, _ := inside["environment"].Detail.(map[string]any)
	for name := range env {
		switch name {
		case "PATH", "HOME", "TMPDIR", "LANG", "PYTHONDONTWRITEBYTECODE", "MALLOC_ARENA_MAX", "LC_CTYPE":
		default:
			t.Errorf("environment: %s is in it", name)
		}
	}
	if env["HOME"] != "/workspace" || env["TMPDIR"] != "/tmp" {
		t.Errorf("environment: %v", env)
	}
}
