// Package docker makes sandboxes out of containers of a docker daemon, 20.10
// or later, by its HTTP interface. The docker command is not needed.
//
// It knows containers, images and the daemon that holds them. It does not
// know policies, the wire or what is run inside.
package docker

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"

	"bridge/sandbox"
	"bridge/sandbox/container"

	"github.com/moby/moby/client"
)

// Name is the engine's name in policies.
const Name = "docker"

// Options are what the engine is made with. The zero value is of use.
type Options struct {
	Log   *slog.Logger // nil: nothing is logged
	Image string       // of a spec that names none

	// Host is the daemon's address, in the place of what the environment
	// and docker's contexts say.
	Host string
}

// Engine makes sandboxes on one docker daemon. It is safe for use by several
// goroutines.
type Engine struct {
	options Options
	log     *slog.Logger
	all     *container.Sandboxes[*box]

	mu     sync.Mutex // guards what follows
	daemon *daemon    // nil until the daemon has answered, and after it went away
}

// New returns an engine. Nothing is looked up before it is used.
func New(o Options) *Engine {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Engine{options: o, log: o.Log, all: container.NewSandboxes[*box](Name, o.Log)}
}

// Name returns "docker".
func (e *Engine) Name() string { return Name }

// Ready asks the daemon whether it could make the sandbox.
func (e *Engine) Ready(ctx context.Context, spec sandbox.Spec) error {
	_, err := e.plan(ctx, spec)
	if missing := (*absent)(nil); spec.Pull && errors.As(err, &missing) {
		return nil
	}
	return err
}

// Start makes a container, or takes the one that was prepared, and returns when
// its Python is being executed.
func (e *Engine) Start(ctx context.Context, spec sandbox.Spec, args []string, progress io.Writer) (sandbox.Sandbox, error) {
	spec, err := container.Layered(ctx, e, Name, spec, e.options.Image, progress)
	if err != nil {
		return nil, err
	}
	p, err := e.plan(ctx, spec)
	if missing := (*absent)(nil); spec.Pull && errors.As(err, &missing) {
		if err := missing.pull(ctx, progress); err != nil {
			return nil, err
		}
		p, err = e.plan(ctx, spec)
	}
	if err != nil {
		return nil, err
	}
	if err := e.reap(ctx, p.daemon); err != nil {
		return nil, err
	}
	current := func(b *box) bool { return b.client == p.client && b.image == p.image && b.connected() }
	b, warm := e.all.Warm(ctx, p.spec, args, current, func(b *box) error { return b.start(ctx) })
	if warm {
		return b, nil
	}
	b, err = e.fresh(ctx, p, args)
	if err != nil && ctx.Err() == nil && p.dropOptional() {
		// The daemon sees other files than we do, as from within a container.
		b, err = e.fresh(ctx, p, args)
	}
	if err != nil {
		return nil, e.refused(ctx, p, err)
	}
	return b, nil
}

// fresh makes a sandbox and starts it.
func (e *Engine) fresh(ctx context.Context, p *plan, args []string) (*box, error) {
	b, err := e.make(ctx, p, args)
	if err != nil {
		return nil, err
	}
	return b, b.start(ctx)
}

// Close ends the sandboxes that are left and waits until they are removed.
// None can be started any more.
func (e *Engine) Close() {
	e.all.Close()
	e.all.End(nil)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.daemon != nil {
		e.daemon.client.Close()
		e.daemon = nil
	}
}

// unlink drops what is known of a daemon that went away: it may come back as
// another one.
func (e *Engine) unlink(c *client.Client) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.daemon != nil && e.daemon.client == c {
		e.daemon = nil
		c.Close()
	}
}
