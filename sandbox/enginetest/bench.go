package enginetest

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// BenchmarkStart measures from the start to the first byte that Python writes:
// in a sandbox, and in another command that runs Python with the same arguments,
// in turn.
func (s Subject) BenchmarkStart(b *testing.B, other func(testing.TB, Engine, []string) *exec.Cmd) {
	e := s.New(b)
	args := []string{"-I", "-c", "print(1, flush=True)"}
	var ours, theirs []time.Duration
	first := make([]byte, 1)
	for b.Loop() {
		at := time.Now()
		box, err := e.Start(b.Context(), s.Spec, args, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		io.ReadFull(box.Stdout(), first)
		ours = append(ours, time.Since(at))
		box.Wait()

		at = time.Now()
		cmd := other(b, e, args)
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			Skip(b, err.Error())
		}
		if n, err := out.Read(first); n != 1 {
			b.Fatalf("%s says nothing: %v", cmd, err)
		}
		theirs = append(theirs, time.Since(at))
		cmd.Wait()
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	middle := len(ours) / 2
	b.ReportMetric(ms(ours[middle]), "ms-sandbox")
	b.ReportMetric(ms(theirs[middle]), "ms-other")
	b.ReportMetric(float64(ours[middle])/float64(theirs[middle]), "ratio")
	// On a busy machine the fastest of each tells more than the median.
	b.ReportMetric(ms(ours[0]), "ms-sandbox-min")
	b.ReportMetric(ms(theirs[0]), "ms-other-min")
}

// BenchmarkRoundTrip measures one line to Python and back over the wire.
func (s Subject) BenchmarkRoundTrip(b *testing.B) {
	box := Start(b, s.New(b), s.Spec, "import sys\nfor line in sys.stdin: print(line, end='', flush=True)")
	lines := bufio.NewReader(box.Stdout())
	for b.Loop() {
		fmt.Fprintln(box.Stdin(), "x")
		if _, err := lines.ReadString('\n'); err != nil {
			b.Fatal(err)
		}
	}
}
