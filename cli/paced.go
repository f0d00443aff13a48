package cli

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// perSecond is how many lines of one level the log has in a second: what servers
// and code bring about must not fill the disk of whoever keeps the log.
const perSecond = 100

// paced is a log that leaves out lines which are too many, and says how many.
type paced struct {
	slog.Handler
	*pace
}

// pace is how many lines there were lately, for a handler and those that are
// made from it.
type pace struct {
	whole slog.Handler // that the count of what was left out is written to

	mu    sync.Mutex // guards what follows
	since time.Time
	lines map[slog.Level]int
	left  map[slog.Level]int
	timer *time.Timer // tells the count when the second is over, if nothing else does
}

func newPaced(h slog.Handler) paced {
	return paced{h, &pace{whole: h, lines: map[slog.Level]int{}, left: map[slog.Level]int{}}}
}

// Handle writes a line, unless there were too many of its level in this second.
func (p paced) Handle(ctx context.Context, r slog.Record) error {
	if !p.room(r.Level) {
		return nil
	}
	return p.Handler.Handle(ctx, r)
}

func (p *pace) room(level slog.Level) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.Sub(p.since) >= time.Second {
		p.tell()
		p.since = now
		clear(p.lines)
	}
	if p.lines[level]++; p.lines[level] <= perSecond {
		return true
	}
	p.left[level]++
	if p.timer == nil {
		p.timer = time.AfterFunc(time.Second, p.flush)
	}
	return false
}

// flush tells what was left out until now.
func (p *pace) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell()
}

// tell says how many lines were left out. The caller holds the mutex.
func (p *pace) tell() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	for level, n := range p.left {
		r := slog.NewRecord(time.Now(), level, "lines of the log were left out: there were too many", 0)
		r.AddAttrs(slog.Int("lines", n), slog.Int("perSecond", perSecond))
		p.whole.Handle(context.Background(), r)
	}
	clear(p.left)
}

// WithAttrs is the same log with more in each line.
func (p paced) WithAttrs(attrs []slog.Attr) slog.Handler {
	return paced{p.Handler.WithAttrs(attrs), p.pace}
}

// WithGroup is the same log with the attributes that follow in a group.
func (p paced) WithGroup(name string) slog.Handler {
	return paced{p.Handler.WithGroup(name), p.pace}
}
