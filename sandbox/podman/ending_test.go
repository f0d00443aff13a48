package podman

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/enginetest"
)

// TestKilledService kills the service in the middle of a run: the run ends,
// the container is gone, and the next one starts.
func TestKilledService(t *testing.T) {
	program, err := exec.LookPath("podman")
	if err != nil {
		enginetest.Skip(t, "podman is not installed")
	}
	newEngine(t)
	socket := filepath.Join(t.TempDir(), "podman.sock")
	service := exec.Command(program, "--remote=false", "system", "service", "--time=0", "unix://"+socket)
	service.Dir = filepath.Dir(socket) // where conmon leaves a file named oom
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	defer service.Wait()
	defer service.Process.Kill()
	e := New(Options{Image: testImage()})
	defer e.Close()
	e.places = func(bool) ([]place, error) { return []place{unixPlace(socket)}, nil }
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(socket); err == nil || time.Since(begun) > patience {
			break
		}
	}
	s, err := sandbox.Open(t.Context(), e, sandbox.Spec{}, nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	time.AfterFunc(300*time.Millisecond, func() { service.Process.Kill() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := s.Run(ctx, sandbox.Run{Code: "import time; time.sleep(50)"})
	if err != nil || r.Lost == nil {
		t.Fatalf("%+v %v, want a loss", r, err)
	}
	if want := "the sandbox is gone: podman at " + socket + " does not answer any more"; r.Lost.Error() != want {
		t.Errorf("%v, want %s", r.Lost, want)
	}
	enginetest.Within(t, func() []string { return owned(t, e.all.Owner) })
	s, err = sandbox.Open(ctx, e, sandbox.Spec{}, nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r, err := s.Run(ctx, sandbox.Run{Code: "1 + 1"}); err != nil || r.Value == nil || *r.Value != "2" {
		t.Errorf("%+v %v", r, err)
	}
}
