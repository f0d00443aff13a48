//go:build linux

package native

import (
	"os/exec"
	"testing"

	"bridge/sandbox/enginetest"
)

// BenchmarkStart is beside Python without a sandbox.
func BenchmarkStart(b *testing.B) {
	subject.BenchmarkStart(b, func(t testing.TB, e enginetest.Engine, args []string) *exec.Cmd {
		py, err := e.(*Engine).pythons.find(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		return exec.Command(py.Executable, args...)
	})
}

func BenchmarkRoundTrip(b *testing.B) { subject.BenchmarkRoundTrip(b) }
