package engines

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"bridge/sandbox"
)

// Chooser is an engine that uses one of several. It chooses at the first start of
// a sandbox, so that a client's handshake does not wait, and again after a start
// that failed.
type Chooser struct {
	engines  []Engine // in the order in which they are tried
	by       string   // what names the only one, "" if the first that is ready is chosen
	log      *slog.Logger
	choosing chan struct{} // a lock

	mu     sync.Mutex // guards what follows
	chosen Engine     // nil until one has started a sandbox
}

// NewChooser chooses from a list. If it has only one because somebody named that
// engine, by says what did, for messages.
func NewChooser(list []Engine, by string, log *slog.Logger) *Chooser {
	return &Chooser{engines: list, by: by, log: log, choosing: make(chan struct{}, 1)}
}

// Name is the name of the chosen engine, "none" before the first start.
func (c *Chooser) Name() string {
	if e := c.current(); e != nil {
		return e.Name()
	}
	return "none"
}

// Ready is nil if one of the engines is ready.
func (c *Chooser) Ready(ctx context.Context, spec sandbox.Spec) error {
	var passed []Refusal
	for _, e := range c.engines {
		err := e.Ready(ctx, spec)
		if err == nil || ctx.Err() != nil {
			return err
		}
		passed = append(passed, NewRefusal(e.Name(), err))
	}
	return &NotReady{c.by, passed}
}

// Start starts a sandbox with the chosen engine. If there is none yet, the first
// engine that starts one is chosen: a start is the only sure sign of readiness.
func (c *Chooser) Start(ctx context.Context, spec sandbox.Spec, args []string, progress io.Writer) (sandbox.Sandbox, error) {
	if e := c.current(); e != nil {
		return c.with(ctx, e, spec, args, progress)
	}
	select {
	case c.choosing <- struct{}{}:
		defer func() { <-c.choosing }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if e := c.current(); e != nil { // chosen by another in the meantime
		return c.with(ctx, e, spec, args, progress)
	}
	return c.choose(ctx, spec, args, progress)
}

// with starts a sandbox with the chosen engine.
func (c *Chooser) with(ctx context.Context, e Engine, spec sandbox.Spec, args []string, progress io.Writer) (sandbox.Sandbox, error) {
	box, err := e.Start(ctx, spec, args, progress)
	if err != nil && ctx.Err() == nil {
		c.set(nil)
		return nil, &NotReady{c.by, []Refusal{explain(ctx, e, spec, err)}}
	}
	return box, err
}

// Prepare prepares a sandbox on the chosen engine.
func (c *Chooser) Prepare(ctx context.Context, spec sandbox.Spec, args []string) error {
	if p, can := c.current().(sandbox.Preparer); can {
		return p.Prepare(ctx, spec, args)
	}
	return nil
}

func (c *Chooser) choose(ctx context.Context, spec sandbox.Spec, args []string, progress io.Writer) (sandbox.Sandbox, error) {
	var passed []Refusal
	for _, e := range c.engines {
		box, err := e.Start(ctx, spec, args, progress)
		if err == nil {
			c.set(e)
			for _, r := range passed {
				c.log.Info("an engine was passed over", "engine", r.Engine, "cause", r.Cause)
			}
			c.log.Info("the engine is chosen", "engine", e.Name(), "because", c.because())
			return box, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		passed = append(passed, explain(ctx, e, spec, err))
	}
	return nil, &NotReady{c.by, passed}
}

// explain gives the cause of a start that failed. What Ready says, if it fails
// too, is clearer than what broke in the start.
func explain(ctx context.Context, e Engine, spec sandbox.Spec, err error) Refusal {
	if unready := e.Ready(ctx, spec); unready != nil && ctx.Err() == nil {
		err = unready
	}
	return NewRefusal(e.Name(), err)
}

func (c *Chooser) because() string {
	if c.by != "" {
		return "it is the engine of " + c.by
	}
	return "it is the first that is ready"
}

func (c *Chooser) current() Engine {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.chosen
}

func (c *Chooser) set(e Engine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chosen = e
}

// Close closes all engines.
func (c *Chooser) Close() {
	for _, e := range c.engines {
		e.Close()
	}
}

// Refusal says why an engine is not ready.
type Refusal struct{ Engine, Cause, Remedy string }

// NewRefusal splits an engine's error into the cause and, after the last "; ",
// the remedy.
func NewRefusal(engine string, err error) Refusal {
	r := Refusal{Engine: engine, Cause: err.Error()}
	if i := strings.LastIndex(r.Cause, "; "); i >= 0 {
		r.Cause, r.Remedy = r.Cause[:i], strings.TrimPrefix(r.Cause[i+2:], "run: ")
	}
	r.Cause = strings.TrimPrefix(r.Cause, engine+" ") // the name is printed beside it
	return r
}

// NotReady is the error when no engine can be chosen. Each remedy is on a line of
// its own.
type NotReady struct {
	By      string // what names the only engine, "" if none was named
	Engines []Refusal
}

func (n *NotReady) Error() string {
	if len(n.Engines) == 1 {
		r := n.Engines[0]
		text := fmt.Sprintf("engine %q is not ready: %s", r.Engine, r.Cause)
		if n.By != "" {
			text = fmt.Sprintf("engine %q of %s is not ready: %s", r.Engine, n.By, r.Cause)
		}
		return text + hint(r.Remedy)
	}
	causes, hints := make([]string, len(n.Engines)), ""
	for i, r := range n.Engines {
		causes[i] = fmt.Sprintf("%s (%s)", r.Engine, r.Cause)
		if r.Remedy != "" {
			hints += hint(r.Engine + ": " + r.Remedy)
		}
	}
	return "no engine is ready: " + strings.Join(causes, ", ") + hints
}

// hint is a line below an error: a command, or a choice.
func hint(text string) string {
	if text == "" {
		return ""
	}
	return "\nhint: " + text
}
