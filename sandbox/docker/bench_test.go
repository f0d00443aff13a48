//go:build linux

package docker

import (
	"os"
	"os/exec"
	"testing"

	"bridge/sandbox/enginetest"
)

// BenchmarkStart is beside docker run on the same image.
func BenchmarkStart(b *testing.B) {
	subject.BenchmarkStart(b, func(_ testing.TB, _ enginetest.Engine, args []string) *exec.Cmd {
		return exec.Command("docker", append([]string{"run", "--rm", "-i", "--network=none", os.Getenv(imageEnv), "python3"}, args...)...)
	})
}

func BenchmarkRoundTrip(b *testing.B) { subject.BenchmarkRoundTrip(b) }
