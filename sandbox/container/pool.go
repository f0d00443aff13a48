package container

import (
	"context"
	"fmt"
	"sync"

	"bridge/sandbox"
)

// Pool keeps one warm container: made ahead, all but started, for the next Start
// of the same key. It is safe for use by several goroutines.
type Pool[T any] struct {
	drop func(T)
	busy sync.WaitGroup // with making and dropping

	mu     sync.Mutex // guards what follows
	closed bool
	warm   *item[T] // nil: nothing is there or being made
	making map[*item[T]]bool
}

// item is a warm container, or one that is being made.
type item[T any] struct {
	key  string
	stop context.CancelFunc
	done chan struct{} // closed when it is made, or could not be

	// Guarded by the pool's mutex.
	unwanted bool
	made     bool
	thing    T
}

// key identifies a spec and arguments in a Pool.
func key(spec sandbox.Spec, args []string) string { return fmt.Sprintf("%#v %q", spec, args) }

// NewPool returns an empty pool. What is made and not taken is given to drop.
func NewPool[T any](drop func(T)) *Pool[T] {
	return &Pool[T]{drop: drop, making: map[*item[T]]bool{}}
}

// Put makes a warm container for a key and returns when it is there. One of the
// same key stays; one of another key is dropped.
func (p *Pool[T]) Put(ctx context.Context, key string, create func(ctx context.Context) (T, error)) error {
	p.mu.Lock()
	if p.closed || p.warm != nil && p.warm.key == key && (p.warm.made || p.making[p.warm]) {
		p.mu.Unlock()
		return nil
	}
	p.clear()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	i := &item[T]{key: key, stop: stop, done: make(chan struct{})}
	p.warm, p.making[i] = i, true
	p.busy.Add(1)
	defer p.busy.Done()
	p.mu.Unlock()
	thing, err := create(ctx)
	p.mu.Lock()
	delete(p.making, i)
	i.thing, i.made = thing, err == nil
	unwanted := i.unwanted
	close(i.done)
	p.mu.Unlock()
	if unwanted && err == nil {
		p.drop(thing)
	}
	return err
}

// Take returns the warm container of a key, if there is one. It waits for one
// that is being made, which takes no longer than to make another.
func (p *Pool[T]) Take(ctx context.Context, key string) (thing T, ok bool) {
	p.mu.Lock()
	i := p.warm
	if i == nil || i.key != key {
		p.mu.Unlock()
		return thing, false
	}
	p.warm = nil
	p.mu.Unlock()
	select {
	case <-i.done:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.making[i] {
		p.discard(i)
	}
	return i.thing, i.made
}

// Close drops the warm container and waits until it is gone. The pool makes no
// more.
func (p *Pool[T]) Close() {
	p.mu.Lock()
	p.closed = true
	p.clear()
	for i := range p.making {
		i.stop()
	}
	p.mu.Unlock()
	p.busy.Wait()
}

// clear empties the pool.
func (p *Pool[T]) clear() {
	if p.warm != nil {
		p.discard(p.warm)
		p.warm = nil
	}
}

// discard drops an item in the background.
func (p *Pool[T]) discard(i *item[T]) {
	i.stop()
	i.unwanted = true
	if i.made {
		p.busy.Go(func() { p.drop(i.thing) })
	}
}
