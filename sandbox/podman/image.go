package podman

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"bridge/sandbox"
	"bridge/sandbox/container"
)

// Build builds an image. The context folder holds the Containerfile alone.
// The spec says whether a podman that runs as root may be used.
func (e *Engine) Build(ctx context.Context, spec sandbox.Spec, b container.Build) error {
	s, err := e.connect(ctx, spec)
	if err != nil {
		return err
	}
	// The service may look for this name in its own working folder first, which
	// may be somebody's project. So the name is unique.
	file := "bridge-" + strings.ToLower(rand.Text()) + ".containerfile"
	folder, err := container.BuildContext(file, b.Containerfile)
	if err != nil {
		return err
	}
	files, err := json.Marshal([]string{file})
	if err != nil {
		return err
	}
	args, err := json.Marshal(b.Args)
	if err != nil {
		return err
	}
	network := cmp.Or(b.Network, "host")
	option := map[string]any{"Name": "network", "Host": network == "host"}
	if network != "host" {
		option["Path"] = network
	}
	namespaces, err := json.Marshal([]any{option})
	if err != nil {
		return err
	}
	response, err := s.ask(ctx, folder, http.Header{"Content-Type": {"application/x-tar"}}, http.MethodPost, "/build", "", url.Values{
		"t":            {b.Tag},
		"dockerfile":   {string(files)},
		"buildargs":    {string(args)},
		"nsoptions":    {string(namespaces)},
		"outputformat": {"application/vnd.oci.image.manifest.v1+json"},
		"pullpolicy":   {"missing"},
		"layers":       {"1"},
		"rm":           {"1"},
		"forcerm":      {"1"},
	})
	if err == nil {
		err = follow(response, cmp.Or[io.Writer](b.Output, io.Discard))
	}
	if err != nil {
		return fmt.Errorf("building %q on podman: %w", b.Tag, s.diagnose(err))
	}
	return nil
}

// Images returns the images that have a name, sorted by it.
func (e *Engine) Images(ctx context.Context, spec sandbox.Spec) ([]container.Image, error) {
	s, err := e.connect(ctx, spec)
	if err != nil {
		return nil, err
	}
	all, err := s.images(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing podman's images: %w", s.diagnose(err))
	}
	container.SortImages(all)
	return all, nil
}
