package podman

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"bridge/sandbox"
	"bridge/sandbox/container"
)

// Options are what an Engine is made with. All fields may be left out.
type Options struct {
	Image string       // of a spec that names none
	Log   *slog.Logger // what is worth a line; nil: nothing is
}

// Engine makes sandboxes with podman. It is safe for use by several goroutines.
type Engine struct {
	image string
	log   *slog.Logger
	all   *container.Sandboxes[*box]

	places func(rootful bool) ([]place, error) // where to look for a service

	dialing sync.Mutex // held while a connection is sought

	mu      sync.Mutex // guards what follows
	service *service   // nil while there is none
}

// New returns an engine. Nothing is looked for or started before it is used.
func New(o Options) *Engine {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Engine{
		image:  o.Image,
		log:    log,
		places: places,
		all:    container.NewSandboxes[*box](Name, log),
	}
}

// Name returns "podman".
func (e *Engine) Name() string { return Name }

// Ready asks the service whether it answers, may be used, holds the limits if
// they are demanded, and has the image.
func (e *Engine) Ready(ctx context.Context, spec sandbox.Spec) error {
	s, err := e.connect(ctx, spec)
	if err != nil {
		return err
	}
	if err := s.fits(spec); err != nil {
		return err
	}
	name, err := container.ImageOf(spec, e.image)
	if err != nil {
		return err
	}
	id, err := s.imageID(ctx, name)
	if err != nil {
		return fmt.Errorf("asking podman for the image %q: %w", name, err)
	}
	if id == "" && !container.Pulls(spec, e.image) {
		return container.MissingImage(Name, name, e.image)
	}
	return nil
}

// Close kills what is left, waits for it, and ends what the engine has
// started. Sandboxes cannot be started any more.
func (e *Engine) Close() {
	e.all.Close()
	e.dialing.Lock() // whoever was at it is done, and nobody begins any more
	defer e.dialing.Unlock()
	e.mu.Lock()
	s := e.service
	e.service = nil
	e.mu.Unlock()
	if s != nil {
		s.close()
	}
	e.all.End(nil)
}
