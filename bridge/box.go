package bridge

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"bridge/sandbox"
)

// startTimeout bounds the start of a sandbox, pullTimeout that of one whose image
// may have to be pulled. They are not part of a run's time.
const (
	startTimeout = 60 * time.Second
	pullTimeout  = 30 * time.Minute
)

// box holds a session's sandbox: at most one at a time. It starts one when it is
// wanted, prepares the next, and ends one that is idle.
type box struct {
	handler sandbox.Handler
	log     *slog.Logger
	tasks   sync.WaitGroup
	ctx     context.Context // ends with the session
	end     context.CancelFunc

	mu      sync.Mutex // guards what follows
	engine  sandbox.Engine
	spec    sandbox.Spec
	current *opening    // nil: no sandbox
	ahead   bool        // prepare the next sandbox while there is one
	idle    *time.Timer // nil while a run uses the sandbox
}

func newBox(h sandbox.Handler, log *slog.Logger) *box {
	b := &box{handler: h, log: log}
	b.ctx, b.end = context.WithCancel(context.Background())
	return b
}

// opening is a sandbox that is being started, or has been.
type opening struct {
	done     chan struct{} // closed when session or err is set
	session  *sandbox.Session
	err      error
	used     bool // a run has begun in it; only the run that is going on looks
	progress startProgress
}

// startProgress is what an engine reports while it starts a sandbox. What nobody
// reads is dropped.
type startProgress chan string

func (p startProgress) Write(text []byte) (int, error) {
	select {
	case p <- string(text):
	default:
	}
	return len(text), nil
}

// wait returns when the sandbox is there or has failed, and streams the progress
// meanwhile. It is false if the context ends first.
func (o *opening) wait(ctx context.Context, stream Stream) bool {
	if stream == nil {
		stream = func(string, string, int64) {}
	}
	for {
		select {
		case <-o.done:
			for len(o.progress) > 0 {
				stream("stderr", <-o.progress, 0)
			}
			return true
		case <-ctx.Done():
			return false
		case text := <-o.progress:
			stream("stderr", text, 0)
		}
	}
}

// ended reports whether an opening has failed or its sandbox has ended.
func (o *opening) ended() bool {
	return isClosed(o.done) && (o.err != nil || isClosed(o.session.Done()))
}

// isClosed reports whether a channel that carries no values is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// use sets how sandboxes are made from now on. If that has changed, it ends the
// sandbox that there is and returns true.
func (b *box) use(engine sandbox.Engine, spec sandbox.Spec) (changed bool) {
	b.mu.Lock()
	changed = b.engine != nil && (b.engine != engine || !reflect.DeepEqual(b.spec, spec))
	b.engine, b.spec = engine, spec
	b.mu.Unlock()
	if changed {
		b.log.Info("the policy's sandbox has changed; the next one is new")
		b.discard((*sandbox.Session).End)
	}
	return changed
}

// warm starts a sandbox in the background if there is none. From now on the next
// one is prepared too.
func (b *box) warm() {
	b.mu.Lock()
	b.ahead = true
	b.mu.Unlock()
	b.open()
}

// open returns the sandbox, starting one if there is none or the last one has
// ended. It does not wait for it.
func (b *box) open() *opening {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.current != nil && !b.current.ended() {
		return b.current
	}
	o := &opening{done: make(chan struct{}), progress: make(startProgress, 256)}
	b.current = o
	if err := b.ctx.Err(); err != nil {
		o.err = err
		close(o.done)
		return o
	}
	engine, spec, ahead := b.engine, b.spec, b.ahead
	b.tasks.Go(func() {
		defer close(o.done)
		if o.session, o.err = b.start(engine, spec, o.progress); o.err == nil && ahead {
			b.tasks.Go(func() { b.prepare(engine, spec) })
		}
	})
	return o
}

func (b *box) start(engine sandbox.Engine, spec sandbox.Spec, progress startProgress) (*sandbox.Session, error) {
	limit := startTimeout
	if spec.Pull || !spec.Packages.None() {
		limit = pullTimeout
	}
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	began := time.Now()
	s, err := sandbox.Open(ctx, engine, spec, b.handler, progress)
	switch {
	case b.ctx.Err() != nil: // the bridge is closing
	case err != nil:
		b.log.Error("the sandbox did not start", "engine", engine.Name(), "err", err)
	default:
		b.log.Info("the sandbox is ready", "engine", engine.Name(), "after", time.Since(began).Round(time.Millisecond))
	}
	return s, err
}

func (b *box) prepare(engine sandbox.Engine, spec sandbox.Spec) {
	ctx, cancel := context.WithTimeout(b.ctx, startTimeout)
	defer cancel()
	if err := sandbox.Prepare(ctx, engine, spec); err != nil && b.ctx.Err() == nil {
		b.log.Info("the next sandbox could not be prepared", "engine", engine.Name(), "err", err)
	}
}

// busy stops the idle clock: a run begins.
func (b *box) busy() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.idle != nil {
		b.idle.Stop()
		b.idle = nil
	}
}

// endWhenIdle ends the sandbox after a time, unless a run begins before. Zero
// keeps it.
func (b *box) endWhenIdle(after time.Duration) {
	if after <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	o := b.current
	var timer *time.Timer
	timer = time.AfterFunc(after, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.idle == timer && b.current == o && !o.ended() {
			b.log.Info("the sandbox was idle and is ended", "after", after)
			b.drop((*sandbox.Session).End)
		}
	})
	b.idle = timer
}

// discard ends the sandbox that there is, or that is being started. It does so in
// the background, since that may take a moment; no run waits for it.
func (b *box) discard(end func(*sandbox.Session)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(end)
}

// drop is discard for a caller that holds the mutex.
func (b *box) drop(end func(*sandbox.Session)) {
	o := b.current
	b.current = nil
	if o == nil {
		return
	}
	b.tasks.Go(func() {
		<-o.done
		if o.session != nil {
			end(o.session)
		}
	})
}

// read reads a file of the sandbox.
func (b *box) read(ctx context.Context, name string) ([]byte, error) {
	b.mu.Lock()
	o := b.current
	b.mu.Unlock()
	if o == nil || o.ended() {
		return nil, errors.New("the session has ended, and its files with it")
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if o.err != nil {
		return nil, o.err
	}
	return o.session.Read(ctx, name)
}
