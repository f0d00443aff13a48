package enginetest

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"bridge/sandbox"
)

// streams reads both outputs apart and feeds the input until its end: the
// guest sees the end, and what it then writes still arrives.
func (s Subject) streams(t *testing.T) {
	b := Start(t, s.New(t), s.Spec, `
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
}

// slowReader lets a guest write more than all that lies between, in both
// directions at once: every byte arrives.
func (s Subject) slowReader(t *testing.T) {
	const size = 24 << 20
	b := Start(t, s.New(t), s.Spec, `
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

// muchOutput lets 100 MB through, of which nothing is lost at the end.
func (s Subject) muchOutput(t *testing.T) {
	b := Start(t, s.New(t), s.Spec, `
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

// outputAfterTheEnd reads what was written only when the sandbox has ended:
// nothing of it is lost.
func (s Subject) outputAfterTheEnd(t *testing.T) {
	e := s.New(t)
	for range 3 {
		b := Start(t, e, s.Spec, "import sys; print('x' * 60000); print('y' * 1000, file=sys.stderr); sys.exit(7)")
		if exit := b.Wait(); exit != (sandbox.Exit{Code: 7}) {
			t.Errorf("ended with %+v, want status 7", exit)
		}
		for stream, want := range map[io.Reader]int{b.Stdout(): 60001, b.Stderr(): 1001} {
			if text, err := io.ReadAll(stream); len(text) != want || err != nil {
				t.Errorf("%d bytes, want %d (%v)", len(text), want, err)
			}
		}
		if _, err := b.Stdin().Write([]byte("x")); err == nil {
			t.Error("writing to a sandbox that has ended is not an error")
		}
	}
}
