package podman

import (
	"context"

	"bridge/sandbox/container"
)

// sweep removes the containers of bridges that are gone. Those of others that
// may be alive are left alone.
func (e *Engine) sweep(ctx context.Context, s *service) error {
	all, err := s.list(ctx, container.OwnerLabel)
	if err != nil {
		return err
	}
	return e.all.Sweep(all, func(id string) bool { return s.remove(ctx, id) == nil })
}
