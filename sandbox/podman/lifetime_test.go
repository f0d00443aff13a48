package podman

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"bridge/sandbox"

	"github.com/containers/podman/v5/pkg/bindings/containers"
)

// owned are the containers that carry an owner's label, running or not.
func owned(t *testing.T, e *Engine, owner string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := e.connect(ctx, sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := containers.List(s.with(ctx), new(containers.ListOptions).WithAll(true).
		WithFilters(map[string][]string{"label": {labelOwner + "=" + owner}}))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Names[0]+" "+c.State)
	}
	return names
}

// within waits until nothing is left, five seconds at most.
func within(t *testing.T, left func() []string) {
	t.Helper()
	var last []string
	for begun := time.Now(); time.Since(begun) < 5*time.Second; time.Sleep(50 * time.Millisecond) {
		if last = left(); len(last) == 0 {
			t.Logf("nothing is left after %v", time.Since(begun).Round(10*time.Millisecond))
			return
		}
	}
	t.Errorf("left after five seconds: %v", last)
}

// folders are the temporary folders of engines.
func folders(t *testing.T) []string {
	all, err := filepath.Glob(filepath.Join(os.TempDir(), "bridge-podman-[0-9]*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestKilledEngine kills a process that holds sandboxes: nothing of them is
// left, whatever they have done to stay.
func TestKilledEngine(t *testing.T) {
	e := newEngine(t)
	for name, env := range map[string]string{"with the service that is there": "", "with a service of its own": "1"} {
		t.Run(name, func(t *testing.T) {
			before := len(folders(t))
			cmd := helper(t, "hold", ownEnv+"="+env)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Wait()
			defer cmd.Process.Kill()
			line, err := bufio.NewReader(out).ReadString('\n')
			owner := strings.TrimSpace(line)
			if err != nil || len(strings.Fields(owner)) != 4 {
				t.Fatalf("%q %v", line, err)
			}
			if n := owned(t, e, owner); len(n) != 3 {
				t.Fatalf("containers: %v, want 3", n)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			within(t, func() []string { return owned(t, e, owner) })
			within(t, func() []string {
				if now := folders(t); len(now) > before {
					return now
				}
				return nil
			})
		})
	}
}

// TestNothingIsLeft starts and ends sandboxes in every way: no goroutine, open
// file or container of them is left.
func TestNothingIsLeft(t *testing.T) {
	e := newEngine(t)
	ctx := t.Context()
	cycle := func(n int) {
		b, err := e.Start(ctx, sandbox.Spec{}, []string{"-I", "-c", "print('x' * 1000, flush=True); import sys; sys.stdin.read()"})
		if err != nil {
			t.Fatal(err)
		}
		switch n % 4 {
		case 0: // killed at once, nobody reads, nobody waits
			b.Kill()
		case 1:
			io.WriteString(b.Stdin(), "x")
			b.Stdin().Close()
			io.ReadAll(b.Stdout())
		case 2: // killed while somebody reads
			go io.Copy(io.Discard, b.Stderr())
			b.Stdout().Read(make([]byte, 1))
			b.Kill()
		case 3: // ended before it is ready
			canceled, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := e.Start(canceled, sandbox.Spec{}, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("start with a canceled context: %v", err)
			}
			if _, err := e.Start(ctx, sandbox.Spec{Image: "localhost/no-such-image"}, nil); err == nil {
				t.Error("start without an image is no error")
			}
			b.Kill()
		}
		b.Wait()
		b.Kill() // does nothing
	}
	for n := range 4 {
		cycle(n) // what is made once
	}
	count := func() int {
		entries, _ := os.ReadDir("/proc/self/fd")
		return len(entries)
	}
	idle := func() { // connections that are kept for the next call
		e.mu.Lock()
		defer e.mu.Unlock()
		e.service.close()
	}
	idle()
	goroutines, files := runtime.NumGoroutine(), count()
	for n := range 24 {
		cycle(n)
	}
	within(t, func() []string {
		idle()
		if now := runtime.NumGoroutine(); now > goroutines {
			stacks := make([]byte, 1<<20)
			return []string{fmt.Sprint(now, " goroutines, before ", goroutines), string(stacks[:runtime.Stack(stacks, true)])}
		}
		if now := count(); now > files {
			return []string{fmt.Sprint(now, " open files, before ", files)}
		}
		return owned(t, e, e.owner)
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.live) != 0 {
		t.Errorf("%d sandboxes are still listed", len(e.live))
	}
}

// TestStartIsBounded cancels starts at every moment: each is an error or a
// running sandbox, and none is left behind.
func TestStartIsBounded(t *testing.T) {
	e := newEngine(t)
	for n := range 15 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n*n)*time.Millisecond)
		b, err := e.Start(ctx, sandbox.Spec{}, []string{"-I", "-c", "print(1)"})
		cancel()
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after %d ms: %v", n*n, err)
			}
			continue
		}
		if out, _, exit := collect(t, b); out != "1\n" || exit.Code != 0 {
			t.Errorf("after %d ms: %q, %+v", n*n, out, exit)
		}
	}
	within(t, func() []string { return owned(t, e, e.owner) })
}

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
	t.Log(r.Lost)
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
