package docker

import (
	"context"
	"fmt"
	"strings"

	"bridge/sandbox/container"

	"github.com/moby/moby/client"
)

// sweep removes the containers of bridges that ended without removing them, as
// when the machine or docker went down. Those of a process that cannot be seen
// from here stay.
func (e *Engine) sweep(ctx context.Context, d *daemon) error {
	list, err := d.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", container.OwnerLabel)})
	if err != nil {
		return fmt.Errorf("listing docker's containers: %w", err)
	}
	var all []container.Listed
	for _, c := range list.Items {
		all = append(all, container.Listed{ID: c.ID, Owner: c.Labels[container.OwnerLabel], Name: strings.Join(c.Names, "")})
	}
	return e.all.Sweep(all, func(id string) bool { return e.remove(d.client, id) })
}
