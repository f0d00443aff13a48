package podman

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"bridge/sandbox"
	"bridge/sandbox/container"
	"bridge/sandbox/enginetest"
)

// imageEnv names the image that the tests run on: any with Python 3.9 or later
// and Debian's usual commands.
const imageEnv = "BRIDGE_TEST_IMAGE"

func testImage() string { return cmp.Or(os.Getenv(imageEnv), "localhost/bridge-test-base:latest") }

func TestMain(m *testing.M) { subject.Main(m, nil) }

// newEngine is an engine that is known to be ready, closed after the test.
func newEngine(t testing.TB) *Engine {
	t.Helper()
	e := New(Options{Image: testImage()})
	t.Cleanup(e.Close)
	if err := e.Ready(t.Context(), sandbox.Spec{}); err != nil {
		enginetest.Skip(t, err.Error()+"; the tests take the image that "+imageEnv+" names")
	}
	return e
}

// ownEnv has an engine that is made for a helper use a service of its own.
const ownEnv = "BRIDGE_TEST_OWN_SERVICE"

// nowhere is where to look if no service is to be found.
func nowhere(bool) ([]place, error) { return nil, nil }

// owned are the containers that carry an owner's label, running or not.
func owned(t testing.TB, owner string) []string {
	t.Helper()
	e := New(Options{})
	defer e.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := e.connect(ctx, sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.list(ctx, container.OwnerLabel+"="+owner)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}

// removeContainer removes one from outside.
func removeContainer(t testing.TB, e enginetest.Engine, name string) {
	t.Helper()
	s, err := e.(*Engine).connect(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.remove(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}

// ordinaryEnv names a command that runs another as an ordinary user who has
// subordinate users, the test image, and podman's settings in its environment.
const ordinaryEnv = "BRIDGE_TEST_ORDINARY"

// TestAsOrdinaryUser runs the tests again on a podman without privileges.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("this is an ordinary user: the other tests are what this one would run")
		return
	}
	prefix := strings.Fields(os.Getenv(ordinaryEnv))
	if len(prefix) == 0 {
		enginetest.Skip(t, ordinaryEnv+" does not say how to run a command as an ordinary user with subordinate users, as in: setpriv --reuid USER --regid USER --init-groups env XDG_RUNTIME_DIR=…")
	}
	args := append(prefix, "env", "BRIDGE_TEST_REQUIRE="+os.Getenv("BRIDGE_TEST_REQUIRE"), imageEnv+"="+testImage(), enginetest.Copy(t), "-test.v", "-test.count=1")
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	t.Logf("as an ordinary user:\n%s", out)
	if err != nil {
		t.Error(err)
	}
	if n := strings.Count(string(out), "--- PASS: Test"); n < 12 {
		t.Errorf("%d tests passed, want at least 12", n)
	}
}
