//go:build linux

package native

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bridge/sandbox"

	"golang.org/x/sys/unix"
)

// gone waits until the process behind a descriptor has ended.
func gone(t *testing.T, pidfd int) {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 5000)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n != 1 {
			t.Errorf("a process is alive after five seconds (%v)", err)
		}
		return
	}
}

// TestKilledEngine kills a process that holds sandboxes: nothing of them is
// left, whatever it has done to stay.
func TestKilledEngine(t *testing.T) {
	newEngine(t)
	cmd := helper(t, "hold")
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
	var pidfds []int
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "held"; {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(lines.Text())
		}
		// A descriptor, since the number may be another's afterwards.
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		pidfds = append(pidfds, fd)
	}
	if len(pidfds) != 10 {
		t.Fatalf("%d processes in two sandboxes, want 10", len(pidfds))
	}
	fds := []unix.PollFd{{Fd: int32(pidfds[0]), Events: unix.POLLIN}}
	if n, _ := unix.Poll(fds, 200); n != 0 {
		t.Fatal("a sandbox has ended before its engine was killed")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, fd := range pidfds {
		gone(t, fd)
	}
}

// descriptors are the open files of this process.
func descriptors(t *testing.T) []string {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			names = append(names, e.Name()+" "+to)
		}
	}
	return names
}

// TestNothingIsLeft starts and ends sandboxes in every way: no goroutine,
// descriptor or process of them is left.
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
			if _, err := e.Start(ctx, sandbox.Spec{Python: "/nonexistent"}, nil); err == nil {
				t.Error("start without an interpreter is no error")
			}
			b.Kill()
		}
		b.Wait()
		b.Kill() // does nothing, least of all to another process
	}
	for n := range 4 {
		cycle(n) // what is made once
	}
	goroutines, files, processes := runtime.NumGoroutine(), descriptors(t), len(descendants(os.Getpid()))
	for n := range 32 {
		cycle(n)
	}
	var now int
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		if now = runtime.NumGoroutine(); now <= goroutines {
			break // a reader takes a moment to see the end
		}
	}
	if now > goroutines {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before\n%s", now, goroutines, stacks[:runtime.Stack(stacks, true)])
	}
	if left := descriptors(t); len(left) > len(files) {
		t.Errorf("%d open files, %d before:\n%s", len(left), len(files), strings.Join(left, "\n"))
	}
	if left := descendants(os.Getpid()); len(left) > processes {
		t.Errorf("%d processes, %d before", len(left), processes)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.live) != 0 {
		t.Errorf("%d sandboxes are still listed", len(e.live))
	}
}

// TestStartIsBounded cancels starts at every moment: each is an error or a
// running sandbox.
func TestStartIsBounded(t *testing.T) {
	e := newEngine(t)
	for n := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*time.Millisecond)
		b, err := e.Start(ctx, sandbox.Spec{}, []string{"-I", "-c", "print(1)"})
		cancel()
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after %d ms: %v", n, err)
			}
			continue
		}
		if out, _, exit := collect(t, b); out != "1\n" || exit.Code != 0 {
			t.Errorf("after %d ms: %q, %+v", n, out, exit)
		}
	}
}

// TestClosedEngine closes an engine with sandboxes: they end, and no others
// can be started.
func TestClosedEngine(t *testing.T) {
	newEngine(t)
	e := New()
	var running sync.WaitGroup
	for range 3 {
		b := start(t, e, sandbox.Spec{}, stubborn)
		b.Stdout().Read(make([]byte, 3))
		running.Go(func() {
			if exit := b.Wait(); exit.Signal != int(unix.SIGKILL) {
				t.Errorf("ended with %+v, want signal 9", exit)
			}
		})
	}
	e.Close()
	running.Wait()
	if _, err := e.Start(t.Context(), sandbox.Spec{}, nil); err == nil || err.Error() != "the native engine is closed" {
		t.Errorf("start after close: %v", err)
	}
}

// TestOutputAfterTheEnd reads what was written only when the sandbox has
// ended: nothing of it is lost.
func TestOutputAfterTheEnd(t *testing.T) {
	e := newEngine(t)
	b := start(t, e, sandbox.Spec{}, "import sys; print('x' * 60000); print('y' * 1000, file=sys.stderr); sys.exit(7)")
	if exit := b.Wait(); exit != (sandbox.Exit{Code: 7}) {
		t.Errorf("ended with %+v, want status 7", exit)
	}
	for stream, want := range map[io.Reader]int{b.Stdout(): 60001, b.Stderr(): 1001} {
		if text, err := io.ReadAll(stream); len(text) != want || err != nil {
			t.Errorf("%d bytes, want %d (%v)", len(text), want, err)
		}
	}
	if _, err := b.Stdin().Write([]byte("x")); err == nil {
		t.Error("writing to a sandbox that has ended is no error")
	}
}

// TestAtOnce starts several sandboxes at once: they do not get in each
// other's way, nor see each other.
func TestAtOnce(t *testing.T) {
	e := newEngine(t)
	var all sync.WaitGroup
	for n := range 8 {
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
