package podman

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/enginetest"
)

// TestRemovedContainer removes a container from outside: the sandbox has
// ended, and no other is hurt.
func TestRemovedContainer(t *testing.T) {
	e := newEngine(t)
	b := enginetest.Start(t, e, sandbox.Spec{}, enginetest.Stubborn)
	b.Stdout().Read(make([]byte, 3))
	removeContainer(t, e, b.(*box).name)
	if exit := b.Wait(); exit.Code != -1 {
		t.Errorf("ended with %+v, want code -1", exit)
	}
}

// TestKilledService kills the service in the middle of a run: the run ends,
// the container is gone, and the next one starts.
func TestKilledService(t *testing.T) {
	program, err := exec.LookPath("podman")
	if err != nil {
		enginetest.Skip(t, "podman is not installed")
	}
	newEngine(t)
	socket := filepath.Join(t.TempDir(), "podman.sock")
	service := exec.Command(program, "--remote=false", "system", "service", "--time=0", "unix://"+socket)
	service.Dir = filepath.Dir(socket) // where conmon leaves a file named oom
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	defer service.Wait()
	defer service.Process.Kill()
	e := New(Options{Image: testImage()})
	defer e.Close()
	e.places = func(bool) ([]place, error) { return []place{unixPlace(socket)}, nil }
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(socket); err == nil || time.Since(begun) > patience {
			break
		}
	}
	s, err := sandbox.Open(t.Context(), e, sandbox.Spec{}, nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	time.AfterFunc(300*time.Millisecond, func() { service.Process.Kill() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := s.Run(ctx, sandbox.Run{Code: "import time; time.sleep(50)"})
	if err != nil || r.Lost == nil {
		t.Fatalf("%+v %v, want a loss", r, err)
	}
	if want := "the sandbox is gone: podman at " + socket + " does not answer any more"; r.Lost.Error() != want {
		t.Errorf("%v, want %s", r.Lost, want)
	}
	enginetest.Within(t, func() []string { return owned(t, e.owner) })
	s, err = sandbox.Open(ctx, e, sandbox.Spec{}, nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r, err := s.Run(ctx, sandbox.Run{Code: "1 + 1"}); err != nil || r.Value == nil || *r.Value != "2" {
		t.Errorf("%+v %v", r, err)
	}
}

// TestSweep removes what bridges have left that are certainly gone, and
// nothing of one that may be alive.
func TestSweep(t *testing.T) {
	e := newEngine(t)
	me := strings.Fields(e.owner)
	as := func(change func(owner []string)) sandbox.Sandbox {
		owner := slices.Clone(me)
		owner[5] = "TEST" + strings.Repeat("X", len(owner[5])-4)
		change(owner)
		other := New(Options{Image: testImage()})
		t.Cleanup(other.Close)
		other.owner = strings.Join(owner, " ")
		b := enginetest.Start(t, other, sandbox.Spec{}, enginetest.Stubborn)
		b.Stdout().Read(make([]byte, 3))
		return b
	}
	left := map[string]sandbox.Sandbox{
		"of a process that is gone":  as(func(o []string) { o[3] = "4194303" }),
		"of another with its number": as(func(o []string) { o[4] = "1" }),
		"of an earlier boot":         as(func(o []string) { o[1] = "0b75a5c8-0000-4000-8000-000000000000" }),
	}
	kept := map[string]sandbox.Sandbox{
		"of another engine of this process": as(func([]string) {}),
		"of another machine":                as(func(o []string) { o[0], o[1] = "elsewhere", "another" }),
		"of another pid namespace":          as(func(o []string) { o[2], o[3] = "1", "4194303" }),
	}
	if err := e.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, b := range left {
		if exit := b.Wait(); exit.Code == 0 {
			t.Errorf("%s: ended with %+v", name, exit)
		}
	}
	for name, b := range kept {
		if state := b.(*box); len(owned(t, state.engine.owner)) != 1 {
			t.Errorf("%s: removed", name)
		}
	}
}
