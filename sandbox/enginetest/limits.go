package enginetest

import (
	"maps"
	"strings"
	"testing"

	"bridge/sandbox"
)

// Limits are how an engine holds them.
type Limits struct {
	// Told is what a sandbox has to tell of its limits on this machine.
	Told func(testing.TB, Engine, sandbox.Sandbox) map[string]string

	Bombs []Bomb   // besides those of every engine
	Hogs  []string // programs that take memory which no limit of one process bounds, besides those of every engine
	Whole bool     // whether the sandbox as a whole is killed for its memory, not a process of it
}

// A Bomb takes as much of a thing as there is.
type Bomb struct {
	Name        string
	Least, Most float64
	How         string // what ends it
}

// bombs are of every engine.
var bombs = []Bomb{
	{"tmp", 15, 16, "ENOSPC"},
	{"workspace", 23, 24, "ENOSPC"},
	{"shm", 7, 8, "ENOSPC"},
	{"inodes", 1000, 16384, "ENOSPC"},
	{"one file", 15, 16, "ENOSPC"},
	{"forks", 20, 23, "EAGAIN"},
	{"threads", 20, 23, "can't start new thread"},
	{"files", 90, 97, "EMFILE"},
	{"heap", 128, 191, "MemoryError"},
	{"private", 128, 191, "refused"},
	{"pipes", 0.05, 100, "EMFILE"},
}

type had struct {
	Had       float64
	How       string
	SoFar     float64 `json:"so far"`
	Unlimited bool
}

// Small are limits that a bomb reaches soon.
var Small = sandbox.Limits{
	Memory: 192 << 20, CPUs: 0.5, PIDs: 24, Files: 100,
	Tmp: 16 << 20, Workspace: 24 << 20, Shm: 8 << 20,
}

// bombs takes as much of each thing as there is: it must end at the limit that
// was asked for, and not far below it either.
func (s Subject) bombs(t *testing.T) {
	e := s.New(t)
	source := Source(t, "bombs.py")
	for _, c := range append(bombs, s.Limits.Bombs...) {
		t.Run(c.Name, func(t *testing.T) {
			b := Start(t, e, s.with(Small), source, c.Name)
			stdout, stderr, exit := Collect(t, b)
			results := lines[had](t, stdout)
			if exit != (sandbox.Exit{}) || len(results) == 0 {
				t.Fatalf("ended with %+v\n%s%s", exit, stdout, stderr)
			}
			got := results[len(results)-1]
			if got.Unlimited || got.How != c.How || got.Had < c.Least || got.Had > c.Most {
				t.Errorf("had %v (%s), unlimited %v; want %v to %v (%s)", got.Had, got.How, got.Unlimited, c.Least, c.Most, c.How)
			}
			if b.OutOfMemory() {
				t.Error("out of memory is told, and was not so")
			}
		})
	}
}

// memory takes memory that no limit of a single process bounds: where the limit
// is in force something is killed, and the sandbox says why.
func (s Subject) memory(t *testing.T) {
	e := s.New(t)
	source := Source(t, "bombs.py")
	for _, name := range append([]string{"hog"}, s.Limits.Hogs...) {
		t.Run(name, func(t *testing.T) {
			b := Start(t, e, s.with(Small), source, name)
			if b.Limits()["memory"] == "" {
				t.Skip("the engine does not hold the memory here, and says so")
			}
			stdout, stderr, exit := Collect(t, b)
			results := lines[had](t, stdout[:strings.LastIndexByte(stdout, '\n')+1])
			if len(results) == 0 {
				t.Fatalf("ended with %+v\n%s%s", exit, stdout, stderr)
			}
			last := results[len(results)-1]
			limit := float64(Small.Memory >> 20)
			t.Logf("limit %v MiB, killed after %v MiB were touched; ended with %+v", limit, last.SoFar, exit)
			if !b.OutOfMemory() || s.Limits.Whole && (last.Unlimited || exit.Signal != 9) {
				t.Errorf("not killed: %+v, ended with %+v\n%s", last, exit, stderr)
			}
			if s.Limits.Whole && last.SoFar < limit/2 {
				t.Errorf("killed after %v MiB already", last.SoFar)
			}
		})
	}
	t.Run("of a child", s.memoryOfAChild)
	for _, name := range []string{"shared", "discarded", "trimmed", "bequeathed"} {
		t.Run(name, func(t *testing.T) { s.memoryShared(t, e, name) })
	}
}

// memoryShared takes memory that processes can share, and hides it: it is refused
// at the limit, or something is killed there.
func (s Subject) memoryShared(t *testing.T, e Engine, name string) {
	b := Start(t, e, s.with(Small), Source(t, "bombs.py"), name)
	if b.Limits()["memory"] == "" {
		t.Skip("the engine does not hold the memory here, and says so")
	}
	stdout, stderr, exit := Collect(t, b)
	var got had
	for _, r := range lines[had](t, stdout[:strings.LastIndexByte(stdout, '\n')+1]) {
		got = had{max(got.Had, r.Had, r.SoFar), r.How, 0, got.Unlimited || r.Unlimited}
	}
	limit := float64(Small.Memory >> 20)
	t.Logf("limit %v MiB, %v MiB were had (%s); ended with %+v", limit, got.Had, got.How, exit)
	if got.Unlimited || got.Had > 1.5*limit || !b.OutOfMemory() && got.How != "refused" {
		t.Errorf("not held\n%s", stderr)
	}
	if s.Limits.Whole && got.Had < limit/2 {
		t.Errorf("only %v MiB were had", got.Had)
	}
}

// memoryOfAChild is as in a session: the first process is small, and its child
// is killed.
func (s Subject) memoryOfAChild(t *testing.T) {
	if s.Limits.Whole {
		return
	}
	e := s.New(t)
	for range 5 {
		b := Start(t, e, s.with(Small), `
import os, mmap, sys
if os.fork() == 0:
    m = [mmap.mmap(-1, 16 << 20, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS) for _ in range(20)]
    for n in m:
        for at in range(0, len(n), 4096): n[at] = 1
    os._exit(0)
print(os.wait()[1] & 127)`)
		if b.Limits()["memory"] == "" {
			t.Skip("the engine does not hold the memory here, and says so")
		}
		stdout, _, exit := Collect(t, b)
		if stdout != "9\n" || exit != (sandbox.Exit{}) || !b.OutOfMemory() {
			t.Errorf("%q, ended with %+v, out of memory %v", stdout, exit, b.OutOfMemory())
		}
	}
}

// limitsAreTold compares what a sandbox says of its limits with how they can
// be held here.
func (s Subject) limitsAreTold(t *testing.T) {
	e := s.New(t)
	b := Start(t, e, s.Spec, "")
	got := b.Limits()
	t.Log(got)
	if want := s.Limits.Told(t, e, b); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	b.Limits()["memory"] = "changed"
	if b.Limits()["memory"] == "changed" {
		t.Error("the limits can be changed from outside")
	}
}
