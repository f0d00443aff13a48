package docker

import (
	"context"
	"fmt"
	"io"
	"strings"

	"bridge/sandbox"
	"bridge/sandbox/container"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// absent is the error of an image of a registry that the daemon does not have.
type absent struct {
	daemon *daemon
	name   string
}

func (a *absent) Error() string {
	return container.MissingImage(Name, a.name, "").Error()
}

// ImageID is the id of the image of a name, "" if there is none.
func (e *Engine) ImageID(ctx context.Context, _ sandbox.Spec, name string) (string, error) {
	d, err := e.connect(ctx)
	if err != nil {
		return "", err
	}
	image, err := d.client.ImageInspect(ctx, name)
	if cerrdefs.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", d.silent(ctx, err)
	}
	return image.ID, nil
}

// Fetch pulls an image.
func (e *Engine) Fetch(ctx context.Context, _ sandbox.Spec, name string, progress io.Writer) error {
	d, err := e.connect(ctx)
	if err != nil {
		return err
	}
	return (&absent{d, name}).pull(ctx, progress)
}

// pull has the daemon pull it.
func (a *absent) pull(ctx context.Context, progress io.Writer) error {
	fmt.Fprintf(progress, "docker fetches the image %s\n", a.name)
	got, err := a.daemon.client.ImagePull(ctx, a.name, client.ImagePullOptions{})
	if err == nil {
		err = follow(got, progress)
		got.Close()
	}
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		text := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
		return fmt.Errorf("docker cannot fetch the image %q: %s; see whether this works: docker pull %s", a.name, text, a.name)
	}
	return nil
}
