package docker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/container"

	"github.com/moby/moby/api/types/build"
	api "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"
)

// Build builds an image with the daemon's classic builder, which every version
// has. The context folder holds the Containerfile alone.
func (e *Engine) Build(ctx context.Context, _ sandbox.Spec, b container.Build) error {
	d, err := e.connect(ctx)
	if err != nil {
		return err
	}
	folder, err := container.BuildContext("Containerfile", b.Containerfile)
	if err != nil {
		return err
	}
	args := make(map[string]*string, len(b.Args))
	for name, value := range b.Args {
		args[name] = &value
	}
	got, err := d.client.ImageBuild(ctx, folder, client.ImageBuildOptions{
		Version:     build.BuilderV1,
		Tags:        []string{b.Tag},
		Dockerfile:  "Containerfile",
		BuildArgs:   args,
		NetworkMode: cmp.Or(b.Network, "host"),
		Remove:      true,
		ForceRemove: true,
		// Package managers close every descriptor there may be, one by one.
		Ulimits: []*api.Ulimit{{Name: "nofile", Soft: 1024, Hard: 1024}},
	})
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("building image %q on docker: %s", b.Tag, strings.TrimPrefix(err.Error(), "Error response from daemon: "))
	}
	defer got.Body.Close()
	if err := follow(got.Body, cmp.Or[io.Writer](b.Output, io.Discard)); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("building image %q on docker: %w", b.Tag, err)
	}
	return nil
}

// uncolored removes the red in which the daemon shows the stderr of a build.
var uncolored = strings.NewReplacer("\x1b[91m", "", "\x1b[0m", "")

// follow copies the daemon's messages about a build or a pull, and returns its
// error: the status of the answer came long before it.
func follow(body io.Reader, to io.Writer) error {
	messages := json.NewDecoder(body)
	for {
		var m jsonstream.Message
		if err := messages.Decode(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("its answer ended early: %w", err)
		}
		if m.Error != nil {
			return m.Error
		}
		text := uncolored.Replace(m.Stream)
		if text == "" && m.Status != "" {
			text = strings.TrimPrefix(m.ID+": "+m.Status+"\n", ": ")
			if m.Progress != nil && m.Progress.Current > 0 {
				continue // a bar, many times a second
			}
		}
		if text != "" {
			if _, err := io.WriteString(to, text); err != nil {
				return err
			}
		}
	}
}

// Images returns the images that have a name, sorted by it.
func (e *Engine) Images(ctx context.Context, _ sandbox.Spec) ([]container.Image, error) {
	d, err := e.connect(ctx)
	if err != nil {
		return nil, err
	}
	list, err := d.client.ImageList(ctx, client.ImageListOptions{})
	if err != nil {
		return nil, d.silent(ctx, err)
	}
	var all []container.Image
	for _, s := range list.Items {
		for _, name := range s.RepoTags {
			if name != "<none>:<none>" {
				all = append(all, container.Image{Name: name, ID: s.ID, Size: s.Size, Created: time.Unix(s.Created, 0)})
			}
		}
	}
	container.SortImages(all)
	return all, nil
}
