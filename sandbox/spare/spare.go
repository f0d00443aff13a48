// Package spare keeps one sandbox that is made before anybody wants it, all but
// started, so that the next start has little left to do.
//
// It knows when one is made, taken and thrown away. It does not know engines.
package spare

import (
	"context"
	"sync"
)

// Shelf has room for one spare. It is safe for use by several goroutines.
type Shelf[T any] struct {
	drop func(T)
	busy sync.WaitGroup // with making and dropping

	mu     sync.Mutex // guards what follows
	closed bool
	place  *item[T] // nil: nothing is there or on its way
	making map[*item[T]]bool
}

// item is a spare, or one that is being made.
type item[T any] struct {
	key  string
	stop context.CancelFunc
	done chan struct{} // closed when it is made, or known that it cannot be

	// Guarded by the shelf's mutex.
	unwanted bool
	made     bool
	thing    T
}

// New returns an empty shelf. What is made and not taken is given to drop.
func New[T any](drop func(T)) *Shelf[T] {
	return &Shelf[T]{drop: drop, making: map[*item[T]]bool{}}
}

// Put makes a spare for whoever asks for its key, and returns when it is there.
// One of the same key that is there already stays; one of another is dropped.
func (s *Shelf[T]) Put(ctx context.Context, key string, create func(ctx context.Context) (T, error)) error {
	s.mu.Lock()
	if s.closed || s.place != nil && s.place.key == key && (s.place.made || s.making[s.place]) {
		s.mu.Unlock()
		return nil
	}
	s.clear()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	i := &item[T]{key: key, stop: stop, done: make(chan struct{})}
	s.place, s.making[i] = i, true
	s.busy.Add(1)
	defer s.busy.Done()
	s.mu.Unlock()
	thing, err := create(ctx)
	s.mu.Lock()
	delete(s.making, i)
	i.thing, i.made = thing, err == nil
	unwanted := i.unwanted
	close(i.done)
	s.mu.Unlock()
	if unwanted && err == nil {
		s.drop(thing)
	}
	return err
}

// Take hands over the spare of a key. One that is still being made is waited
// for, which takes no longer than to begin anew.
func (s *Shelf[T]) Take(ctx context.Context, key string) (thing T, ok bool) {
	s.mu.Lock()
	i := s.place
	if i == nil || i.key != key {
		s.mu.Unlock()
		return thing, false
	}
	s.place = nil
	s.mu.Unlock()
	select {
	case <-i.done:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.making[i] {
		s.discard(i)
	}
	return i.thing, i.made
}

// Close drops the spare that is there, and waits until nothing of it is left.
// None is made any more.
func (s *Shelf[T]) Close() {
	s.mu.Lock()
	s.closed = true
	s.clear()
	for i := range s.making {
		i.stop()
	}
	s.mu.Unlock()
	s.busy.Wait()
}

// clear empties the shelf.
func (s *Shelf[T]) clear() {
	if s.place != nil {
		s.discard(s.place)
		s.place = nil
	}
}

// discard ends what nobody takes any more, in the background.
func (s *Shelf[T]) discard(i *item[T]) {
	i.stop()
	i.unwanted = true
	if i.made {
		s.busy.Go(func() { s.drop(i.thing) })
	}
}
