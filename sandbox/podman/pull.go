package podman

import (
	"context"
	"fmt"
	"io"

	"github.com/containers/podman/v5/pkg/bindings/images"
)

// pull has podman pull an image that it does not have.
func pull(ctx context.Context, s *service, name string, progress io.Writer) error {
	there, err := images.Exists(s.with(ctx), name, nil)
	if err != nil {
		return fmt.Errorf("asking podman for the image %q: %w", name, s.diagnose(err))
	}
	if there {
		return nil
	}
	fmt.Fprintf(progress, "podman fetches the image %s\n", name)
	if _, err := images.Pull(s.with(ctx), name, new(images.PullOptions).WithProgressWriter(progress)); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("podman cannot fetch the image %q: %w; see whether this works: podman pull %s", name, s.diagnose(err), name)
	}
	return nil
}
