package podman

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bridge/sandbox"
	"bridge/sandbox/container"
	"bridge/sandbox/enginetest"

	"github.com/containers/podman/v5/pkg/bindings/containers"
)

// owned are the containers that carry an owner's label, running or not.
func owned(t testing.TB, whose string) []string {
	t.Helper()
	e := New(Options{})
	defer e.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := e.connect(ctx, sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := containers.List(s.with(ctx), new(containers.ListOptions).WithAll(true).
		WithFilters(map[string][]string{"label": {container.OwnerLabel + "=" + whose}}))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Names[0])
	}
	return names
}

// removeContainer removes one from outside.
func removeContainer(t testing.TB, e *Engine, name string) {
	t.Helper()
	s, err := e.connect(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = containers.Remove(s.with(t.Context()), name, new(containers.RemoveOptions).WithForce(true).WithTimeout(0))
	if err != nil {
		t.Fatal(err)
	}
}

// folders are the temporary folders of engines.
func folders(t *testing.T) []string {
	all, err := filepath.Glob(filepath.Join(os.TempDir(), "bridge-podman-[0-9]*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestKilledEngine kills a process that holds sandboxes: nothing of them is
// left, whatever they have done to stay.
func TestKilledEngine(t *testing.T) {
	newEngine(t)
	for name, env := range map[string]string{"with the service that is there": "", "with a service of its own": "1"} {
		t.Run(name, func(t *testing.T) {
			before := len(folders(t))
			cmd := enginetest.Helper(t, "hold", ownEnv+"="+env)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Wait()
			defer cmd.Process.Kill()
			line, err := bufio.NewReader(out).ReadString('\n')
			whose := strings.TrimSpace(line)
			if err != nil || len(strings.Fields(whose)) != 6 {
				t.Fatalf("%q %v", line, err)
			}
			if n := owned(t, whose); len(n) != 4 {
				t.Fatalf("containers: %v, want 4", n)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			enginetest.Within(t, func() []string { return owned(t, whose) })
			enginetest.Within(t, func() []string {
				if now := folders(t); len(now) > before {
					return now
				}
				return nil
			})
		})
	}
}
