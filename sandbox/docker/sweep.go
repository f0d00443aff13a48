package docker

import (
	"context"
	"fmt"
	"strings"

	"bridge/sandbox/owner"

	"github.com/moby/moby/client"
)

// Sweep removes the containers of bridges that have ended without removing
// them: the machine, or docker, may have gone down with them. Those of a
// process that cannot be seen from here stay.
func (e *Engine) Sweep(ctx context.Context) error {
	l, err := e.connect(ctx)
	if err != nil {
		return err
	}
	return e.sweepOn(ctx, l)
}

// sweep does so in the background, once for each daemon that has answered.
func (e *Engine) sweep(l *link) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := e.sweepOn(ctx, l); err != nil {
		e.log.Warn("containers of bridges that are gone could not be removed", "cause", err)
	}
}

func (e *Engine) sweepOn(ctx context.Context, l *link) error {
	list, err := l.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", owner.Label)})
	if err != nil {
		return fmt.Errorf("listing docker's containers: %w", err)
	}
	var left []string
	for _, c := range list.Items {
		if !owner.Gone(c.Labels[owner.Label]) {
			continue
		}
		e.log.Info("removing a container that was left behind", "container", c.ID, "owner", c.Labels[owner.Label])
		if !e.remove(l.client, c.ID) {
			left = append(left, c.ID[:12])
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("docker has not removed what ended bridges have left; run: docker rm -f %s", strings.Join(left, " "))
	}
	return nil
}
