package podman

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// pull has podman pull an image that it does not have.
func pull(ctx context.Context, s *service, name string, progress io.Writer) error {
	there, err := s.imageID(ctx, name)
	if err != nil {
		return fmt.Errorf("asking podman for the image %q: %w", name, s.diagnose(err))
	}
	if there != "" {
		return nil
	}
	fmt.Fprintf(progress, "podman fetches the image %s\n", name)
	response, err := s.ask(ctx, nil, nil, http.MethodPost, "/images/pull", "", url.Values{"reference": {name}})
	if err == nil {
		err = follow(response, progress)
	}
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("podman cannot fetch the image %q: %w; see whether this works: podman pull %s", name, s.diagnose(err), name)
	}
	return nil
}
