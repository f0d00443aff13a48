package podman

import (
	"maps"
	"strings"
	"syscall"
	"testing"

	"bridge/sandbox"
)

type had struct {
	Had       float64
	How       string
	SoFar     float64 `json:"so far"`
	Unlimited bool
}

// small are limits that a bomb reaches soon.
var small = sandbox.Limits{
	Memory: 192 << 20, CPUs: 0.5, PIDs: 24, Files: 100,
	Tmp: 16 << 20, Workspace: 24 << 20, Shm: 8 << 20,
}

// TestBombs takes as much of each thing as there is: it must end at the limit
// that was asked for, and not far below it either.
func TestBombs(t *testing.T) {
	e := newEngine(t)
	bombs := source(t, "bombs.py")
	for _, c := range []struct {
		name        string
		least, most float64
		how         string
	}{
		{"tmp", 15, 16, "ENOSPC"},
		{"workspace", 23, 24, "ENOSPC"},
		{"shm", 7, 8, "ENOSPC"},
		{"one file", 15, 16, "ENOSPC"},
		{"forks", 20, 23, "EAGAIN"},
		{"threads", 20, 23, "can't start new thread"},
		{"files", 90, 97, "EMFILE"},
		{"heap", 128, 191, "MemoryError"},
		{"private", 128, 191, "refused"},
		{"pipes", 0.05, 100, "EMFILE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := start(t, e, sandbox.Spec{Limits: small}, bombs, c.name)
			stdout, stderr, exit := collect(t, b)
			results := lines[had](t, stdout)
			if exit != (sandbox.Exit{}) || len(results) == 0 {
				t.Fatalf("ended with %+v\n%s%s", exit, stdout, stderr)
			}
			got := results[len(results)-1]
			if got.Unlimited || got.How != c.how || got.Had < c.least || got.Had > c.most {
				t.Errorf("had %v (%s), unlimited %v; want %v to %v (%s)", got.Had, got.How, got.Unlimited, c.least, c.most, c.how)
			}
			if b.OutOfMemory() {
				t.Error("out of memory is told, and was not so")
			}
		})
	}
}

// TestMemory takes memory that no limit of a single process bounds: where the
// limit is in force something is killed, and the sandbox says why.
func TestMemory(t *testing.T) {
	e := newEngine(t)
	bombs := source(t, "bombs.py")
	for _, name := range []string{"hog", "shared"} {
		t.Run(name, func(t *testing.T) {
			b := start(t, e, sandbox.Spec{Limits: small}, bombs, name)
			if b.Limits()["memory"] == "" {
				t.Skip("podman does not hold the memory here, and says so")
			}
			stdout, stderr, exit := collect(t, b)
			if !b.OutOfMemory() {
				t.Errorf("not killed: ended with %+v\n%s%s", exit, stdout, stderr)
			}
			last := lines[had](t, stdout[:strings.LastIndexByte(stdout, '\n')+1])
			t.Logf("limit %d MiB, ended with %+v after %v", small.Memory>>20, exit, last[len(last)-1])
		})
	}
	t.Run("of a child", func(t *testing.T) {
		// As in a session: the first process is small, and its child is killed.
		b := start(t, e, sandbox.Spec{Limits: small}, `
import os, mmap, sys
if os.fork() == 0:
    m = [mmap.mmap(-1, 16 << 20, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS) for _ in range(20)]
    for n in m:
        for at in range(0, len(n), 4096): n[at] = 1
    os._exit(0)
print(os.wait()[1] & 127)`)
		if b.Limits()["memory"] == "" {
			t.Skip("podman does not hold the memory here, and says so")
		}
		stdout, _, exit := collect(t, b)
		if stdout != "9\n" || exit != (sandbox.Exit{}) || !b.OutOfMemory() {
			t.Errorf("%q, ended with %+v, out of memory %v", stdout, exit, b.OutOfMemory())
		}
	})
	t.Run("not by others", func(t *testing.T) {
		b := start(t, e, sandbox.Spec{}, "import signal; signal.pause()")
		b.Kill()
		if exit := b.Wait(); exit.Signal != int(syscall.SIGKILL) || exit.Code != -1 {
			t.Errorf("ended with %+v, want signal 9", exit)
		}
		if b.OutOfMemory() {
			t.Error("out of memory is told of a sandbox that was just killed")
		}
	})
}

// TestLimitsAreTold compares what a sandbox says of its limits with what its
// podman can hold, and sees that who demands more is refused.
func TestLimitsAreTold(t *testing.T) {
	e := newEngine(t)
	b := start(t, e, sandbox.Spec{}, "")
	got := b.Limits()
	t.Log(got)
	facts, err := e.Describe(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, facts.Limits) {
		t.Errorf("%v, and the engine says %v", got, facts.Limits)
	}
	b.Limits()["memory"] = "changed"
	if b.Limits()["memory"] == "changed" {
		t.Error("the limits can be changed from outside")
	}
	_, err = e.Start(t.Context(), sandbox.Spec{Enforced: true}, []string{"-c", ""})
	if held := len(facts.Loose) == 0; held != (err == nil) {
		t.Errorf("demanded, and %v is not held: %v", facts.Loose, err)
	}
	if err != nil {
		t.Log(err)
	}
}
