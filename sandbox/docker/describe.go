package docker

import (
	"context"
	"slices"

	"bridge/sandbox"
	"bridge/sandbox/container"
)

// Describe asks the daemon about itself, again. No spec changes which daemon that is.
func (e *Engine) Describe(ctx context.Context, _ sandbox.Spec) (container.Facts, error) {
	d, err := e.connect(ctx)
	if err != nil {
		return container.Facts{}, err
	}
	fresh := &daemon{endpoint: d.endpoint, client: d.client}
	if err := fresh.ask(ctx); err != nil {
		return container.Facts{}, err
	}
	return container.Facts{
		Endpoint: display(fresh.endpoint.host),
		Source:   fresh.endpoint.source,
		Version:  fresh.info.ServerVersion,
		API:      fresh.client.ClientVersion(),
		Rootless: fresh.rootless(),
		Cgroup:   fresh.info.CgroupVersion,
		Limits:   fresh.held(),
		Warnings: slices.Clone(fresh.info.Warnings),
	}, nil
}
