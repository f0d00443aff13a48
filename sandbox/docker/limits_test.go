//go:build linux

package docker

import (
	"maps"
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
		{"inodes", 1000, 16384, "ENOSPC"},
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

// TestMemory takes memory that no limit of a single process bounds: docker
// kills for it, and says so, whoever it was that died.
func TestMemory(t *testing.T) {
	e := newEngine(t)
	bombs := source(t, "bombs.py")
	for _, name := range []string{"hog", "shared"} {
		t.Run(name, func(t *testing.T) {
			b := start(t, e, sandbox.Spec{Limits: small}, bombs, name)
			stdout, stderr, exit := collect(t, b)
			results := lines[had](t, stdout)
			if len(results) == 0 {
				t.Fatalf("ended with %+v\n%s%s", exit, stdout, stderr)
			}
			last := results[len(results)-1]
			if !b.OutOfMemory() {
				t.Errorf("not told: %+v, ended with %+v\n%s", last, exit, stderr)
			}
			limit := float64(small.Memory >> 20)
			t.Logf("limit %v MiB, killed after %v MiB were touched; ended with %+v", limit, last.SoFar, exit)
		})
	}
	t.Run("child", func(t *testing.T) {
		for range 10 {
			b := start(t, e, sandbox.Spec{Limits: small}, `
import os, mmap, sys
if os.fork() == 0:
    m = mmap.mmap(-1, 400 << 20, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    for at in range(0, len(m), 4096): m[at] = 1
    os._exit(0)
sys.exit(os.WTERMSIG(os.wait()[1]))`)
			if _, stderr, exit := collect(t, b); exit.Code != int(syscall.SIGKILL) || !b.OutOfMemory() {
				t.Errorf("ended with %+v, out of memory is %v\n%s", exit, b.OutOfMemory(), stderr)
			}
		}
	})
}

// TestLimitsAreTold compares what a sandbox says of its limits with what
// docker can hold on this machine.
func TestLimitsAreTold(t *testing.T) {
	e := newEngine(t)
	b := start(t, e, sandbox.Spec{}, "")
	facts, err := e.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", facts)
	if !maps.Equal(b.Limits(), facts.Limits) {
		t.Errorf("%v, want %v", b.Limits(), facts.Limits)
	}
	b.Limits()["memory"] = "changed"
	if b.Limits()["memory"] == "changed" {
		t.Error("the limits can be changed from outside")
	}
}
