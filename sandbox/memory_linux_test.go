package sandbox_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"bridge/harness/project"
	"bridge/sandbox"
)

// readyNative is the native engine, which the test cannot do without.
func readyNative(t *testing.T) sandbox.Engine {
	t.Helper()
	box := newNative()
	if err := box.Ready(context.Background(), sandbox.Spec{}); err != nil {
		project.Skip(t, "the native engine is not ready: ", err)
	}
	return box
}

// A session that takes more memory than its limit is refused it or killed for
// it, as the engine can; the result says which, and is right about what is left.
func TestMemory(t *testing.T) {
	box := readyNative(t)
	for name, code := range map[string]string{
		"at once":   "x = bytearray(1 << 30)",
		"by list":   "x = []\nwhile True: x.append('x' * 100000)",
		"by string": "x = 'x'\nwhile True: x += x",
		"to the last byte": "x, size = None, 1 << 20\nwhile size > 32:\n    try:\n        while True: x = x, bytes(size)\n" +
			"    except MemoryError: size //= 2\nraise MemoryError",
		"children": "import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n        x = bytearray(60 << 20)\n        time.sleep(60)\n" +
			"time.sleep(60)",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := sandbox.Open(context.Background(), box, sandbox.Spec{Label: "memory", Limits: sandbox.Limits{Memory: 128 << 20}}, nil, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r := run(t, s, step{code: "kept = 1\nprint('before')\n" + code})
			if r.Stdout.Text != "before\n" {
				t.Errorf("stdout %q", r.Stdout.Text)
			}
			switch {
			case r.Status == sandbox.Lost && r.Lost.OutOfMemory:
			case r.Status == sandbox.Failed && r.Error.Type == "MemoryError":
				// At the very limit, the next run may be the one too many.
				r = run(t, s, step{code: "x = None\nkept"})
				if r.Lost == nil || !r.Lost.OutOfMemory {
					step{value: "1"}.check(t, r)
				}
			default:
				t.Errorf("status %q, error %+v, loss %+v", r.Status, r.Error, r.Lost)
				t.Log(r.Stderr.Text)
			}
		})
	}
}

// A run that has used up the memory and gone on all the same has its answer,
// once, and so has the next.
func TestMemorySwallowed(t *testing.T) {
	box := readyNative(t)
	for _, least := range []int{32, 64, 128, 512, 4096, 65536} {
		s, err := sandbox.Open(context.Background(), box, sandbox.Spec{Label: "memory", Limits: sandbox.Limits{Memory: 128 << 20}}, nil, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		code := fmt.Sprintf("x, size = None, 1 << 20\nwhile size > %d:\n    try:\n        while True: x = x, bytes(size)\n"+
			"    except MemoryError: size //= 2\nprint('on')", least)
		for range 2 {
			r := run(t, s, step{code: code})
			if r.Lost != nil && r.Lost.OutOfMemory {
				break
			}
			if r.Status != sandbox.Succeeded && (r.Error == nil || r.Error.Type != "MemoryError") {
				t.Errorf("%d: status %q, error %+v, loss %+v, stderr %s", least, r.Status, r.Error, r.Lost, r.Stderr.Text)
				break
			}
			if r = run(t, s, step{code: "x = None\n1"}); r.Lost == nil || !r.Lost.OutOfMemory {
				step{value: "1"}.check(t, r)
			}
			if r.Lost != nil {
				break
			}
		}
		s.Close()
	}
}

// A session that has neither files nor memory left can be told to give them back.
func TestMemoryAndFiles(t *testing.T) {
	box := readyNative(t)
	s, err := sandbox.Open(context.Background(), box, sandbox.Spec{Label: "memory"}, nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run(t, s, step{code: "fs = []\ntry:\n    while True: fs.append(open('/dev/null'))\nexcept OSError: pass"})
	if r := run(t, s, step{code: "bytearray(1 << 40)"}); r.Error == nil || r.Error.Type != "MemoryError" {
		t.Errorf("error %+v, want a MemoryError", r.Error)
	}
	step{value: "True"}.check(t, run(t, s, step{code: "for f in fs: f.close()\nfs[-1].closed"}))
}
