package podman

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bridge/sandbox"

	"github.com/containers/podman/v5/pkg/bindings/containers"
)

// TestClosedEngine closes an engine with sandboxes: they end, and no others
// can be started.
func TestClosedEngine(t *testing.T) {
	other := newEngine(t)
	e := New(Options{Image: testImage()})
	var running sync.WaitGroup
	for range 3 {
		b := start(t, e, sandbox.Spec{}, stubborn)
		b.Stdout().Read(make([]byte, 3))
		running.Go(func() {
			if exit := b.Wait(); exit.Signal != 9 {
				t.Errorf("ended with %+v, want signal 9", exit)
			}
		})
	}
	e.Close()
	running.Wait()
	if left := owned(t, other, e.owner); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := e.Start(t.Context(), sandbox.Spec{}, nil); err == nil || err.Error() != "the podman engine is closed" {
		t.Errorf("start after close: %v", err)
	}
}

// TestOutputAfterTheEnd reads what was written only when the sandbox has
// ended: nothing of it is lost.
func TestOutputAfterTheEnd(t *testing.T) {
	e := newEngine(t)
	for range 5 {
		b := start(t, e, sandbox.Spec{}, "import sys; print('x' * 500000); print('y' * 1000, file=sys.stderr); sys.exit(7)")
		if exit := b.Wait(); exit != (sandbox.Exit{Code: 7}) {
			t.Errorf("ended with %+v, want status 7", exit)
		}
		for stream, want := range map[io.Reader]int{b.Stdout(): 500001, b.Stderr(): 1001} {
			if text, err := io.ReadAll(stream); len(text) != want || err != nil {
				t.Errorf("%d bytes, want %d (%v)", len(text), want, err)
			}
		}
		if _, err := b.Stdin().Write([]byte("x")); err == nil {
			t.Error("writing to a sandbox that has ended is no error")
		}
	}
}

// TestSlowReader lets a guest write more than all that lies between, in both
// directions at once: every byte arrives.
func TestSlowReader(t *testing.T) {
	e := newEngine(t)
	const size = 24 << 20
	b := start(t, e, sandbox.Spec{}, `
import sys, threading
def give():
    for n in range(24): sys.stdout.buffer.write(bytes([n]) * (1 << 20))
    sys.stdout.flush()
t = threading.Thread(target=give)
t.start()
got = len(sys.stdin.buffer.read())
t.join()
print(got, file=sys.stderr)
`)
	time.Sleep(time.Second) // it must have filled everything
	go func() {
		b.Stdin().Write(make([]byte, size))
		b.Stdin().Close()
	}()
	buffer, total := make([]byte, 1<<16), 0
	for {
		n, err := b.Stdout().Read(buffer)
		for _, c := range buffer[:n] {
			if int(c) != total>>20 {
				t.Fatalf("byte %d is %d", total, c)
			}
			total++
		}
		if err != nil {
			break
		}
	}
	text, _ := io.ReadAll(b.Stderr())
	if total != size || string(text) != fmt.Sprintln(size) {
		t.Errorf("%d bytes came and %q went, want %d", total, text, size)
	}
}

// TestAtOnce starts ten sandboxes at once: they do not get in each other's
// way, nor see each other.
func TestAtOnce(t *testing.T) {
	e := newEngine(t)
	var all sync.WaitGroup
	for n := range 10 {
		all.Go(func() {
			b := start(t, e, sandbox.Spec{}, fmt.Sprintf("open('/tmp/%d', 'w'); import os; print(os.listdir('/tmp'), input())", n))
			fmt.Fprintln(b.Stdin(), "in", n)
			if out, stderr, _ := collect(t, b); out != fmt.Sprintf("['%d'] in %d\n", n, n) {
				t.Errorf("%q %s", out, stderr)
			}
		})
	}
	all.Wait()
}

// TestRemovedContainer removes a container from outside: the sandbox has
// ended, and no other is hurt.
func TestRemovedContainer(t *testing.T) {
	e := newEngine(t)
	b := start(t, e, sandbox.Spec{}, stubborn)
	b.Stdout().Read(make([]byte, 3))
	s, err := e.connect(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = containers.Remove(s.with(t.Context()), b.(*box).name, new(containers.RemoveOptions).WithForce(true).WithTimeout(0))
	if err != nil {
		t.Fatal(err)
	}
	if exit := b.Wait(); exit.Code != -1 {
		t.Errorf("ended with %+v, want code -1", exit)
	}
}

// TestKilledService kills the service in the middle of a run: the run ends,
// the container is gone, and the next one starts.
func TestKilledService(t *testing.T) {
	program, err := exec.LookPath("podman")
	if err != nil {
		skip(t, "podman is not installed")
	}
	newEngine(t)
	socket := filepath.Join(t.TempDir(), "podman.sock")
	service := exec.Command(program, "--remote=false", "system", "service", "--time=0", "unix://"+socket)
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
	s, err := sandbox.Open(t.Context(), e, sandbox.Spec{}, nil)
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
	within(t, func() []string { return owned(t, e, e.owner) })
	s, err = sandbox.Open(ctx, e, sandbox.Spec{}, nil)
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
		owner[4] = "TEST" + strings.Repeat("X", len(owner[4])-4)
		change(owner)
		other := New(Options{Image: testImage()})
		t.Cleanup(other.Close)
		other.owner = strings.Join(owner, " ")
		b := start(t, other, sandbox.Spec{}, stubborn)
		b.Stdout().Read(make([]byte, 3))
		return b
	}
	left := map[string]sandbox.Sandbox{
		"of a process that is gone":  as(func(o []string) { o[2] = "4194303" }),
		"of another with its number": as(func(o []string) { o[3] = "1" }),
		"of an earlier boot":         as(func(o []string) { o[0] = "0b75a5c8-0000-4000-8000-000000000000" }),
	}
	kept := map[string]sandbox.Sandbox{
		"of another engine of this process": as(func([]string) {}),
		"of another pid namespace":          as(func(o []string) { o[1], o[2] = "1", "4194303" }),
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
		if state := b.(*box); len(owned(t, e, state.engine.owner)) != 1 {
			t.Errorf("%s: removed", name)
		}
	}
}
