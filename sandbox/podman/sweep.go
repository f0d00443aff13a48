package podman

import (
	"context"
	"strings"

	"bridge/sandbox/container"

	"github.com/containers/podman/v5/pkg/bindings/containers"
)

// sweep removes the containers of bridges that are gone. Those of others that
// may be alive are left alone.
func (e *Engine) sweep(ctx context.Context, s *service) error {
	ctx = s.with(ctx)
	list, err := containers.List(ctx, new(containers.ListOptions).WithAll(true).
		WithFilters(map[string][]string{"label": {container.OwnerLabel}}))
	if err != nil {
		return err
	}
	var all []container.Listed
	for _, c := range list {
		all = append(all, container.Listed{ID: c.ID, Owner: c.Labels[container.OwnerLabel], Name: strings.Join(c.Names, "")})
	}
	return e.all.Sweep(all, func(id string) bool {
		_, err := containers.Remove(ctx, id, new(containers.RemoveOptions).WithForce(true).WithIgnore(true).WithTimeout(0))
		return err == nil || missing(err)
	})
}
