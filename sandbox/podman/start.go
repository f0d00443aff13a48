package podman

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/container"
)

// Start makes a container, attaches to it and starts it. If one was prepared,
// it is only started.
func (e *Engine) Start(ctx context.Context, spec sandbox.Spec, args []string, progress io.Writer) (sandbox.Sandbox, error) {
	spec, err := container.Layered(ctx, e, Name, spec, e.image, progress)
	if err != nil {
		return nil, err
	}
	s, image, err := e.may(ctx, spec)
	if err != nil {
		return nil, err
	}
	current := func(b *box) bool { return b.current(ctx, s, image) }
	b, warm := e.all.Warm(ctx, spec, args, current, func(b *box) error { return b.start(ctx, s) })
	if warm {
		return b, nil
	}
	if container.Pulls(spec, e.image) {
		if err := pull(ctx, s, image, progress); err != nil {
			return nil, err
		}
	}
	p, err := e.plan(s, spec, image, args)
	if err != nil {
		return nil, err
	}
	b, err = e.fresh(ctx, s, p)
	if lost := (*lostWire)(nil); errors.As(err, &lost) && ctx.Err() == nil {
		e.log.Warn("podman has made a container without its streams; another is made", "cause", err)
		if p, err = e.plan(s, spec, image, args); err == nil {
			b, err = e.fresh(ctx, s, p)
		}
	}
	switch {
	case err == nil:
		return b, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	// Not every version of podman says so by the status of its answer.
	if id, unknown := s.imageID(ctx, image); unknown == nil && id == "" {
		return nil, container.MissingImage(Name, image, e.image)
	}
	return nil, fmt.Errorf("starting a container: %w", s.diagnose(err))
}

// fresh makes a container and starts it.
func (e *Engine) fresh(ctx context.Context, s *service, p *plan) (*box, error) {
	b, err := e.make(ctx, s, p)
	if err != nil {
		return nil, err
	}
	return b, b.start(ctx, s)
}

// lostWire is the error of a container that is there and cannot be attached to:
// seldom, when many are started at once, podman does not find the socket of its
// own that leads to it.
type lostWire struct{ error }

func (l *lostWire) Unwrap() error { return l.error }

// may finds the service and the image of a spec that is allowed on it.
func (e *Engine) may(ctx context.Context, spec sandbox.Spec) (s *service, image string, err error) {
	if s, err = e.connect(ctx, spec); err != nil {
		return nil, "", err
	}
	if err = s.fits(spec); err != nil {
		return nil, "", err
	}
	image, err = container.ImageOf(spec, e.image)
	return s, image, err
}

// make brings a container as far as it comes without being started: all of it
// is there but the program. What was begun and did not work is taken back
// before it returns.
func (e *Engine) make(ctx context.Context, s *service, p *plan) (*box, error) {
	b := &box{Life: container.NewLife(p.held), engine: e, spoken: make(chan struct{})}
	p.spec.Name = b.Name()
	if err := e.all.Add(b); err != nil {
		return nil, err
	}
	warnings, err := s.create(ctx, p.spec)
	for _, w := range warnings {
		e.log.Warn("podman warns about a sandbox", "text", w)
	}
	if err == nil {
		if err = b.attach(ctx, s); err != nil && strings.Contains(err.Error(), "attach socket") {
			err = &lostWire{err}
		}
	}
	if err != nil {
		// It may have been made even if that was not told.
		b.Abandon()
		return nil, err
	}
	return b, nil
}

// start starts a container that was made. One that does not start is taken
// back before it returns.
func (b *box) start(ctx context.Context, s *service) error {
	err := s.start(ctx, b.Name())
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		b.Abandon()
		return err
	}
	b.attend(s)
	return nil
}

// Prepare makes a container for the next Start of the same spec and arguments.
// There is none on a service that no reaper reaches, where a container that was
// never started would outlive a bridge that is killed.
func (e *Engine) Prepare(ctx context.Context, spec sandbox.Spec, args []string) error {
	spec, err := container.Layered(ctx, e, Name, spec, e.image, io.Discard)
	if err != nil {
		return err
	}
	return e.all.Prepare(ctx, spec, args, func(ctx context.Context) (*box, error) { return e.makeWarm(ctx, spec, args) })
}

func (e *Engine) makeWarm(ctx context.Context, spec sandbox.Spec, args []string) (*box, error) {
	s, name, err := e.may(ctx, spec)
	if err != nil {
		return nil, err
	}
	if s.keeper == nil {
		return nil, errors.New("no reaper reaches the service")
	}
	image, err := s.imageID(ctx, name)
	if err != nil {
		return nil, err
	}
	if image == "" {
		return nil, container.MissingImage(Name, name, e.image)
	}
	p, err := e.plan(s, spec, image, args)
	if err != nil {
		return nil, err
	}
	b, err := e.make(ctx, s, p)
	if err != nil {
		return nil, err
	}
	b.image, b.service = image, s
	return b, nil
}

// current tells whether a warm container is what would be made now.
func (b *box) current(ctx context.Context, s *service, name string) bool {
	image, err := s.imageID(ctx, name)
	return err == nil && image == b.image && b.service == s && b.connected()
}

// connected tells whether the wire of a container that was not started is
// still there: nothing comes on it but its end.
func (b *box) connected() bool {
	b.wire.SetReadDeadline(time.Now())
	_, err := b.reader.Peek(1)
	b.wire.SetReadDeadline(time.Time{})
	return errors.Is(err, os.ErrDeadlineExceeded)
}
