package podman

import (
	"context"
	"errors"

	"bridge/sandbox"
	"bridge/sandbox/container"

	"github.com/containers/podman/v5/pkg/bindings/containers"
)

// Sweep removes the containers of bridges that are gone. Those of others that
// may be alive are left alone. A service that does not answer has nothing to
// sweep that could be reached.
func (e *Engine) Sweep(ctx context.Context) error {
	s, err := e.connect(ctx, sandbox.Spec{})
	if err != nil {
		return err
	}
	return e.sweepOn(ctx, s)
}

// sweep does so in the background, once for each service.
func (e *Engine) sweep(s *service) {
	ctx, cancel := context.WithTimeout(context.Background(), lastTry)
	defer cancel()
	if err := e.sweepOn(ctx, s); err != nil {
		e.log.Warn("containers of bridges that are gone could not be removed", "cause", err)
	}
}

func (e *Engine) sweepOn(ctx context.Context, s *service) error {
	ctx = s.with(ctx)
	all, err := containers.List(ctx, new(containers.ListOptions).WithAll(true).
		WithFilters(map[string][]string{"label": {container.OwnerLabel}}))
	if err != nil {
		return err
	}
	var failed []error
	for _, c := range all {
		if !e.orphan(c.Labels[container.OwnerLabel], c.Names) {
			continue
		}
		e.log.Info("removing a container that a bridge has left", "container", c.ID[:12])
		_, err := containers.Remove(ctx, c.ID, new(containers.RemoveOptions).WithForce(true).WithIgnore(true).WithTimeout(0))
		if err != nil && !missing(err) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// orphan reports whether the engine that made a container has ended or given it
// up.
func (e *Engine) orphan(whose string, names []string) bool {
	if whose != e.owner {
		return container.Gone(whose)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range names {
		if e.live[name] != nil {
			return false
		}
	}
	// It was given up, while podman did not answer.
	return true
}
