// Package enginetest holds every engine to the same words: what a sandbox
// refuses and allows, where its limits are, what comes out of it, and what is
// left when it ends.
//
// It knows engines by their interface alone. It is in no binary of ours.
package enginetest

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"bridge/sandbox"
)

// Engine is an engine with its end.
type Engine interface {
	sandbox.Engine
	Close()
}

// A Subject is an engine that is tested.
type Subject struct {
	// New makes an engine that is ready and is closed after the test. Where
	// there can be none it skips the test.
	New func(testing.TB) Engine

	// Left names what there is of an engine's sandboxes, running or not.
	Left func(testing.TB, Engine) []string

	Containers *Containers // nil for an engine that runs none

	Spec    sandbox.Spec // of a sandbox like any other
	Refused sandbox.Spec // of one that cannot be started
	Idle    func(Engine) // closes connections that wait for the next use; may be nil
	Limits  Limits
	Probes  Probes
}

// Test holds the engine to everything.
func (s Subject) Test(t *testing.T) {
	for _, c := range []struct {
		name string
		test func(Subject, *testing.T)
	}{
		{"streams", Subject.streams},
		{"slow reader", Subject.slowReader},
		{"much output", Subject.muchOutput},
		{"output after the end", Subject.outputAfterTheEnd},
		{"bombs", Subject.bombs},
		{"memory", Subject.memory},
		{"limits are told", Subject.limitsAreTold},
		{"probes", Subject.probes},
		{"mounts", Subject.mounts},
		{"at once", Subject.atOnce},
		{"killed", Subject.killed},
		{"start is bounded", Subject.startIsBounded},
		{"closed engine", Subject.closedEngine},
		{"nothing is left", Subject.nothingIsLeft},
		{"prepared", Subject.prepared},
		{"containers", Subject.containers},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(s, t) })
	}
}

// Start runs Python source in a sandbox of the engine.
func Start(t testing.TB, e sandbox.Engine, spec sandbox.Spec, source string, args ...string) sandbox.Sandbox {
	t.Helper()
	b, err := e.Start(t.Context(), spec, append([]string{"-I", "-c", source}, args...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Kill(); b.Wait() })
	return b
}

// with is the subject's spec with other limits.
func (s Subject) with(l sandbox.Limits) sandbox.Spec {
	spec := s.Spec
	spec.Limits = l
	return spec
}

// Collect is what a sandbox writes and how it ends.
func Collect(t testing.TB, b sandbox.Sandbox) (stdout, stderr string, exit sandbox.Exit) {
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

//go:embed testdata
var testdata embed.FS

// Source is the text of the files of testdata that the pattern matches.
func Source(t testing.TB, pattern string) string {
	t.Helper()
	files, err := fs.Glob(testdata, "testdata/"+pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := testdata.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
		all.WriteString("\n\n")
	}
	return all.String()
}

// Skip ends a test that this machine cannot run. Where every test is required
// to run, that is a failure.
func Skip(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("BRIDGE_TEST_REQUIRE") != "" {
		t.Fatalf("required, and cannot run: %s", reason)
	}
	t.Skip(reason)
}

// OpenDir is a folder that every user can enter, as t.TempDir's cannot.
func OpenDir(t testing.TB, mode os.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bridge-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

// helperEnv names what a test binary does instead of its tests, when a test
// starts it as another process.
const helperEnv = "BRIDGE_TEST_HELPER"

// Main runs the tests of a package, or one of its helpers.
func Main(m *testing.M, helpers map[string]func()) {
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

// Helper is the test binary, as another process doing something else.
func Helper(t testing.TB, name string, env ...string) *exec.Cmd {
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

// Copy is a copy of the test binary where an ordinary user can execute it.
func Copy(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	path := OpenDir(t, 0o755) + "/engine.test"
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
