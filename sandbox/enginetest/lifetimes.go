package enginetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"bridge/sandbox"
)

// Stubborn is five processes that ignore signals and the end of their input,
// as a session's guest would not. Some have left the session, one has ended
// and is not waited for, one's parent is gone.
const Stubborn = `
import os, signal, time
for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)
for n in range(3):
    if os.fork() == 0:
        os.setsid()
        if n == 2 and os.fork(): os._exit(0)
        while True: time.sleep(100)
print("up", flush=True)
while True: time.sleep(100)
`

// up waits until a stubborn sandbox is.
func up(b sandbox.Sandbox) { io.ReadFull(b.Stdout(), make([]byte, 3)) }

// Within waits until nothing is left, five seconds at most.
func Within(t testing.TB, left func() []string) {
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

// atOnce starts ten sandboxes at once: they do not get in each other's way,
// nor see each other.
func (s Subject) atOnce(t *testing.T) {
	e := s.New(t)
	var all sync.WaitGroup
	for n := range 10 {
		all.Go(func() {
			b, err := e.Start(t.Context(), s.Spec, []string{"-I", "-c",
				fmt.Sprintf("open('/tmp/%d', 'w'); import os; print(os.listdir('/tmp'), input())", n)}, io.Discard)
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprintln(b.Stdin(), "in", n)
			if out, stderr, _ := Collect(t, b); out != fmt.Sprintf("['%d'] in %d\n", n, n) {
				t.Errorf("%q %s", out, stderr)
			}
		})
	}
	all.Wait()
}

// killed ends a guest that does not want to end.
func (s Subject) killed(t *testing.T) {
	b := Start(t, s.New(t), s.Spec, Stubborn)
	up(b)
	b.Kill()
	if exit := b.Wait(); exit != (sandbox.Exit{Code: -1, Signal: 9}) {
		t.Errorf("ended with %+v, want signal 9", exit)
	}
	if b.OutOfMemory() {
		t.Error("a sandbox that was killed says that it was out of memory")
	}
	b.Kill() // does nothing, least of all to another process
}

// startIsBounded cancels starts at every moment: each is an error or a running
// sandbox, and none is left behind.
func (s Subject) startIsBounded(t *testing.T) {
	e := s.New(t)
	for n := range 15 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n*n)*time.Millisecond)
		b, err := e.Start(ctx, s.Spec, []string{"-I", "-c", "print(1)"}, io.Discard)
		cancel()
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after %d ms: %v", n*n, err)
			}
			continue
		}
		if out, _, exit := Collect(t, b); out != "1\n" || exit.Code != 0 {
			t.Errorf("after %d ms: %q, %+v", n*n, out, exit)
		}
	}
	Within(t, func() []string { return s.Left(t, e) })
}

// closedEngine closes an engine with sandboxes: they end, and no others can be
// started.
func (s Subject) closedEngine(t *testing.T) {
	e := s.New(t)
	var running sync.WaitGroup
	for range 3 {
		b := Start(t, e, s.Spec, Stubborn)
		up(b)
		running.Go(func() {
			if exit := b.Wait(); exit.Signal != 9 {
				t.Errorf("ended with %+v, want signal 9", exit)
			}
		})
	}
	e.Close()
	running.Wait()
	if left := s.Left(t, e); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	want := "the " + e.Name() + " engine is closed"
	if _, err := e.Start(t.Context(), s.Spec, nil, io.Discard); err == nil || err.Error() != want {
		t.Errorf("start after close: %v, want %s", err, want)
	}
}

// cycle starts and ends a sandbox in one of four ways.
func (s Subject) cycle(t *testing.T, e Engine, n int) {
	b, err := e.Start(t.Context(), s.Spec, []string{"-I", "-c", "print('x' * 1000, flush=True); import sys; sys.stdin.read()"}, io.Discard)
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
	case 3: // ended before it is ready, and refused
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := e.Start(canceled, s.Spec, nil, io.Discard); !errors.Is(err, context.Canceled) {
			t.Errorf("start with a canceled context: %v", err)
		}
		if _, err := e.Start(t.Context(), s.Refused, nil, io.Discard); err == nil {
			t.Error("a start that cannot be is not an error")
		}
		b.Kill()
	}
	b.Wait()
	b.Kill()
}

// nothingIsLeft starts and ends sandboxes in every way: no goroutine,
// descriptor, process or container of them is left.
func (s Subject) nothingIsLeft(t *testing.T) {
	e := s.New(t)
	for n := range 4 {
		s.cycle(t, e, n) // what is made once
	}
	count := func() (goroutines, files int) {
		if s.Idle != nil {
			s.Idle(e)
		}
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return runtime.NumGoroutine(), len(entries)
	}
	goroutines, files := count()
	for n := range 24 {
		s.cycle(t, e, n)
	}
	Within(t, func() []string {
		left := s.Left(t, e)
		g, f := count()
		if g > goroutines {
			stacks := make([]byte, 1<<20)
			left = append(left, fmt.Sprintf("%d goroutines, %d before\n%s", g, goroutines, stacks[:runtime.Stack(stacks, true)]))
		}
		if f > files {
			left = append(left, fmt.Sprintf("%d open files, %d before", f, files))
		}
		return left
	})
}
