//go:build linux

package docker

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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

// ordinary are probes that are open in any container, and why that is no way
// out. The native engine closes them, as it needs no image's programs to run.
var ordinary = map[string][]string{
	"calls of docker's default profile, without the capability or the object they need": {
		"call_capset", "call_inotify_init1", "call_landlock_create_ruleset",
		"call_pidfd_open", "call_pidfd_send_signal", "call_sched_setattr", "call_sched_setscheduler",
		"call_seccomp", "call_setfsuid", "call_setresgid", "call_setresuid", "add_filter", "choose_processor",
		"outlive_the_parent", "outlive_the_parent_with_high_bits", "hide_from_the_parent",
	},
	"names of sockets in a network namespace of its own": {"abstract_names"},
	"folders of the image, not of the host":              {"host_folders"},
	"devices and files that docker makes for every container": {
		"device_files", "new_terminal", "device_by_mount", "mounts_with_setuid", "kernel_version_file", "kernel_files", "core_pattern",
	},
	"files of its own processes": {"own_memory_as_file", "keep_from_the_oom_killer", "own_user_namespace_map"},
}

// hostThings puts things on the host that a sandbox must not get at, and
// describes them to the probes.
func hostThings(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	for _, path := range []string{secret, filepath.Join(dir, "seen")} {
		if err := os.WriteFile(path, []byte("of the host"), 0o644); err != nil {
			t.Fatal(err)
		}
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
	abstract := "bridge-docker-probe-" + strconv.Itoa(os.Getpid())
	listen("unix", "@"+abstract)
	socket := filepath.Join(dir, "socket")
	listen("unix", socket)
	t.Setenv("BRIDGE_PROBE_SECRET", "of the environment")
	settings, err := json.Marshal(map[string]any{
		"secret": secret, "home": dir, "port": port, "abstract": abstract, "socket": socket,
		"pid": os.Getpid(), "prefixes": []string{"/usr"}, "scratch": "/tmp",
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(settings)
}

// TestProbes tries what a sandbox must refuse and what it must allow.
func TestProbes(t *testing.T) {
	e := newEngine(t)
	// These two are the end of who tries, see TestOtherArchitectures.
	probes := strings.Replace(source(t, "probes/*.py"), "\nfor name, (group, f) in", "\ndel probes['i386_call'], probes['x32_call']\nfor name, (group, f) in", 1)
	b := start(t, e, sandbox.Spec{Limits: sandbox.Limits{Tmp: 64 << 20, Memory: 1 << 30}}, probes,
		`["needed","sealed","rooted","closed"]`, hostThings(t))
	stdout, stderr, exit := collect(t, b)
	if exit != (sandbox.Exit{}) {
		t.Fatalf("probes ended with %+v\n%s%s", exit, stdout, stderr)
	}
	var known []string
	for _, names := range ordinary {
		known = append(known, names...)
	}
	inside := make(map[string]probed)
	open := 0
	for _, p := range lines[probed](t, stdout) {
		inside[p.Name] = p
		want := p.Group == "needed" || slices.Contains(known, p.Name)
		// What is known to be open here may be closed by another kernel.
		if p.Broken || p.Open && !want || !p.Open && p.Group == "needed" {
			t.Errorf("%s (%s): open is %v, broken %v: %v", p.Name, p.Group, p.Open, p.Broken, p.Detail)
		}
		if p.Open {
			open++
		}
	}
	if len(inside) < 150 {
		t.Errorf("%d probes ran, want at least 150", len(inside))
	}
	t.Logf("%d probes, %d open, %d closed", len(inside), open, len(inside)-open)
	checkDetails(t, inside)
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
	}
	for name, w := range want {
		got, _ := json.Marshal(inside[name].Detail)
		if string(got) != w {
			t.Errorf("%s: %s, want %s", name, got, w)
		}
	}
	env, _ := json.Marshal(inside["environment"].Detail)
	pattern := `{"HOME":"/workspace","LANG":"C.UTF-8","MALLOC_ARENA_MAX":"2","MPLBACKEND":"Agg","PATH":"…","PYTHONDONTWRITEBYTECODE":"1","TMPDIR":"/tmp"}`
	before, after, _ := strings.Cut(pattern, "…")
	if !strings.HasPrefix(string(env), before) || !strings.HasSuffix(string(env), after) {
		t.Errorf("environment: %s, want %s", env, pattern)
	}
}

// TestPlaces looks at every mount of the sandbox: there are three to write to,
// bounded, and what lies in /dev/shm cannot be executed.
func TestPlaces(t *testing.T) {
	e := newEngine(t)
	tag := buildImage(t, e, "volume", "ARG BASE\nFROM $BASE\nENV BRIDGE_OF_THE_IMAGE=1\nVOLUME /data /var/lib/more\nHEALTHCHECK CMD true\nENTRYPOINT [\"/bin/false\"]\n")
	b := start(t, e, sandbox.Spec{Image: tag, Limits: small}, `
import json, os
places = {}
for line in open("/proc/self/mountinfo"):
    place, flags = line.split()[4:6]
    if not os.path.isdir(place): continue
    try:
        open(place + "/file", "w").close()
    except OSError: continue
    os.unlink(place + "/file")
    s = os.statvfs(place)
    places[place] = [s.f_blocks * s.f_frsize >> 20, s.f_files, *sorted(set(flags.split(",")) & {"nosuid", "nodev", "noexec"})]
for folder in ("/", "/etc", "/var/tmp", "/run", "/run/lock", "/var/lib/more", "/data", "/home", "/dev", "/usr", "/sys/fs/cgroup"):
    if os.access(folder, os.W_OK) and not folder.startswith(tuple(places)): places[folder] = "writable"
print(json.dumps([places, os.environ.get("BRIDGE_OF_THE_IMAGE")]))`)
	stdout, stderr, _ := collect(t, b)
	want := `[{"/tmp": [16, 16384, "nodev", "nosuid"], "/workspace": [24, 16384, "nodev", "nosuid"], "/dev/shm": [8, 16384, "nodev", "noexec", "nosuid"]}, null]` + "\n"
	sorted := func(s string) string { r := []byte(s); slices.Sort(r); return string(r) }
	if sorted(stdout) != sorted(want) {
		t.Errorf("%s\nwant, in any order:\n%s%s", stdout, want, stderr)
	}
}

// TestOtherArchitectures makes system calls by other numbers than this
// architecture's own: none is carried out.
func TestOtherArchitectures(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Log("the calls are those of amd64")
		return
	}
	e := newEngine(t)
	b := start(t, e, sandbox.Spec{}, `
import ctypes, mmap, os
def i386():
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("b814000000cd80c3"))  # getpid by int 0x80
    return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
def x32():
    return ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 + 39))  # getpid
for call in i386, x32:
    pid = os.fork()
    if pid == 0:
        os._exit(99 if call() > 0 else 1)
    print(call.__name__, os.waitstatus_to_exitcode(os.wait()[1]) != 99)`)
	if stdout, stderr, _ := collect(t, b); stdout != "i386 True\nx32 True\n" {
		t.Errorf("%s%s", stdout, stderr)
	}
}

// TestNetwork looks for one: there is loopback, and nothing else, and sockets
// are local ones.
func TestNetwork(t *testing.T) {
	e := newEngine(t)
	b := start(t, e, sandbox.Spec{}, `
import os, socket
def opens(family, kind):
    try:
        socket.socket(family, kind).close()
    except PermissionError:
        return False
    except OSError as error:
        print(family, kind, error)
    return True
print([line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line], open("/proc/net/route").read().count("\n"))
print([family for family in range(64) for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW) if opens(family, kind)])
print(os.readlink("/proc/self/ns/net"))`)
	stdout, stderr, _ := collect(t, b)
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	after, is := strings.CutPrefix(stdout, "['lo'] 1\n[1, 1, 1]\n")
	if !is || !strings.HasPrefix(after, "net:") || strings.TrimSpace(after) == own {
		t.Errorf("%s%s", stdout, stderr)
	}
}

// TestUser runs as another user than nobody, with one more path hidden.
func TestUser(t *testing.T) {
	e := newEngine(t)
	b := start(t, e, sandbox.Spec{User: "1000:1001", SecurityOpt: []string{"no-new-privileges", "mask=/etc/passwd"}}, `
import os
for place in "/tmp", "/workspace", "/dev/shm": open(place + "/file", "w").close()
print(os.getresuid(), os.getresgid(), os.path.getsize("/etc/passwd"), os.listdir("/sys"))`)
	if stdout, stderr, _ := collect(t, b); stdout != "(1000, 1000, 1000) (1001, 1001, 1001) 0 []\n" {
		t.Errorf("%s%s", stdout, stderr)
	}
	for _, user := range []string{"0:0", "1000:0", "0", "root:root", "1:2:3", "-1:5"} {
		err := e.Ready(t.Context(), allowed(sandbox.Spec{User: user}))
		if err == nil || !strings.HasSuffix(err.Error(), "; name a user and a group by numbers above 0, such as 65534:65534") {
			t.Errorf("user %q: %v", user, err)
		}
	}
	for _, option := range []string{"seccomp=unconfined", "label=disable", "label:disable", "apparmor=unconfined", "no-new-privileges:false", "systempaths=unconfined", "mask=x", ""} {
		err := e.Ready(t.Context(), allowed(sandbox.Spec{SecurityOpt: []string{option}}))
		if err == nil || !strings.HasSuffix(err.Error(), "would not add to what confines the sandbox; take it out") {
			t.Errorf("option %q: %v", option, err)
		}
	}
}
