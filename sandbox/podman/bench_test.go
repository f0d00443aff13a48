package podman

import (
	"bufio"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/enginetest"
)

// BenchmarkStart is from nothing to the first byte of Python, side by side
// with podman's own command on the same image.
func BenchmarkStart(b *testing.B) {
	e := newEngine(b)
	var ours, theirs []time.Duration
	for b.Loop() {
		begun := time.Now()
		box := enginetest.Start(b, e, sandbox.Spec{}, "print('up', flush=True)")
		box.Stdout().Read(make([]byte, 1))
		ours = append(ours, time.Since(begun))
		box.Wait()
		begun = time.Now()
		cmd := exec.Command("podman", "run", "--rm", "--network", "none", "--ulimit", "nofile=256:256", "--ulimit", "nproc=4096:4096", testImage(), "python3", "-I", "-c", "print('up', flush=True)")
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			enginetest.Skip(b, err.Error())
		}
		if n, err := out.Read(make([]byte, 1)); n != 1 {
			b.Fatalf("podman run says nothing: %v", err)
		}
		theirs = append(theirs, time.Since(begun))
		cmd.Wait()
	}
	b.ReportMetric(median(ours), "ms/start")
	b.ReportMetric(median(theirs), "ms/podman-run")
	b.ReportMetric(float64(slices.Min(ours).Microseconds())/1000, "ms/best-start")
	b.ReportMetric(float64(slices.Min(theirs).Microseconds())/1000, "ms/best-podman-run")
}

func median(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2].Microseconds()) / 1000
}

// BenchmarkRoundTrip is one line to Python and back over the wire.
func BenchmarkRoundTrip(b *testing.B) {
	e := newEngine(b)
	box := enginetest.Start(b, e, sandbox.Spec{}, "import sys\nfor line in sys.stdin: print(line, end='', flush=True)")
	lines := bufio.NewReader(box.Stdout())
	for b.Loop() {
		fmt.Fprintln(box.Stdin(), "x")
		if _, err := lines.ReadString('\n'); err != nil {
			b.Fatal(err)
		}
	}
}
