//go:build linux

package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bridge/sandbox"

	"github.com/moby/moby/client"
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

// imageName is an image with Python: the one named by BRIDGE_TEST_IMAGE, or
// one that the bridge or its CI has made.
func imageName(t testing.TB, e *Engine) string {
	t.Helper()
	images, err := e.Images(t.Context())
	if err != nil {
		skip(t, err.Error())
	}
	name := os.Getenv("BRIDGE_TEST_IMAGE")
	for _, prefix := range []string{"localhost/bridge-python:", "bridge-base:", "python:"} {
		for _, image := range images {
			if name == "" && strings.HasPrefix(image.Name, prefix) {
				name = image.Name
			}
		}
	}
	if name == "" {
		skip(t, "no image with Python is on docker; run: bridge image build, or set BRIDGE_TEST_IMAGE")
	}
	return name
}

// newEngine is an engine that is known to be ready, closed after the test.
func newEngine(t testing.TB) *Engine {
	t.Helper()
	finder := New(Options{})
	t.Cleanup(finder.Close)
	e := New(Options{Image: imageName(t, finder), Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	t.Cleanup(e.Close)
	if err := e.Ready(t.Context(), allowed(sandbox.Spec{})); err != nil {
		skip(t, err.Error())
	}
	return e
}

// allowed lets a spec be made on whatever docker there is.
func allowed(spec sandbox.Spec) sandbox.Spec {
	spec.Rootful = true
	spec.Label = "test"
	return spec
}

// start runs Python source in a sandbox of the engine.
func start(t testing.TB, e *Engine, spec sandbox.Spec, source string, args ...string) sandbox.Sandbox {
	t.Helper()
	b, err := e.Start(t.Context(), allowed(spec), append([]string{"-I", "-c", source}, args...))
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

// source is a program that the engines share, of all files of the pattern.
func source(t testing.TB, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "native", "testdata", pattern))
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

// helper is the test binary, as another process doing something else.
func helper(t testing.TB, name string, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(append(os.Environ(), helperEnv+"="+name), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// containers are the ids of those with the label, in any state.
func containers(t testing.TB, e *Engine, label string) []string {
	t.Helper()
	l, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := l.client.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", label)})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range list.Items {
		ids = append(ids, c.ID)
	}
	return ids
}

// buildImage builds an image that is removed after the test.
func buildImage(t testing.TB, e *Engine, name, containerfile string) string {
	t.Helper()
	var output bytes.Buffer
	tag := fmt.Sprintf("localhost/bridge-test-%s:%d", name, os.Getpid())
	base := imageName(t, e)
	err := e.Build(t.Context(), Build{Tag: tag, Containerfile: []byte(containerfile), Args: map[string]string{"BASE": base}, Output: &output})
	if err != nil {
		t.Fatalf("%v\n%s", err, output.String())
	}
	l, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by then.
		if _, err := l.client.ImageRemove(context.WithoutCancel(t.Context()), tag, client.ImageRemoveOptions{}); err != nil {
			t.Error(err)
		}
	})
	return tag
}
