package docker

import (
	"context"
	"errors"
	"fmt"

	"bridge/sandbox"

	"github.com/moby/moby/client"
)

// Prepare makes a container for the next Start of the same spec and arguments.
// A folder of the host may be another one by then, and on a daemon that no
// reaper reaches a container that was never started would outlive a bridge that
// is killed: for these there is nothing to prepare.
func (e *Engine) Prepare(ctx context.Context, spec sandbox.Spec, args []string) error {
	if len(spec.Mounts) > 0 {
		return nil
	}
	return e.spares.Put(ctx, key(spec, args), func(ctx context.Context) (*box, error) {
		return e.makeSpare(ctx, spec, args)
	})
}

func (e *Engine) makeSpare(ctx context.Context, spec sandbox.Spec, args []string) (*box, error) {
	p, err := e.plan(ctx, spec)
	if err != nil {
		return nil, err
	}
	if !p.endpoint.local() {
		return nil, errors.New("no reaper reaches the daemon")
	}
	if err := e.reap(ctx, p.link); err != nil {
		return nil, err
	}
	return e.make(ctx, p, args)
}

// prepared starts the container that was prepared, if there is one and it is
// what would be made now.
func (e *Engine) prepared(ctx context.Context, p *plan, args []string) *box {
	b, ok := e.spares.Take(ctx, key(p.spec, args))
	if !ok {
		return nil
	}
	if b.client != p.client || b.image != p.image || !b.connected() {
		b.abandon()
		return nil
	}
	if err := b.start(ctx); err != nil {
		e.log.Debug("a sandbox that was made ahead does not start", "cause", err)
		return nil
	}
	return b
}

// key tells specs apart.
func key(spec sandbox.Spec, args []string) string { return fmt.Sprintf("%#v %q", spec, args) }

// connected tells whether docker still tells of a container that was not
// started. It does until it goes away, or the container does.
func (b *box) connected() bool {
	select {
	case <-b.news.exit.Error:
		b.news.exit = client.ContainerWaitResult{} // its answer was taken
		return false
	case <-b.news.exit.Result:
		b.news.exit = client.ContainerWaitResult{}
		return false
	case <-b.news.events.Err:
		return false
	default:
		return true
	}
}
