package podman

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bridge/sandbox"
)

// imageEnv names the image that the tests run on: any with Python 3.9 or later
// and Debian's usual commands.
const imageEnv = "BRIDGE_TEST_IMAGE"

func testImage() string { return or(os.Getenv(imageEnv), "localhost/bridge-test-base:latest") }

// helperEnv names what a test binary does instead of its tests, when a test
// starts it as another process.
const helperEnv = "BRIDGE_TEST_HELPER"

func TestMain(m *testing.M) {
	if name := os.Getenv(helperEnv); name != "" {
		helper, ok := helpers[name]
		if !ok {
			fmt.Fprintln(os.Stderr, "no helper", name)
			os.Exit(2)
		}
		helper()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// skip ends a test that this machine cannot run. Where every test is required
// to run, that is a failure.
func skip(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("BRIDGE_TEST_REQUIRE") != "" {
		t.Fatalf("required, and cannot run: %s", reason)
	}
	t.Skip(reason)
}

// newEngine is an engine that is known to be ready, closed after the test.
func newEngine(t testing.TB) *Engine {
	t.Helper()
	e := New(Options{Image: testImage()})
	t.Cleanup(e.Close)
	if err := e.Ready(t.Context(), sandbox.Spec{}); err != nil {
		skip(t, err.Error()+"; the tests take the image that "+imageEnv+" names")
	}
	return e
}

// start runs Python source in a sandbox of the engine.
func start(t testing.TB, e *Engine, spec sandbox.Spec, source string, args ...string) sandbox.Sandbox {
	t.Helper()
	b, err := e.Start(t.Context(), spec, append([]string{"-I", "-c", source}, args...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Kill(); b.Wait() })
	return b
}

// collect is what a sandbox writes and how it ends.
func collect(t testing.TB, b sandbox.Sandbox) (stdout, stderr string, exit sandbox.Exit) {
	t.Helper()
	b.Stdin().Close()
	errs := make(chan string)
	go func() {
		text, _ := io.ReadAll(b.Stderr())
		errs <- string(text)
	}()
	out, err := io.ReadAll(b.Stdout())
	if err != nil {
		t.Error(err)
	}
	return string(out), <-errs, b.Wait()
}

// lines decodes JSON, a value a line.
func lines[T any](t testing.TB, text string) []T {
	t.Helper()
	var values []T
	for line := range strings.Lines(text) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		values = append(values, v)
	}
	return values
}

// helper is the test binary, as another process doing something else.
func helper(t testing.TB, name string, env ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(append(os.Environ(), helperEnv+"="+name), env...)
	return cmd
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
		skip(t, ordinaryEnv+" does not say how to run a command as an ordinary user with subordinate users, as in: setpriv --reuid USER --regid USER --init-groups env XDG_RUNTIME_DIR=…")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	// The test binary and its data where the user can read them.
	dir := openDir(t, 0o755)
	program := filepath.Join(dir, "podman.test")
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "native", "testdata"), os.DirFS(filepath.Join("..", "native", "testdata"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "podman"), 0o755); err != nil {
		t.Fatal(err)
	}
	args := append(prefix, "env", "BRIDGE_TEST_REQUIRE="+os.Getenv("BRIDGE_TEST_REQUIRE"), imageEnv+"="+testImage(), program, "-test.v", "-test.count=1")
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = filepath.Join(dir, "podman")
	out, err := cmd.CombinedOutput()
	t.Logf("as an ordinary user:\n%s", out)
	if err != nil {
		t.Error(err)
	}
	if n := strings.Count(string(out), "--- PASS: Test"); n < 15 {
		t.Errorf("%d tests passed, want at least 15", n)
	}
}
