package upstream

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

const (
	// largeSize is from how many bytes on a message takes turns with others.
	largeSize = 1 << 20
	// maxLarge bounds the bytes of large messages that are kept for who asked for
	// them. The one that is being read comes on top.
	maxLarge = 16 << 20
	// largeTime bounds the reading of a large message: others wait for it.
	largeTime = 30 * time.Second
)

var errSlow = errors.New("did not end a message within " + largeTime.String())

// largeMessages bounds what the large messages of all servers take: one is read
// at a time, and none while too much of those before is still kept.
type largeMessages struct {
	turn chan struct{} // held by the message that is being read

	mu    sync.Mutex // guards what follows
	kept  int
	freed chan struct{} // closed, and made anew, when less is kept
}

func newLargeMessages() *largeMessages {
	return &largeMessages{turn: make(chan struct{}, 1), freed: make(chan struct{})}
}

// enter waits for the turn of a message. It is false if done is closed first.
func (l *largeMessages) enter(done <-chan struct{}) bool {
	select {
	case l.turn <- struct{}{}:
	case <-done:
		return false
	}
	for {
		l.mu.Lock()
		full, freed := l.kept >= maxLarge, l.freed
		l.mu.Unlock()
		if !full {
			return true
		}
		select {
		case <-freed:
		case <-done:
			l.leave()
			return false
		}
	}
}

func (l *largeMessages) leave() { <-l.turn }

// keep counts a message, if it is large, until a context ends.
func (l *largeMessages) keep(until context.Context, bytes int) {
	if bytes < largeSize {
		return
	}
	l.mu.Lock()
	l.kept += bytes
	l.mu.Unlock()
	context.AfterFunc(until, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.kept -= bytes
		close(l.freed)
		l.freed = make(chan struct{})
	})
}

type untilKey struct{}

// Until makes the large results of calls under the context count as kept until
// another one ends: when nothing is left of them.
func Until(ctx, until context.Context) context.Context {
	return context.WithValue(ctx, untilKey{}, until)
}

func until(ctx context.Context) context.Context {
	if until, ok := ctx.Value(untilKey{}).(context.Context); ok {
		return until
	}
	return ctx
}

// largeBody is the body of an answer over HTTP. Its messages end with an empty
// line, or with the body.
type largeBody struct {
	io.ReadCloser
	all  *largeMessages
	done <-chan struct{}

	length int  // of the message so far
	last   byte // that was read
	line   int  // bytes of the line so far

	mu    sync.Mutex // guards what follows
	late  *time.Timer
	ended bool
}

func (b *largeBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for _, c := range p[:n] {
		b.length++
		switch {
		case c == '\n' && b.last == '\r':
		case c == '\n' || c == '\r':
			if b.line == 0 {
				b.length = 0
			}
			b.line = 0
		default:
			b.line++
		}
		b.last = c
	}
	switch {
	case b.length < largeSize || err != nil:
		b.leave(false)
	case !b.enter():
		return 0, errSlow
	}
	return n, err
}

// body has the messages of an answer take turns with others if they are large.
func (c *conn) body(of io.ReadCloser, done <-chan struct{}) io.ReadCloser {
	return &largeBody{ReadCloser: of, all: c.server.set.large, done: done}
}

// enter takes the turn, unless the message has it.
func (b *largeBody) enter() bool {
	b.mu.Lock()
	within, ended := b.late != nil, b.ended
	b.mu.Unlock()
	if within || ended {
		return !ended
	}
	if !b.all.enter(b.done) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		b.all.leave()
		return false
	}
	b.late = time.AfterFunc(largeTime, func() { b.Close() })
	return true
}

// leave gives the turn back, if the message has it.
func (b *largeBody) leave(end bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = b.ended || end
	if b.late != nil {
		b.late.Stop()
		b.late = nil
		b.all.leave()
	}
}

// Close ends the reading.
func (b *largeBody) Close() error {
	b.leave(true)
	return b.ReadCloser.Close()
}
