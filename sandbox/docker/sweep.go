package docker

import (
	"context"
	"fmt"
	"strings"

	"bridge/sandbox/container"

	"github.com/moby/moby/client"
)

// Sweep removes the containers of bridges that ended without removing them, as
// when the machine or docker went down. Those of a process that cannot be seen
// from here stay.
func (e *Engine) Sweep(ctx context.Context) error {
	d, err := e.connect(ctx)
	if err != nil {
		return err
	}
	return e.sweepOn(ctx, d)
}

// sweep does so in the background, once for each daemon that has answered.
func (e *Engine) sweep(d *daemon) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := e.sweepOn(ctx, d); err != nil {
		e.log.Warn("containers of bridges that are gone could not be removed", "cause", err)
	}
}

func (e *Engine) sweepOn(ctx context.Context, d *daemon) error {
	list, err := d.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", container.OwnerLabel)})
	if err != nil {
		return fmt.Errorf("listing docker's containers: %w", err)
	}
	var left []string
	for _, c := range list.Items {
		if !container.Gone(c.Labels[container.OwnerLabel]) {
			continue
		}
		e.log.Info("removing a container that was left behind", "container", c.ID, "owner", c.Labels[container.OwnerLabel])
		if !e.remove(d.client, c.ID) {
			left = append(left, c.ID[:12])
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("docker has not removed what ended bridges have left; run: docker rm -f %s", strings.Join(left, " "))
	}
	return nil
}
