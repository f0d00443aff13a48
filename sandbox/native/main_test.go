//go:build linux

package native

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bridge/sandbox"
)

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
	e := New()
	t.Cleanup(e.Close)
	if err := e.Ready(t.Context(), sandbox.Spec{}); err != nil {
		skip(t, err.Error())
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

// source is the text of the files of testdata that the pattern matches.
func source(t testing.TB, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
		all.WriteString("\n\n")
	}
	return all.String()
}

// nobody is an ordinary user that owns nothing.
const nobody = 65533

// openDir is a folder that an ordinary user can read and, if it is to, write;
// t.TempDir's cannot be entered by another user.
func openDir(t testing.TB, mode os.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bridge-native-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

// self is a copy of the test binary where an ordinary user can execute it.
func self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(openDir(t, 0o755), "native.test")
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
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

// TestAsOrdinaryUser runs the tests of isolation, limits and lifetimes again
// as a user without any privilege.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("this is an ordinary user: the other tests are what this one would run")
		return
	}
	cmd := exec.CommandContext(t.Context(), self(t), "-test.v", "-test.count=1",
		"-test.run=^(TestProbes|TestBombs|TestMemory|TestVirtualEnvironment|TestKilledEngine|TestNothingIsLeft|TestLimitsAreTold)")
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	// The working folder may be out of an ordinary user's reach.
	data := openDir(t, 0o755)
	if err := os.CopyFS(filepath.Join(data, "testdata"), os.DirFS(filepath.Join(dir, "testdata"))); err != nil {
		t.Fatal(err)
	}
	cmd.Dir = data
	cmd.Env = append(os.Environ(), "HOME="+openDir(t, 0o777), "TMPDIR=/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	t.Logf("as user %d:\n%s", nobody, out)
	if err != nil {
		t.Error(err)
	}
	if n := strings.Count(string(out), "--- PASS: "); n < 10 {
		t.Errorf("%d tests passed, want at least 10", n)
	}
	if strings.Contains(string(out), "--- SKIP: ") {
		skip(t, "a test could not run as an ordinary user, see above")
	}
}
