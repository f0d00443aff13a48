//go:build linux

package native

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"bridge/sandbox"
	"bridge/sandbox/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m, helpers) }

// newEngine is an engine that is known to be ready, closed after the test.
func newEngine(t testing.TB) *Engine {
	t.Helper()
	e := New()
	t.Cleanup(e.Close)
	if err := e.Ready(t.Context(), sandbox.Spec{}); err != nil {
		enginetest.Skip(t, err.Error())
	}
	return e
}

// nobody is an ordinary user that owns nothing.
const nobody = 65533

// TestAsOrdinaryUser runs the tests of isolation, limits and lifetimes again
// as a user without any privilege.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("this is an ordinary user: the other tests are what this one would run")
		return
	}
	cmd := exec.CommandContext(t.Context(), enginetest.Copy(t), "-test.v", "-test.count=1",
		"-test.run=^(TestEngine|TestMemoryOfFiles|TestVirtualEnvironment|TestKilledEngine)")
	// The working folder may be out of an ordinary user's reach.
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "HOME="+enginetest.OpenDir(t, 0o777), "TMPDIR=/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	t.Logf("as user %d:\n%s", nobody, out)
	if err != nil {
		t.Error(err)
	}
	if n := strings.Count(string(out), "--- PASS: "); n < 40 {
		t.Errorf("%d tests passed, want at least 40", n)
	}
	if strings.Contains(string(out), "--- SKIP: ") {
		enginetest.Skip(t, "a test could not run as an ordinary user, see above")
	}
}
