package bridge

import (
	"context"
	"sync"
	"time"
)

// A clock is the time that a run may take. It stands still while a person is
// being asked.
type clock struct {
	stop context.CancelCauseFunc

	mu     sync.Mutex // guards what follows
	left   time.Duration
	since  time.Time // when the timer was started
	timer  *time.Timer
	paused int // by how many
}

// newClock starts a clock. The context ends as one with a timeout does, but
// that its Err is Canceled: only its Cause is DeadlineExceeded.
func newClock(ctx context.Context, timeout time.Duration) (*clock, context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	c := &clock{stop: stop, left: timeout}
	c.start()
	return c, ctx, func() {
		c.pause() // for good
		stop(context.Canceled)
	}
}

// start lets the clock run. The caller holds the mutex, or nobody else knows
// the clock yet.
func (c *clock) start() {
	c.since = time.Now()
	c.timer = time.AfterFunc(c.left, func() { c.stop(context.DeadlineExceeded) })
}

// pause stops the clock, and returns what lets it run again.
func (c *clock) pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused++; c.paused == 1 && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.paused--; c.paused == 0 {
			c.start()
		}
	}
}
