//go:build linux

package docker

import (
	"cmp"
	"os"
	"testing"

	"bridge/sandbox"
	"bridge/sandbox/enginetest"
)

// subject is the engine as all engines are tested.
var subject = enginetest.Subject{
	New:  func(t testing.TB) enginetest.Engine { return newEngine(t) },
	Left: func(t testing.TB, e enginetest.Engine) []string { return owned(t, e.(*Engine).all.Owner) },
	Containers: &enginetest.Containers{
		Make: func(owner string) enginetest.Engine {
			e := New(Options{Image: os.Getenv(imageEnv)})
			e.all.Owner = cmp.Or(owner, e.all.Owner)
			return e
		},
		Owner:  func(e enginetest.Engine) string { return e.(*Engine).all.Owner },
		Owned:  owned,
		Remove: removeContainer,
	},
	Spec:    allowed(sandbox.Spec{}),
	Refused: allowed(sandbox.Spec{Limits: sandbox.Limits{Files: 1 << 40}}),
	Idle:    closeIdle,
	Limits: enginetest.Limits{
		Told: told,
	},
	Probes: enginetest.Probes{
		Open:  ordinary,
		Fatal: []string{"x32_call", "i386_call"},
		Environment: map[string]string{
			"PATH": "", "HOME": "/workspace", "LANG": "C.UTF-8", "MALLOC_ARENA_MAX": "2", "MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": "/tmp",
		},
	},
}

func TestEngine(t *testing.T) { subject.Test(t) }

// closeIdle closes the connections that wait for the next request.
func closeIdle(e enginetest.Engine) {
	e.(*Engine).mu.Lock()
	defer e.(*Engine).mu.Unlock()
	if l := e.(*Engine).daemon; l != nil {
		l.client.Close()
	}
}

// told is what the engine says of itself.
func told(t testing.TB, e enginetest.Engine, _ sandbox.Sandbox) map[string]string {
	facts, err := e.(*Engine).Describe(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	return facts.Limits
}

// ordinary are probes that are open in any container, and why that is no way
// out. The native engine closes them, as it needs no image's programs to run.
var ordinary = reasons(map[string][]string{
	"calls of docker's default profile, without the capability or the object they need": {
		"call_capset", "call_inotify_init1", "call_landlock_create_ruleset",
		"call_pidfd_open", "call_pidfd_send_signal", "call_sched_setattr", "call_sched_setscheduler",
		"call_seccomp", "call_setfsuid", "call_setresgid", "call_setresuid", "add_filter", "choose_processor",
		"outlive_the_parent", "outlive_the_parent_with_high_bits", "hide_from_the_parent",
	},
	"names of sockets in a network namespace of its own": {"abstract_names"},
	"folders of the image, not of the host":              {"host_folders"},
	"devices and files that docker makes for every container": {
		"device_files", "device_by_mount", "host_paths", "shared_memory_of_a_device", "larger_socket_buffers", "mounts_with_setuid", "kernel_version_file", "kernel_files", "core_pattern",
	},
	"files of its own processes": {"own_memory_as_file", "keep_from_the_oom_killer", "own_user_namespace_map"},
})

// reasons gives each name its reason.
func reasons(names map[string][]string) map[string]string {
	all := map[string]string{}
	for why, list := range names {
		for _, name := range list {
			all[name] = why
		}
	}
	return all
}
