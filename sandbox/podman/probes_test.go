package podman

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
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

// openDir is a folder that every user can enter, as t.TempDir's cannot.
func openDir(t testing.TB, mode os.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bridge-podman-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

// source is the text of the programs that every engine is tried with, of the
// files that the pattern matches.
func source(t testing.TB, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "native", "testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
		all.WriteString("\n\n")
	}
	return all.String()
}

// host puts things on the host that a sandbox must not get at, and describes
// them to the probes.
func host(t *testing.T) string {
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
		"pid": os.Getpid(), "prefixes": []string{"/usr"}, "scratch": "/tmp",
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(settings)
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

// fatal are probes that the filter answers by ending the process.
var fatal = []string{"x32_call", "i386_call"}

// harmless are probes that the native sandbox closes and that are open here,
// each with what makes it so: it is a container, with an image of its own.
var harmless = map[string]string{
	"host_folders":                      "the image's own folders",
	"kernel_files":                      "a container's /proc, in which podman masks what gives power",
	"kernel_version_file":               "masked by an empty file",
	"core_pattern":                      "/proc/sys can be read and not written",
	"abstract_names":                    "of a network namespace with nothing in it",
	"device_files":                      "podman's: terminals of the container, a masked folder",
	"new_terminal":                      "of the container's own devpts",
	"device_by_mount":                   "podman's mounts; the guest cannot make a device",
	"mounts_with_setuid":                "podman's mounts; no_new_privs makes set-user-id void",
	"own_user_namespace_map":            "can be opened; writing wants a capability",
	"own_memory_as_file":                "its own",
	"keep_from_the_oom_killer":          "can be opened; lowering wants a capability",
	"choose_processor":                  "of those that the quota is over",
	"outlive_the_parent":                "nothing relies on a parent here",
	"outlive_the_parent_with_high_bits": "nothing relies on a parent here",
	"hide_from_the_parent":              "nothing relies on a parent here",
	"add_filter":                        "can only take more away",
	"call_seccomp":                      "can only take more away",
	"call_landlock_create_ruleset":      "can only take more away",
	"call_capset":                       "there is no capability to set",
	"call_setfsuid":                     "wants a capability for any other user",
	"call_setresuid":                    "wants a capability for any other user",
	"call_setresgid":                    "wants a capability for any other group",
	"call_sched_setattr":                "more wants a capability",
	"call_sched_setscheduler":           "more wants a capability",
	"call_inotify_init1":                "counted by user",
	"call_pidfd_open":                   "of processes in the container",
	"call_pidfd_send_signal":            "to processes in the container",
}

// without takes the probes out that would end the others.
func without(t *testing.T, text string) string {
	const loop = "for name, (group, f) in probes.items():"
	if strings.Count(text, loop) != 1 {
		t.Fatal("the probes are not run as they were")
	}
	list, _ := json.Marshal(fatal)
	return strings.Replace(text, loop, "for name in "+string(list)+": del probes[name]\n"+loop, 1)
}

// TestProbes tries what a sandbox must refuse and what it must allow. That
// what is refused here is open outside, the native engine's test shows.
func TestProbes(t *testing.T) {
	e := newEngine(t)
	settings := host(t)
	b := start(t, e, sandbox.Spec{Limits: sandbox.Limits{Tmp: 64 << 20, Memory: 1 << 30}}, without(t, source(t, "probes/*.py")),
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
		_, either := harmless[name]
		if want := p.Group == "needed"; p.Open != want && !either {
			t.Errorf("%s (%s): open is %v inside, want %v: %v", name, p.Group, p.Open, want, p.Detail)
		}
		if p.Open {
			open++
		}
	}
	t.Logf("%d probes, %d open, %d closed", len(inside), open, len(inside)-open)
	checkDetails(t, inside)
}

// TestForeignCalls makes calls by the numbers of another architecture.
func TestForeignCalls(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("there is one set of numbers on this architecture")
	}
	e := newEngine(t)
	text := source(t, "probes/*.py")
	for _, name := range fatal {
		at := strings.Index(text, "for name, (group, f) in probes.items():")
		b := start(t, e, sandbox.Spec{}, text[:at]+"print(probes["+strconv.Quote(name)+"][1]())", "[]", "{}")
		stdout, stderr, exit := collect(t, b)
		if exit.Signal != int(syscall.SIGSYS) && !strings.Contains(stderr, "OSError") {
			t.Errorf("%s: %q, ended with %+v\n%s", name, stdout, exit, stderr)
		}
	}
}

// checkDetails compares what the sandbox tells about itself.
func checkDetails(t *testing.T, inside map[string]probed) {
	want := map[string]string{
		"identity": `{"CapAmb":"0000000000000000","CapBnd":"0000000000000000","CapEff":"0000000000000000","CapInh":"0000000000000000","CapPrm":"0000000000000000",` +
			`"Gid":"65534\t65534\t65534\t65534","NoNewPrivs":"1","Seccomp":"2","Uid":"65534\t65534\t65534\t65534"}`,
		"host_name":          `"sandbox"`,
		"pipes_for_files":    `["pipe","pipe","pipe"]`,
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
		if _, ours := environment[name]; !ours && name != "HOSTNAME" && name != "LC_CTYPE" {
			t.Errorf("environment: %s is in it", name)
		}
	}
	for name, value := range environment {
		if env[name] != value {
			t.Errorf("environment: %s is %v, want %q", name, env[name], value)
		}
	}
}

// TestNothingElseIsWritable tries to make a file in every folder there is.
func TestNothingElseIsWritable(t *testing.T) {
	e := newEngine(t)
	b := start(t, e, sandbox.Spec{}, `
import os
for folder, folders, _ in os.walk("/"):
    if folder == "/proc":
        folders[:] = [f for f in folders if not f.isdigit()]
    try:
        os.close(os.open(folder + "/made", os.O_CREAT | os.O_WRONLY))
        print(folder)
    except OSError:
        pass
`)
	stdout, stderr, exit := collect(t, b)
	if got := strings.Fields(stdout); exit.Code != 0 || !slices.Equal(slices.Sorted(slices.Values(got)), []string{"/dev/shm", "/tmp", "/workspace"}) {
		t.Errorf("writable: %v, ended with %+v\n%s", got, exit, stderr)
	}
}
