package podman

import (
	"context"
	"fmt"

	"bridge/sandbox"

	"github.com/containers/podman/v5/pkg/bindings/images"
)

// fetches tells whether an image that is missing may be fetched. The bridge's
// own is in no registry.
func (e *Engine) fetches(spec sandbox.Spec) bool {
	return spec.Pull && spec.Image != "" && spec.Image != e.image
}

// fetch has podman fetch an image that it does not have.
func fetch(ctx context.Context, s *service, name string) error {
	there, err := images.Exists(s.with(ctx), name, nil)
	if err != nil {
		return fmt.Errorf("asking podman for the image %q: %w", name, s.diagnose(err))
	}
	if there {
		return nil
	}
	news := sandbox.News(ctx)
	fmt.Fprintf(news, "podman fetches the image %s\n", name)
	if _, err := images.Pull(s.with(ctx), name, new(images.PullOptions).WithProgressWriter(news)); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("podman cannot fetch the image %q: %w; see whether this works: podman pull %s", name, s.diagnose(err), name)
	}
	return nil
}
