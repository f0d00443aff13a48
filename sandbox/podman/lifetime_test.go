package podman

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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
			if err != nil || len(strings.Fields(owner)) != parts {
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
