package podman

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"bridge/sandbox"
)

// ImageID is the id of the image of a name, "" if there is none.
func (e *Engine) ImageID(ctx context.Context, spec sandbox.Spec, name string) (string, error) {
	s, err := e.connect(ctx, spec)
	if err != nil {
		return "", err
	}
	id, err := s.imageID(ctx, name)
	if err != nil {
		return "", fmt.Errorf("asking podman for the image %q: %w", name, s.diagnose(err))
	}
	return id, nil
}

// Fetch pulls an image, unless it is there.
func (e *Engine) Fetch(ctx context.Context, spec sandbox.Spec, name string, progress io.Writer) error {
	s, err := e.connect(ctx, spec)
	if err != nil {
		return err
	}
	return pull(ctx, s, name, progress)
}

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
