package cli

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"bridge/policy"
	"bridge/sandbox"
	"bridge/sandbox/docker"
	"bridge/sandbox/native"
	"bridge/sandbox/podman"
)

// engine is an engine with its end.
type engine interface {
	sandbox.Engine
	Close()
}

// engine is what the sandboxes of a profile are made with.
func (c *choice) engine(p *policy.Profile, log *slog.Logger) *chooser {
	if p.Engine == "" {
		return newChooser(c.engines(log), "", log)
	}
	named := slices.DeleteFunc(c.engines(log), func(e engine) bool { return e.Name() != p.Engine })
	return newChooser(named, p.Source("engine"), log)
}

// engines are all that there are, in the order in which they are tried.
func (c *choice) engines(log *slog.Logger) []engine {
	own := c.own()
	list := []engine{
		onPodman{podman.New(podman.Options{Image: own, Log: log})},
		onDocker{docker.New(docker.Options{Image: own, Log: log, Build: "bridge image build --engine docker"})},
		native.New(),
	}
	if _, scenario := c.standIns(); scenario {
		// What a scenario wants is the one that starts at once, with no image.
		slices.Reverse(list)
	}
	return list
}

// chooser is an engine that leaves the work to one of several. It chooses at
// the first start of a sandbox, which nobody who greets the bridge waits for,
// and anew after one that failed.
type chooser struct {
	engines []engine // in the order in which they are tried
	by      string   // who names the only one, "" if the first that is ready will do
	log     *slog.Logger
	turn    chan struct{} // held by who is choosing

	mu     sync.Mutex // guards what follows
	chosen engine     // nil until one has started a sandbox
}

func newChooser(engines []engine, by string, log *slog.Logger) *chooser {
	return &chooser{engines: engines, by: by, log: log, turn: make(chan struct{}, 1)}
}

// Name is the name of the engine that was chosen, "none" before that.
func (c *chooser) Name() string {
	if e := c.current(); e != nil {
		return e.Name()
	}
	return "none"
}

// Ready is nil if one of the engines is.
func (c *chooser) Ready(ctx context.Context, spec sandbox.Spec) error {
	var passed []refusal
	for _, e := range c.engines {
		err := e.Ready(ctx, spec)
		if err == nil || ctx.Err() != nil {
			return err
		}
		passed = append(passed, newRefusal(e.Name(), err))
	}
	return &notReady{c.by, passed}
}

// Start starts a sandbox with the engine that was chosen. There is no better
// answer to whether an engine is ready than a sandbox that it has started.
func (c *chooser) Start(ctx context.Context, spec sandbox.Spec, args []string) (sandbox.Sandbox, error) {
	if e := c.current(); e != nil {
		return c.with(ctx, e, spec, args)
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if e := c.current(); e != nil { // chosen by another in the meantime
		return c.with(ctx, e, spec, args)
	}
	return c.choose(ctx, spec, args)
}

// with starts a sandbox with an engine that has started one before.
func (c *chooser) with(ctx context.Context, e engine, spec sandbox.Spec, args []string) (sandbox.Sandbox, error) {
	box, err := e.Start(ctx, spec, args)
	if err != nil && ctx.Err() == nil {
		c.set(nil)
		return nil, &notReady{c.by, []refusal{explain(ctx, e, spec, err)}}
	}
	return box, err
}

// Prepare leaves it to the engine that was chosen.
func (c *chooser) Prepare(ctx context.Context, spec sandbox.Spec, args []string) error {
	if p, can := c.current().(sandbox.Preparer); can {
		return p.Prepare(ctx, spec, args)
	}
	return nil
}

func (c *chooser) choose(ctx context.Context, spec sandbox.Spec, args []string) (sandbox.Sandbox, error) {
	var passed []refusal
	for _, e := range c.engines {
		box, err := e.Start(ctx, spec, args)
		if err == nil {
			c.set(e)
			for _, r := range passed {
				c.log.Info("an engine was passed over", "engine", r.engine, "cause", r.cause)
			}
			c.log.Info("the engine is chosen", "engine", e.Name(), "because", c.because())
			return box, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		passed = append(passed, explain(ctx, e, spec, err))
	}
	return nil, &notReady{c.by, passed}
}

// explain gives the cause of a start that failed. An engine that knows itself
// to be unready says more than what broke on the way.
func explain(ctx context.Context, e engine, spec sandbox.Spec, err error) refusal {
	if unready := e.Ready(ctx, spec); unready != nil && ctx.Err() == nil {
		err = unready
	}
	return newRefusal(e.Name(), err)
}

func (c *chooser) because() string {
	if c.by != "" {
		return "it is the engine of " + c.by
	}
	return "it is the first that is ready"
}

func (c *chooser) current() engine {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.chosen
}

func (c *chooser) set(e engine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chosen = e
}

// Close ends all engines.
func (c *chooser) Close() {
	for _, e := range c.engines {
		e.Close()
	}
}

// refusal is why an engine is not ready.
type refusal struct{ engine, cause, remedy string }

// newRefusal takes an engine's error apart: a cause and, after the last "; ",
// a remedy.
func newRefusal(engine string, err error) refusal {
	r := refusal{engine: engine, cause: err.Error()}
	if i := strings.LastIndex(r.cause, "; "); i >= 0 {
		r.cause, r.remedy = r.cause[:i], strings.TrimPrefix(r.cause[i+2:], "run: ")
	}
	r.cause = strings.TrimPrefix(r.cause, engine+" ") // it is said beside it
	return r
}

// notReady is the error of a choice that found no engine. What can be done
// follows on lines of its own.
type notReady struct {
	by      string
	engines []refusal
}

func (n *notReady) Error() string {
	if len(n.engines) == 1 {
		r := n.engines[0]
		text := fmt.Sprintf("engine %q is not ready: %s", r.engine, r.cause)
		if n.by != "" {
			text = fmt.Sprintf("engine %q of %s is not ready: %s", r.engine, n.by, r.cause)
		}
		return text + hint(r.remedy)
	}
	causes, hints := make([]string, len(n.engines)), ""
	for i, r := range n.engines {
		causes[i] = fmt.Sprintf("%s (%s)", r.engine, r.cause)
		if r.remedy != "" {
			hints += hint(r.engine + ": " + r.remedy)
		}
	}
	return "no engine is ready: " + strings.Join(causes, ", ") + hints
}

// hint is one more line of an error: a command, or a choice.
func hint(text string) string {
	if text == "" {
		return ""
	}
	return "\nhint: " + text
}
