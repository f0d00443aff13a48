package docker

import (
	"context"
	"errors"
	"io"

	"bridge/sandbox"
	"bridge/sandbox/container"

	"github.com/moby/moby/client"
)

// Prepare makes a container for the next Start of the same spec and arguments.
// There is none on a daemon that no reaper reaches, where a container that was
// never started would outlive a bridge that is killed.
func (e *Engine) Prepare(ctx context.Context, spec sandbox.Spec, args []string) error {
	spec, err := container.Layered(ctx, e, Name, spec, e.options.Image, io.Discard)
	if err != nil {
		return err
	}
	return e.all.Prepare(ctx, spec, args, func(ctx context.Context) (*box, error) { return e.makeWarm(ctx, spec, args) })
}

func (e *Engine) makeWarm(ctx context.Context, spec sandbox.Spec, args []string) (*box, error) {
	p, err := e.plan(ctx, spec)
	if err != nil {
		return nil, err
	}
	if !p.endpoint.local() {
		return nil, errors.New("no reaper reaches the daemon")
	}
	if err := e.reap(ctx, p.daemon); err != nil {
		return nil, err
	}
	return e.make(ctx, p, args)
}

// connected reports whether docker still watches a container that was not
// started.
func (b *box) connected() bool {
	select {
	case <-b.watch.exit.Error:
		b.watch.exit = client.ContainerWaitResult{} // its answer was taken
		return false
	case <-b.watch.exit.Result:
		b.watch.exit = client.ContainerWaitResult{}
		return false
	case <-b.watch.events.Err:
		return false
	default:
		return true
	}
}
