package native

import (
	"context"
	"fmt"
	"io"
	"sync"

	"bridge/sandbox"
)

// Engine makes sandboxes with the kernel of this machine. It is safe for use
// by several goroutines.
type Engine struct {
	creator *creator
	pythons *pythons
	cgroups *cgroups

	mu     sync.Mutex
	closed bool
	live   map[*box]bool
}

// New returns an engine. Nothing is looked up or started before it is used.
func New() *Engine {
	return &Engine{
		creator: newCreator(),
		pythons: newPythons(),
		cgroups: newCgroups(),
		live:    make(map[*box]bool),
	}
}

// Name returns "native".
func (e *Engine) Name() string { return Name }

// Ready starts a sandbox, sees its Python run and ends it again: nothing less
// tells whether the kernel and what guards it will let one be made.
func (e *Engine) Ready(ctx context.Context, spec sandbox.Spec) error {
	box, err := e.begin(ctx, spec, []string{"-I", "-c", ""}, false, io.Discard)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, box.Kill)
	defer stop()
	exit := box.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	if exit.Code != 0 {
		return fmt.Errorf("python ended with status %d, signal %d in the sandbox; name another interpreter with python: in the profile", exit.Code, exit.Signal)
	}
	return nil
}

// Start makes a sandbox and returns when its Python is being executed.
func (e *Engine) Start(ctx context.Context, spec sandbox.Spec, args []string, progress io.Writer) (sandbox.Sandbox, error) {
	return e.begin(ctx, spec, args, true, progress)
}

// begin is Start. It can be told to install nothing.
func (e *Engine) begin(ctx context.Context, spec sandbox.Spec, args []string, mayInstall bool, progress io.Writer) (sandbox.Sandbox, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	if err := fit(spec); err != nil {
		return nil, err
	}
	py, err := e.withPackages(ctx, spec, mayInstall, progress)
	if err != nil {
		return nil, err
	}
	limits := spec.Limits.WithDefaults()
	who := identify()
	cfg, err := newConfig(py, who, limits, args)
	if err != nil {
		return nil, err
	}
	if err := share(cfg, spec.Mounts); err != nil {
		return nil, err
	}
	b, err := e.start(ctx, cfg, who, limits)
	if err != nil {
		// The interpreter may have been upgraded or removed since it was asked.
		e.pythons.forget(spec.Python)
		return nil, err
	}
	if spec.Enforced {
		if err := enforced(b.Limits()); err != nil {
			b.Kill()
			b.Wait()
			return nil, err
		}
	}
	return b, nil
}

// Close kills what is left, waits for it, and ends the engine. Sandboxes
// cannot be started any more.
func (e *Engine) Close() {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return
	}
	e.closed = true
	var left []*box
	for b := range e.live {
		left = append(left, b)
	}
	e.mu.Unlock()
	for _, b := range left {
		b.Kill()
		b.Wait()
	}
	e.creator.close()
	e.cgroups.close()
}

// add makes the box one of the engine's, unless the engine is closed.
func (e *Engine) add(b *box) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.live[b] = true
	return true
}

func (e *Engine) remove(b *box) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.live, b)
}
