package podman

import (
	"cmp"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bridge/sandbox"
	"bridge/sandbox/container"
	"bridge/sandbox/enginetest"
)

// subject is the engine as all engines are tested.
var subject = enginetest.Subject{
	New:  func(t testing.TB) enginetest.Engine { return newEngine(t) },
	Left: func(t testing.TB, e enginetest.Engine) []string { return owned(t, e.(*Engine).all.Owner) },
	Containers: &enginetest.Containers{
		Make: func(owner string) enginetest.Engine {
			e := New(Options{Image: testImage()})
			e.all.Owner = cmp.Or(owner, e.all.Owner)
			if os.Getenv(ownEnv) != "" {
				e.places = nowhere
			}
			return e
		},
		Owner:  func(e enginetest.Engine) string { return e.(*Engine).all.Owner },
		Owned:  owned,
		Remove: removeContainer,
		Ways:   []string{ownEnv + "=1"},
	},
	Refused: sandbox.Spec{Image: "localhost/no-such-image"},
	Idle: func(e enginetest.Engine) {
		e.(*Engine).mu.Lock()
		defer e.(*Engine).mu.Unlock()
		e.(*Engine).service.close()
	},
	Limits: enginetest.Limits{Told: told},
	Probes: enginetest.Probes{
		Open:        harmless,
		Fatal:       []string{"x32_call", "i386_call"},
		Details:     map[string]string{"newest_calls": `"ENOSYS"`},
		Environment: withHostName(container.Environment()),
	},
}

func TestEngine(t *testing.T) { subject.Test(t) }

// withHostName adds what podman may set in spite of all.
func withHostName(env map[string]string) map[string]string {
	env = maps.Clone(env)
	env["HOSTNAME"] = ""
	return env
}

// told is what the engine says of itself.
func told(t testing.TB, e enginetest.Engine, _ sandbox.Sandbox) map[string]string {
	facts, err := e.(*Engine).Describe(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	return facts.Limits
}

// harmless are probes that the native sandbox closes and that are open here,
// each with what makes it so: it is a container, with an image of its own.
var harmless = map[string]string{
	"host_folders":                      "the image's own folders",
	"kernel_files":                      "a container's /proc, in which podman masks what gives power",
	"kernel_version_file":               "masked by an empty file",
	"core_pattern":                      "/proc/sys can be read and not written",
	"abstract_names":                    "of a network namespace with nothing in it",
	"device_files":                      "podman's: a terminal that is none, masked folders",
	"host_paths":                        "the kernel's list of mounts; only the runtime could hide it",
	"shared_memory_of_a_device":         "counted by the cgroup",
	"larger_socket_buffers":             "counted by the cgroup",
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

// TestEnforced demands that every limit is held: who does not hold one refuses.
func TestEnforced(t *testing.T) {
	e := newEngine(t)
	facts, err := e.Describe(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Start(t.Context(), sandbox.Spec{Enforced: true}, []string{"-c", ""}, io.Discard)
	if held := len(sandbox.Loose(facts.Limits)) == 0; held != (err == nil) {
		t.Errorf("demanded, and %v is not held: %v", sandbox.Loose(facts.Limits), err)
	}
	if err != nil && !strings.HasPrefix(err.Error(), "podman cannot hold the limits of "+strings.Join(sandbox.Loose(facts.Limits), ", ")) {
		t.Error(err)
	}
}

// TestOwnHost asks a service of our own what its host is, which is otherwise
// taken to be as we find it ourselves.
func TestOwnHost(t *testing.T) {
	e := newEngine(t)
	e.places = nowhere
	s, err := e.own(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	c, err := net.Dial("unix", s.place.socket())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if ours, apart := peer(c); !ours || apart {
		t.Error("it is none of our processes")
	}
	info, err := s.about(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	said := hostOf(info)
	found, known := ownHost()
	if known && (said.rootless != found.rootless || said.v1 != found.v1 || !maps.Equal(said.holds(), found.holds())) {
		t.Errorf("podman says %+v, we find %+v", said, found)
	}
	if s.host.rootless != said.rootless || !maps.Equal(s.host.holds(), said.holds()) {
		t.Errorf("podman says %+v, the service has %+v", said, s.host)
	}
}

// TestOwnService has a service of our own work in its own folder, where conmon
// leaves a file when a container is killed for its memory; and end with all its
// processes, of which podman without privileges has several.
func TestOwnService(t *testing.T) {
	e := newEngine(t)
	// Deeper than the path of a socket can be.
	deep := filepath.Join(enginetest.OpenDir(t, 0o777), strings.Repeat("d", 100))
	if err := os.Mkdir(deep, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", deep)
	e.places = nowhere
	s, err := e.own(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if _, err := s.about(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(s.place.socket())
	family := marked(t, "BRIDGE_SERVICE="+dir)
	serving := 0
	for _, pid := range family {
		args, _ := os.ReadFile("/proc/" + pid + "/cmdline")
		if at, _ := os.Readlink("/proc/" + pid + "/cwd"); strings.Contains(string(args), "unix://") {
			serving++
			if at != dir {
				t.Errorf("the service works in %s, want %s", at, dir)
			}
		}
	}
	if serving == 0 {
		t.Errorf("no service among the processes %v", family)
	}
	e.Close()
	enginetest.Within(t, func() []string { return marked(t, "BRIDGE_SERVICE="+dir) })
}

// marked are the processes that have a variable in their environment.
func marked(t *testing.T, variable string) []string {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var pids []string
	for _, file := range files {
		if env, _ := os.ReadFile(file); strings.Contains(string(env), variable) {
			pids = append(pids, filepath.Base(filepath.Dir(file)))
		}
	}
	return pids
}
