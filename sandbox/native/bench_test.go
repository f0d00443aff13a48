//go:build linux

package native

import (
	"context"
	"io"
	"os/exec"
	"slices"
	"testing"
	"time"

	"bridge/sandbox"
)

// BenchmarkStart measures from the start to the first byte that Python
// writes, in the sandbox and without one, in turn.
func BenchmarkStart(b *testing.B) {
	e := New()
	defer e.Close()
	ctx := context.Background()
	py, err := e.pythons.find(ctx, "")
	if err != nil {
		b.Skip(err)
	}
	args := []string{"-I", "-c", "print(1, flush=True)"}
	var inside, outside []time.Duration
	first := make([]byte, 1)
	for b.Loop() {
		at := time.Now()
		box, err := e.Start(ctx, sandbox.Spec{}, args, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		io.ReadFull(box.Stdout(), first)
		inside = append(inside, time.Since(at))
		box.Wait()

		at = time.Now()
		cmd := exec.Command(py.Executable, args...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		io.ReadFull(out, first)
		outside = append(outside, time.Since(at))
		cmd.Wait()
	}
	slices.Sort(inside)
	slices.Sort(outside)
	in, out := inside[len(inside)/2], outside[len(outside)/2]
	b.ReportMetric(float64(in.Microseconds())/1000, "ms-sandbox")
	b.ReportMetric(float64(out.Microseconds())/1000, "ms-bare")
	b.ReportMetric(float64(in)/float64(out), "ratio")
	// On a busy machine the fastest of each tells more than the median.
	b.ReportMetric(float64(inside[0].Microseconds())/1000, "ms-sandbox-min")
	b.ReportMetric(float64(outside[0].Microseconds())/1000, "ms-bare-min")
}
