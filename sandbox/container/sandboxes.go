package container

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/reaper"
)

// sweepTime bounds a sweep that nobody waits for.
const sweepTime = 20 * time.Second

// Box is the sandbox of an engine that runs containers.
type Box interface {
	comparable
	Name() string // of its container
	Kill()
	Abandon() // takes back a container that was not started
}

// Sandboxes are all that one engine has, from before their containers are made
// until nothing of them is left; with them come the pool of warm ones, and the
// processes that remove the containers if this process is killed. They are safe
// for use by several goroutines.
type Sandboxes[B Box] struct {
	Owner string // the value of their OwnerLabel

	engine string
	log    *slog.Logger
	pool   *Pool[B]
	work   sync.WaitGroup // what Close waits for: sandboxes and tasks

	reaping sync.Mutex // held while a reaper is started

	mu      sync.Mutex // guards what follows
	closed  bool
	live    map[string]B // by name
	keepers []*reaper.Keeper
}

// NewSandboxes returns those of an engine that has made none.
func NewSandboxes[B Box](engine string, log *slog.Logger) *Sandboxes[B] {
	return &Sandboxes[B]{Owner: NewOwner(), engine: engine, log: log, pool: NewPool(B.Abandon), live: map[string]B{}}
}

// ErrClosed is the error of an engine that is closed.
var ErrClosed = errors.New("is closed")

func (s *Sandboxes[B]) errClosed() error { return fmt.Errorf("the %s engine %w", s.engine, ErrClosed) }

// Closed is an error if the engine is closed.
func (s *Sandboxes[B]) Closed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.errClosed()
	}
	return nil
}

// Over is an error if the engine is closed and has nothing to end any more.
func (s *Sandboxes[B]) Over() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed && len(s.live) == 0 {
		return s.errClosed()
	}
	return nil
}

// Task runs f in the background. Close waits for it; a closed engine does not
// run it.
func (s *Sandboxes[B]) Task(f func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.errClosed()
	}
	s.work.Go(f)
	return nil
}

// Add makes a box one of them, before its container is made.
func (s *Sandboxes[B]) Add(b B) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.errClosed()
	}
	s.live[b.Name()] = b
	s.work.Add(1)
	return nil
}

// Drop takes a box away, when nothing can be done about its container any more.
func (s *Sandboxes[B]) Drop(b B) {
	s.mu.Lock()
	delete(s.live, b.Name())
	s.mu.Unlock()
	s.work.Done()
}

// Close kills all sandboxes, and waits for their ends and for the tasks. None
// can be added any more. The reapers are ended by End.
func (s *Sandboxes[B]) Close() {
	s.mu.Lock()
	s.closed = true
	for _, b := range s.live {
		b.Kill()
	}
	s.mu.Unlock()
	s.pool.Close()
	s.work.Wait()
}

// Prepare makes a warm container for the next start of the same spec and
// arguments. A spec with mounts has none: a folder of the host may be another
// one by the time the container is started.
func (s *Sandboxes[B]) Prepare(ctx context.Context, spec sandbox.Spec, args []string, create func(context.Context) (B, error)) error {
	if len(spec.Mounts) > 0 {
		return nil
	}
	return s.pool.Put(ctx, key(spec, args), create)
}

// Warm starts the warm container of a spec, if there is one and it is as it
// would be made now.
func (s *Sandboxes[B]) Warm(ctx context.Context, spec sandbox.Spec, args []string, current func(B) bool, start func(B) error) (b B, ok bool) {
	if b, ok = s.pool.Take(ctx, key(spec, args)); !ok {
		return b, false
	}
	if !current(b) {
		b.Abandon()
		return b, false
	}
	if err := start(b); err != nil {
		s.log.Debug("a warm sandbox does not start", "cause", err)
		return b, false
	}
	return b, true
}

// Reap returns the process that outlives this one to remove its containers from
// the engine at a socket, and starts it if need be. Orders without a socket
// always start one.
func (s *Sandboxes[B]) Reap(ctx context.Context, o reaper.Orders, env []string) (*reaper.Keeper, error) {
	s.reaping.Lock()
	defer s.reaping.Unlock()
	if err := s.Over(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	at := slices.IndexFunc(s.keepers, func(k *reaper.Keeper) bool { return o.Socket != "" && k.Socket == o.Socket && !k.Ended() })
	if at >= 0 {
		defer s.mu.Unlock()
		return s.keepers[at], nil
	}
	s.mu.Unlock()
	o.Label = OwnerLabel + "=" + s.Owner
	k, err := reaper.Start(ctx, o, env)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keepers = append(s.keepers, k)
	return k, nil
}

// End ends a reaper, or all of them if none is given.
func (s *Sandboxes[B]) End(one *reaper.Keeper) {
	s.reaping.Lock()
	defer s.reaping.Unlock()
	s.mu.Lock()
	var ended []*reaper.Keeper
	s.keepers = slices.DeleteFunc(s.keepers, func(k *reaper.Keeper) bool {
		if one == nil || k == one {
			ended = append(ended, k)
			return true
		}
		return false
	})
	s.mu.Unlock()
	for _, k := range ended {
		k.Close()
	}
}

// Listed is a container that an engine has.
type Listed struct {
	ID, Owner string
	Name      string // as the engine gives it: some write a slash before it
}

// Sweep removes those of the engine's containers that nobody looks after any
// more: whose bridge has certainly ended, or which this engine has given up.
func (s *Sandboxes[B]) Sweep(all []Listed, remove func(id string) bool) error {
	var left []string
	var again error
	for _, c := range all {
		if !s.orphan(c) {
			continue
		}
		again = errAgain
		s.log.Info("removing a container that was left behind", "container", c.ID, "owner", c.Owner)
		if !remove(c.ID) {
			left = append(left, c.ID[:12])
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("%s has not removed what ended bridges have left; run: %s rm -f %s", s.engine, s.engine, strings.Join(left, " "))
	}
	return again
}

// errAgain has a sweep look once more whether what was removed is gone: docker
// that has just been started brings back what it was still about to restore.
var errAgain = errors.New("what was removed may have come back")

func (s *Sandboxes[B]) orphan(c Listed) bool {
	if c.Owner != s.Owner {
		return Gone(c.Owner)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, is := s.live[strings.TrimPrefix(c.Name, "/")]
	return !is
}

// SweepLater runs a sweep in the background, unless the engine is closed. It is
// tried again for a while: a service that has just come up may not be ready.
func (s *Sandboxes[B]) SweepLater(sweep func(context.Context) error) {
	s.Task(func() {
		ctx, cancel := context.WithTimeout(context.Background(), sweepTime)
		defer cancel()
		var err error
		for wait := 100 * time.Millisecond; s.Closed() == nil; wait = min(2*wait, 500*time.Millisecond) {
			if err = sweep(ctx); err == nil {
				return
			}
			select {
			case <-ctx.Done():
				s.log.Warn("containers of bridges that are gone could not be removed", "cause", err)
				return
			case <-time.After(wait):
			}
		}
	})
}
