package podman

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"bridge/sandbox"
	"bridge/sandbox/container"
	"bridge/sandbox/reaper"

	"github.com/containers/podman/v5/pkg/bindings/images"
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
	owner string // the label's value that says whose a container is

	places func(rootful bool) ([]place, error) // where to look for a service

	dialing sync.Mutex     // held while a connection is sought
	working sync.WaitGroup // goroutines of the engine and of its sandboxes
	pool    *container.Pool[*box]

	mu      sync.Mutex // guards what follows
	closed  bool
	service *service         // nil while there is none
	keepers []*reaper.Keeper // of every service that containers were made on
	live    map[string]*box  // by the container's name, from before it is made until it is gone
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
		owner:  container.NewOwner(),
		places: places,
		live:   make(map[string]*box),
		pool:   container.NewPool((*box).abandon),
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
	there, err := images.Exists(s.with(ctx), name, nil)
	if err != nil {
		return fmt.Errorf("asking podman for the image %q: %w", name, err)
	}
	if !there && !container.Pulls(spec, e.image) {
		return container.MissingImage(Name, name, e.image)
	}
	return nil
}

var errClosed = errors.New("the podman engine is closed")

// add makes a box one of the engine's, unless the engine is closed.
func (e *Engine) add(b *box) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.live[b.name] = b
	e.working.Add(1)
	return true
}

func (e *Engine) drop(b *box) {
	e.mu.Lock()
	delete(e.live, b.name)
	e.mu.Unlock()
	e.working.Done()
}

// Close kills what is left, waits for it, and ends what the engine has
// started. Sandboxes cannot be started any more.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closed = true
	var left []*box
	for _, b := range e.live {
		left = append(left, b)
	}
	e.mu.Unlock()
	for _, b := range left {
		b.Kill()
	}
	e.pool.Close()
	e.working.Wait()
	e.dialing.Lock() // whoever was at it is done, and nobody begins any more
	defer e.dialing.Unlock()
	e.mu.Lock()
	s, keepers := e.service, e.keepers
	e.service, e.keepers = nil, nil
	e.mu.Unlock()
	if s != nil {
		s.close()
	}
	for _, k := range keepers {
		k.Close()
	}
}
