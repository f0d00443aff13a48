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

func TestMain(m *testing.M) {
	findImage()
	subject.Main(m, nil)
}

// imageEnv names the image that the tests run on, any with Python 3.9 or later.
const imageEnv = "BRIDGE_TEST_IMAGE"

// findImage takes one that the bridge or its CI has made, if none is named.
func findImage() {
	e := New(Options{})
	defer e.Close()
	images, _ := e.Images(context.Background(), sandbox.Spec{})
	for _, prefix := range []string{"localhost/bridge-python:", "bridge-base:", "python:"} {
		for _, image := range images {
			if os.Getenv(imageEnv) == "" && strings.HasPrefix(image.Name, prefix) {
				os.Setenv(imageEnv, image.Name)
			}
		}
	}
}

// newEngine is an engine that is known to be ready, closed after the test.
func newEngine(t testing.TB) *Engine {
	t.Helper()
	e := New(Options{Image: os.Getenv(imageEnv), Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
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

// owned are the ids of the containers that carry an owner's label, running or not.
func owned(t testing.TB, owner string) []string {
	t.Helper()
	e := New(Options{})
	defer e.Close()
	return containersOn(t, e, container.OwnerLabel+"="+owner)
}

// containersOn are those of the daemon that an engine uses, with a label.
func containersOn(t testing.TB, e *Engine, label string) []string {
	t.Helper()
	d, err := e.connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	list, err := d.client.ContainerList(context.Background(), client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", label)})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range list.Items {
		ids = append(ids, c.ID)
	}
	return ids
}

// removeContainer removes one from outside.
func removeContainer(t testing.TB, e enginetest.Engine, id string) {
	t.Helper()
	d, err := e.(*Engine).connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.client.ContainerRemove(t.Context(), id, client.ContainerRemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
}

// buildImage builds an image that is removed after the test.
func buildImage(t testing.TB, e *Engine, name, containerfile string) string {
	t.Helper()
	var output bytes.Buffer
	tag := fmt.Sprintf("localhost/bridge-test-%s:%d", name, os.Getpid())
	err := e.Build(t.Context(), sandbox.Spec{}, container.Build{Tag: tag, Containerfile: []byte(containerfile), Args: map[string]string{"BASE": os.Getenv(imageEnv)}, Output: &output})
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
