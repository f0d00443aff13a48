//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"bridge/sandbox"
)

// TestStreams reads both outputs apart and feeds the input until its end: the
// guest sees the end, and what it then writes still arrives.
func TestStreams(t *testing.T) {
	e := newEngine(t)
	b := start(t, e, sandbox.Spec{}, `
import sys
text = sys.stdin.read()
print(len(text), flush=True)
print("heard", file=sys.stderr)
sys.exit(7)`)
	go func() {
		io.WriteString(b.Stdin(), strings.Repeat("x", 300_000))
		b.Stdin().Close()
	}()
	out, _ := io.ReadAll(b.Stdout())
	errs, _ := io.ReadAll(b.Stderr())
	if string(out) != "300000\n" || string(errs) != "heard\n" {
		t.Errorf("stdout %q, stderr %q", out, errs)
	}
	if exit := b.Wait(); exit != (sandbox.Exit{Code: 7}) {
		t.Errorf("ended with %+v, want status 7", exit)
	}
	if _, err := b.Stdin().Write([]byte("x")); err == nil {
		t.Error("writing to a sandbox that has ended is no error")
	}
}

// TestMuchOutput lets 100 MB through, of which nothing is lost at the end.
func TestMuchOutput(t *testing.T) {
	e := newEngine(t)
	b := start(t, e, sandbox.Spec{}, `
import os
for n in range(100):
    block = bytes([n]) * 1_000_000
    while block: block = block[os.write(1, block):]`)
	at := time.Now()
	var counts [256]int
	buffer := make([]byte, 1<<16)
	for {
		n, err := b.Stdout().Read(buffer)
		for _, c := range buffer[:n] {
			counts[c]++
		}
		if err != nil {
			break
		}
	}
	for n := range 100 {
		if counts[n] != 1_000_000 {
			t.Errorf("%d bytes of block %d arrived", counts[n], n)
		}
	}
	t.Logf("100 MB in %v", time.Since(at).Round(time.Millisecond))
	if exit := b.Wait(); exit != (sandbox.Exit{}) {
		t.Errorf("ended with %+v", exit)
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
}

// TestKill ends a guest that does not want to end.
func TestKill(t *testing.T) {
	e := newEngine(t)
	b := start(t, e, sandbox.Spec{}, `
import os, signal, time
for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)
if os.fork() == 0: os.setsid()
print("up", flush=True)
while True: time.sleep(100)`)
	b.Stdout().Read(make([]byte, 3))
	b.Kill()
	if exit := b.Wait(); exit != (sandbox.Exit{Code: -1, Signal: 9}) {
		t.Errorf("ended with %+v, want signal 9", exit)
	}
	if b.OutOfMemory() {
		t.Error("out of memory is told of a sandbox that was just killed")
	}
	b.Kill()
}

// TestStartIsBounded cancels starts at every moment: each is an error or a
// running sandbox, and no container is left.
func TestStartIsBounded(t *testing.T) {
	e := newEngine(t)
	for n := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n*10)*time.Millisecond)
		b, err := e.Start(ctx, allowed(sandbox.Spec{}), []string{"-I", "-c", "print(1)"})
		cancel()
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after %d ms: %v", 10*n, err)
			}
			continue
		}
		if out, _, exit := collect(t, b); out != "1\n" || exit.Code != 0 {
			t.Errorf("after %d ms: %q, %+v", 10*n, out, exit)
		}
	}
	e.Close()
	me, err := self()
	if err != nil {
		t.Fatal(err)
	}
	if left := containers(t, newEngine(t), labelOwner+"="+me.String()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := e.Start(t.Context(), allowed(sandbox.Spec{}), nil); err == nil || err.Error() != "the docker engine is closed" {
		t.Errorf("start after close: %v", err)
	}
}

// TestAtOnce starts ten sandboxes at once: they do not get in each other's
// way, nor see each other.
func TestAtOnce(t *testing.T) {
	e := newEngine(t)
	var all sync.WaitGroup
	for n := range 10 {
		all.Go(func() {
			b, err := e.Start(t.Context(), allowed(sandbox.Spec{}), []string{"-I", "-c",
				fmt.Sprintf("open('/tmp/%d', 'w'); import os; print(os.listdir('/tmp'), input())", n)})
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprintln(b.Stdin(), "in", n)
			if out, stderr, _ := collect(t, b); out != fmt.Sprintf("['%d'] in %d\n", n, n) {
				t.Errorf("%q %s", out, stderr)
			}
		})
	}
	all.Wait()
}
