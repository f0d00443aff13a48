//go:build linux

package docker

import (
	"io"
	"os/exec"
	"slices"
	"testing"
	"time"

	"bridge/sandbox"
)

// BenchmarkStart measures from the start to the first byte that Python writes,
// in a sandbox and with docker run on the same image, in turn.
func BenchmarkStart(b *testing.B) {
	e := newEngine(b)
	image := imageName(b, e)
	args := []string{"-I", "-c", "print(1, flush=True)"}
	var ours, theirs []time.Duration
	first := make([]byte, 1)
	for b.Loop() {
		at := time.Now()
		box, err := e.Start(b.Context(), allowed(sandbox.Spec{}), args, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		io.ReadFull(box.Stdout(), first)
		ours = append(ours, time.Since(at))
		box.Wait()

		at = time.Now()
		cmd := exec.Command("docker", append([]string{"run", "--rm", "-i", "--network=none", image, "python3"}, args...)...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Skip(err)
		}
		io.ReadFull(out, first)
		theirs = append(theirs, time.Since(at))
		cmd.Wait()
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	b.ReportMetric(float64(ours[len(ours)/2].Microseconds())/1000, "ms-sandbox")
	b.ReportMetric(float64(theirs[len(theirs)/2].Microseconds())/1000, "ms-docker-run")
	b.ReportMetric(float64(ours[len(ours)/2])/float64(theirs[len(theirs)/2]), "ratio")
	// On a busy machine the fastest of each tells more than the median.
	b.ReportMetric(float64(ours[0].Microseconds())/1000, "ms-sandbox-min")
	b.ReportMetric(float64(theirs[0].Microseconds())/1000, "ms-docker-run-min")
}
