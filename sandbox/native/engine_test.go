//go:build linux

package native

import (
	"fmt"
	"os"
	"testing"

	"bridge/sandbox"
	"bridge/sandbox/enginetest"
)

// subject is the engine as all engines are tested.
var subject = enginetest.Subject{
	New:     func(t testing.TB) enginetest.Engine { return newEngine(t) },
	Left:    processes,
	Refused: sandbox.Spec{Python: "/nonexistent"},
	Limits: enginetest.Limits{
		Told: told,
		Bombs: []enginetest.Bomb{
			{Name: "processors", Least: 1, Most: 1, How: "affinity"},
		},
		Hogs:  []string{"hidden hog"},
		Whole: true,
	},
	Probes: enginetest.Probes{
		Python: func(t testing.TB, e enginetest.Engine) (string, []string) {
			py, err := e.(*Engine).pythons.find(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			return py.Executable, py.Prefixes
		},
		Details: map[string]string{
			"account":      `"sandbox:x:65534:65534:sandbox:/workspace:/bin/sh\n"`,
			"newest_calls": `"ENOSYS"`,
		},
		Environment: map[string]string{
			"PATH": "", "HOME": "/workspace", "TMPDIR": "/tmp", "LANG": "", "PYTHONDONTWRITEBYTECODE": "1", "MALLOC_ARENA_MAX": "",
		},
	},
}

func TestEngine(t *testing.T) { subject.Test(t) }

// processes are those of all sandboxes of this process: none of an engine's is
// a child of anybody else.
func processes(testing.TB, enginetest.Engine) []string {
	var all []string
	for _, pid := range descendants(os.Getpid())[1:] {
		all = append(all, fmt.Sprint("process ", pid))
	}
	return all
}

// told is how this machine can hold the limits.
func told(_ testing.TB, _ enginetest.Engine, b sandbox.Sandbox) map[string]string {
	want, got := holders(), b.Limits()
	if unified() && got["memory"] == "cgroup" {
		want["memory"], want["pids"], want["cpus"] = "cgroup", "cgroup", got["cpus"]
	}
	return want
}
