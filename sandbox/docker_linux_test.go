package sandbox_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"

	"bridge/sandbox"
	"bridge/sandbox/docker"
)

// contained is a container engine on its own terms: whoever it runs as, and
// with the image that there is.
type contained struct {
	sandbox.Engine
	image string
}

func (c contained) Start(ctx context.Context, spec sandbox.Spec, args []string) (sandbox.Sandbox, error) {
	spec.Rootful, spec.Image = true, c.image
	return c.Engine.Start(ctx, spec, args)
}

// dockerEngine is one for all tests. What it has left at their end, the
// process that it has started for this removes.
var dockerEngine = sync.OnceValues(func() (sandbox.Engine, error) {
	ctx := context.Background()
	e := docker.New(docker.Options{})
	images, err := e.Images(ctx)
	if err != nil {
		return nil, err
	}
	name := os.Getenv("BRIDGE_TEST_IMAGE")
	for _, image := range images {
		if name == "" && (strings.HasPrefix(image.Name, "localhost/bridge-python:") || strings.HasPrefix(image.Name, "bridge-base:")) {
			name = image.Name
		}
	}
	if name == "" {
		return nil, errors.New("no image with Python; run: bridge image build, or set BRIDGE_TEST_IMAGE")
	}
	return contained{e, name}, e.Ready(ctx, sandbox.Spec{Rootful: true, Image: name})
})
