//go:build linux

package docker

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"bridge/sandbox"
	"bridge/sandbox/container"
	"bridge/sandbox/enginetest"

	"github.com/moby/moby/client"
)

func TestMain(m *testing.M) { enginetest.Main(m, helpers) }

// imageName is an image with Python: the one named by BRIDGE_TEST_IMAGE, or
// one that the bridge or its CI has made.
func imageName(t testing.TB, e *Engine) string {
	t.Helper()
	images, err := e.Images(t.Context(), sandbox.Spec{})
	if err != nil {
		enginetest.Skip(t, err.Error())
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
		enginetest.Skip(t, "no image with Python is on docker; run: bridge image build, or set BRIDGE_TEST_IMAGE")
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
		enginetest.Skip(t, err.Error())
	}
	return e
}

// allowed lets a spec be made on whatever docker there is.
func allowed(spec sandbox.Spec) sandbox.Spec {
	spec.Rootful = true
	spec.Label = "test"
	return spec
}

// containers are the ids of those with the label, in any state.
func containers(t testing.TB, label string) []string {
	t.Helper()
	e := New(Options{})
	defer e.Close()
	return containersOn(t, e, label)
}

// containersOn are those of the daemon that an engine uses.
func containersOn(t testing.TB, e *Engine, label string) []string {
	t.Helper()
	l, err := e.connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	list, err := l.client.ContainerList(context.Background(), client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", label)})
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
	err := e.Build(t.Context(), sandbox.Spec{}, container.Build{Tag: tag, Containerfile: []byte(containerfile), Args: map[string]string{"BASE": base}, Output: &output})
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
