package podman

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/container"

	"github.com/containers/buildah/define"
	"github.com/containers/podman/v5/pkg/bindings/images"
	"github.com/containers/podman/v5/pkg/domain/entities/types"
)

// Build builds an image. The context folder holds the Containerfile alone.
// The spec says whether a podman that runs as root may be used.
func (e *Engine) Build(ctx context.Context, spec sandbox.Spec, b container.Build) error {
	s, err := e.connect(ctx, spec)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bridge-build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// The service may look for this name in its own working folder first, which
	// may be somebody's project. So the name is unique.
	file := filepath.Join(dir, filepath.Base(dir)+".containerfile")
	if err := os.WriteFile(file, b.Containerfile, 0o600); err != nil {
		return err
	}
	out := b.Output
	if out == nil {
		out = io.Discard
	}
	_, err = images.Build(s.with(ctx), []string{file}, types.BuildOptions{BuildOptions: define.BuildOptions{
		Args:                    b.Args,
		CommonBuildOpts:         &define.CommonBuildOptions{},
		ConfigureNetwork:        define.NetworkDefault,
		ContextDirectory:        dir,
		NamespaceOptions:        []define.NamespaceOption{{Name: "network", Host: cmp.Or(b.Network, "host") == "host", Path: network(b.Network)}},
		Out:                     out,
		Err:                     out,
		ReportWriter:            out,
		Output:                  b.Tag,
		OutputFormat:            define.OCIv1ImageManifest,
		PullPolicy:              define.PullIfMissing,
		RemoveIntermediateCtrs:  true,
		ForceRmIntermediateCtrs: true,
		Layers:                  true,
	}})
	if err != nil {
		return fmt.Errorf("building %q on podman: %w", b.Tag, s.diagnose(err))
	}
	return nil
}

// network is the name of a network other than the host's.
func network(name string) string {
	if name == "host" {
		return ""
	}
	return name
}

// Images returns the images that have a name, sorted by it.
func (e *Engine) Images(ctx context.Context, spec sandbox.Spec) ([]container.Image, error) {
	s, err := e.connect(ctx, spec)
	if err != nil {
		return nil, err
	}
	list, err := images.List(s.with(ctx), nil)
	if err != nil {
		return nil, fmt.Errorf("listing podman's images: %w", s.diagnose(err))
	}
	var all []container.Image
	for _, i := range list {
		for _, name := range i.RepoTags {
			all = append(all, container.Image{Name: name, ID: i.ID, Size: i.Size, Created: time.Unix(i.Created, 0)})
		}
	}
	container.SortImages(all)
	return all, nil
}
