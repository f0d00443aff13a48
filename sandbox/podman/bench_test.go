package podman

import (
	"os/exec"
	"testing"

	"bridge/sandbox/enginetest"
)

// BenchmarkStart is beside podman run on the same image.
func BenchmarkStart(b *testing.B) {
	subject.BenchmarkStart(b, func(_ testing.TB, _ enginetest.Engine, args []string) *exec.Cmd {
		run := []string{"run", "--rm", "--network", "none", "--ulimit", "nofile=256:256", "--ulimit", "nproc=4096:4096", testImage(), "python3"}
		return exec.Command("podman", append(run, args...)...)
	})
}

func BenchmarkRoundTrip(b *testing.B) { subject.BenchmarkRoundTrip(b) }
