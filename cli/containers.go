package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/docker"
	"bridge/sandbox/image"
	"bridge/sandbox/podman"
)

// container is an engine that runs images, and can build them. The spec says
// which of its services may be asked.
type container interface {
	engine
	build(ctx context.Context, spec sandbox.Spec, b build) error
	images(ctx context.Context, spec sandbox.Spec) ([]stored, error)
	describe(ctx context.Context, spec sandbox.Spec) (facts, error)
}

// build is an image to be built.
type build struct {
	name          string
	containerfile []byte
	args          map[string]string
	output        io.Writer
}

// stored is an image that an engine has.
type stored struct {
	name    string
	size    int64 // bytes
	created time.Time
}

// facts are what an engine says of itself.
type facts struct {
	endpoint string
	source   string // who has named the endpoint, "" if that goes without saying
	version  string
	api      string
	rootless bool
	cgroup   string // version
	warnings []string
}

type onPodman struct{ *podman.Engine }

func (p onPodman) build(ctx context.Context, spec sandbox.Spec, b build) error {
	return p.Build(ctx, podman.Build{Tag: b.name, Containerfile: b.containerfile, Args: b.args, Output: b.output, Rootful: spec.Rootful})
}

func (p onPodman) images(ctx context.Context, _ sandbox.Spec) ([]stored, error) {
	list, err := p.Images(ctx)
	all := make([]stored, len(list))
	for i, im := range list {
		all[i] = stored{im.Name, im.Size, im.Created}
	}
	return all, err
}

func (p onPodman) describe(ctx context.Context, spec sandbox.Spec) (facts, error) {
	f, err := p.Describe(ctx, spec)
	return facts{
		endpoint: f.Endpoint, version: f.Version, api: f.API,
		rootless: f.Rootless, cgroup: strings.TrimPrefix(f.Cgroup, "v"),
	}, err
}

type onDocker struct{ *docker.Engine }

func (d onDocker) build(ctx context.Context, _ sandbox.Spec, b build) error {
	return d.Build(ctx, docker.Build{Tag: b.name, Containerfile: b.containerfile, Args: b.args, Output: b.output})
}

func (d onDocker) images(ctx context.Context, _ sandbox.Spec) ([]stored, error) {
	list, err := d.Images(ctx)
	all := make([]stored, len(list))
	for i, im := range list {
		all[i] = stored{im.Name, im.Size, im.Created}
	}
	return all, err
}

func (d onDocker) describe(ctx context.Context, _ sandbox.Spec) (facts, error) {
	f, err := d.Describe(ctx)
	return facts{
		endpoint: f.Endpoint, source: f.Source, version: f.Version, api: f.API,
		rootless: f.Rootless, cgroup: f.Cgroup, warnings: f.Warnings,
	}, err
}

// containers are those of the engines that run images.
func containers(engines []engine) []container {
	var list []container
	for _, e := range engines {
		if c, ok := e.(container); ok {
			list = append(list, c)
		}
	}
	return list
}

// own is the name of the bridge's own image.
func (c *choice) own() string { return image.Name(c.containerfile) }

// decimal writes bytes as engines do.
func decimal(n int64) string { return fmt.Sprintf("%d MB", (n+500_000)/1_000_000) }
