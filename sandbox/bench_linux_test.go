package sandbox_test

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"bridge/sandbox"
)

// 100 MB of output in a run: see BenchmarkOutput for how fast.
func TestMuchOutput(t *testing.T) {
	for _, e := range subjects(t) {
		s := open(t, e, newToy().serve)
		r := run(t, s, step{code: "line = 'x' * 99\nfor i in range(10**6): print(line)\nprint('end')"})
		if want := int64(100e6+4) - int64(len(r.Stdout.Text)); r.Stdout.Skipped != want || !strings.HasSuffix(r.Stdout.Text, "end\n") {
			t.Errorf("%s: skipped %d, want %d; %d bytes", e.name, r.Stdout.Skipped, want, len(r.Stdout.Text))
		}
	}
}

func benchmark(b *testing.B, f func(b *testing.B, e sandbox.Engine)) {
	b.Run("plain", func(b *testing.B) { f(b, plain{python3()}) })
	box := newNative()
	if err := box.Ready(context.Background(), sandbox.Spec{}); err == nil {
		b.Run("native", func(b *testing.B) { f(b, box) })
	}
}

func BenchmarkOpen(b *testing.B) {
	b.Run("python", func(b *testing.B) {
		for b.Loop() {
			_ = exec.Command(python3(), "-I", "-c", "").Run()
		}
	})
	benchmark(b, func(b *testing.B, e sandbox.Engine) {
		for b.Loop() {
			s, err := sandbox.Open(context.Background(), e, sandbox.Spec{}, newToy().serve, io.Discard)
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			s.Close()
			b.StartTimer()
		}
	})
}

func benchmarkCode(b *testing.B, code string, bytes int64) {
	benchmark(b, func(b *testing.B, e sandbox.Engine) {
		s, err := sandbox.Open(context.Background(), e, sandbox.Spec{}, newToy().serve, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		b.SetBytes(bytes)
		_, _ = s.Run(context.Background(), sandbox.Run{Code: "await mcp_toy.echo('x')", Servers: toyServers})
		for b.Loop() {
			r, err := s.Run(context.Background(), sandbox.Run{Code: code, Servers: toyServers})
			if err != nil || r.Status != sandbox.Succeeded {
				b.Fatalf("%+v, %v", r, err)
			}
		}
	})
}

func BenchmarkRun(b *testing.B)      { benchmarkCode(b, "1+1", 0) }
func BenchmarkRunPrint(b *testing.B) { benchmarkCode(b, "print(1)", 0) }
func BenchmarkRunCall(b *testing.B)  { benchmarkCode(b, "await mcp_toy.echo('x')", 0) }
func BenchmarkRunCalls100(b *testing.B) {
	benchmarkCode(b, "for _ in range(100): await mcp_toy.echo('x')", 0)
}
func BenchmarkOutput(b *testing.B) {
	for _, size := range []int{99, 999, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			n := int(100e6) / (size + 1)
			benchmarkCode(b, fmt.Sprintf("s = 'x' * %d\nfor _ in range(%d): print(s)", size, n), int64(n*(size+1)))
		})
	}
}
