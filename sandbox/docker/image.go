package docker

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/build"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"
)

// Build is an image to be built.
type Build struct {
	Tag           string
	Containerfile []byte
	Args          map[string]string // values for its ARG lines
	Output        io.Writer         // of the build's own words, nil to drop them
	Network       string            // of its RUN lines; "" is host
}

// Build builds an image with the daemon's classic builder, which every version
// has. The context folder holds the Containerfile alone.
func (e *Engine) Build(ctx context.Context, b Build) error {
	l, err := e.connect(ctx)
	if err != nil {
		return err
	}
	folder, err := buildFolder(b.Containerfile)
	if err != nil {
		return err
	}
	args := make(map[string]*string, len(b.Args))
	for name, value := range b.Args {
		args[name] = &value
	}
	got, err := l.client.ImageBuild(ctx, folder, client.ImageBuildOptions{
		Version:     build.BuilderV1,
		Tags:        []string{b.Tag},
		Dockerfile:  "Containerfile",
		BuildArgs:   args,
		NetworkMode: cmp.Or(b.Network, "host"),
		Remove:      true,
		ForceRemove: true,
		// Package managers close every descriptor there may be, one by one.
		Ulimits: []*container.Ulimit{{Name: "nofile", Soft: 1024, Hard: 1024}},
	})
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("building image %q on docker: %s", b.Tag, strings.TrimPrefix(err.Error(), "Error response from daemon: "))
	}
	defer got.Body.Close()
	if err := follow(got.Body, b.Output); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("building image %q on docker: %w", b.Tag, err)
	}
	return nil
}

// buildFolder packs what the builder is sent.
func buildFolder(containerfile []byte) (io.Reader, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	header := &tar.Header{Name: "Containerfile", Mode: 0o644, Size: int64(len(containerfile))}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(containerfile); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return &packed, nil
}

// uncolored takes out the red of what a build writes to its stderr.
var uncolored = strings.NewReplacer("\x1b[91m", "", "\x1b[0m", "")

// follow passes on what the daemon says of what it is at, and finds out whether
// it succeeded: that is known only at the end, long after the answer's status.
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
		if to != nil && text != "" {
			if _, err := io.WriteString(to, text); err != nil {
				return err
			}
		}
	}
}

// Image is one name of an image on the daemon.
type Image struct {
	Name    string // with its tag
	ID      string
	Size    int64 // bytes
	Created time.Time
}

// Images returns the images that have a name, sorted by it.
func (e *Engine) Images(ctx context.Context) ([]Image, error) {
	l, err := e.connect(ctx)
	if err != nil {
		return nil, err
	}
	list, err := l.client.ImageList(ctx, client.ImageListOptions{})
	if err != nil {
		return nil, l.silent(ctx, err)
	}
	var all []Image
	for _, s := range list.Items {
		for _, name := range s.RepoTags {
			if name != "<none>:<none>" {
				all = append(all, Image{name, s.ID, s.Size, time.Unix(s.Created, 0)})
			}
		}
	}
	slices.SortFunc(all, func(a, b Image) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}
