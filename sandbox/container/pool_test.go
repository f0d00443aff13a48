package container

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// countedPool is one of numbers, which counts what is made and what is dropped.
type countedPool struct {
	*Pool[int]
	made, dropped atomic.Int64
}

func newCountedPool() *countedPool {
	s := &countedPool{}
	s.Pool = NewPool(func(int) { s.dropped.Add(1) })
	return s
}

func (s *countedPool) create(context.Context) (int, error) { return int(s.made.Add(1)), nil }

func (s *countedPool) check(t *testing.T, made, dropped int64) {
	t.Helper()
	s.Close()
	if s.made.Load() != made || s.dropped.Load() != dropped {
		t.Errorf("%d made and %d dropped, want %d and %d", s.made.Load(), s.dropped.Load(), made, dropped)
	}
}

func TestTaken(t *testing.T) {
	s := newCountedPool()
	if _, ok := s.Take(t.Context(), "a"); ok {
		t.Error("taken from an empty pool")
	}
	for range 2 {
		if err := s.Put(t.Context(), "a", s.create); err != nil {
			t.Error(err)
		}
	}
	if _, ok := s.Take(t.Context(), "b"); ok {
		t.Error("taken by another key")
	}
	if n, ok := s.Take(t.Context(), "a"); n != 1 || !ok {
		t.Errorf("taken: %d %v", n, ok)
	}
	if _, ok := s.Take(t.Context(), "a"); ok {
		t.Error("taken twice")
	}
	s.check(t, 1, 0)
}

func TestReplaced(t *testing.T) {
	s := newCountedPool()
	s.Put(t.Context(), "a", s.create)
	s.Put(t.Context(), "b", s.create)
	if n, ok := s.Take(t.Context(), "b"); n != 2 || !ok {
		t.Errorf("taken: %d %v", n, ok)
	}
	s.check(t, 2, 1)
}

func TestNotMade(t *testing.T) {
	s := newCountedPool()
	no := errors.New("no")
	if err := s.Put(t.Context(), "a", func(context.Context) (int, error) { return 0, no }); err != no {
		t.Error(err)
	}
	if _, ok := s.Take(t.Context(), "a"); ok {
		t.Error("taken what was not made")
	}
	s.Put(t.Context(), "a", s.create)
	s.check(t, 1, 1)
	s.Put(t.Context(), "a", s.create)
	s.check(t, 1, 1)
}

// TestSlow takes a spare that is made only when it has to end.
func TestSlow(t *testing.T) {
	s := newCountedPool()
	begun := make(chan struct{})
	slow := func(ctx context.Context) (int, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return s.create(ctx)
	}
	go s.Put(t.Context(), "a", slow)
	<-begun
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := s.Take(over, "a"); ok {
		t.Error("taken before it was made")
	}
	go s.Put(t.Context(), "a", slow)
	<-begun
	taken := make(chan bool)
	go func() {
		_, ok := s.Take(t.Context(), "a")
		taken <- ok
	}()
	s.Close()
	want := int64(2)
	if <-taken { // before it was dropped
		want = 1
	}
	s.check(t, 2, want)
}

// TestNoneIsLost puts and takes at once: each that was made was taken or
// dropped, and none was both.
func TestNoneIsLost(t *testing.T) {
	s := newCountedPool()
	var taken atomic.Int64
	var all sync.WaitGroup
	for n := range 8 {
		key := string(rune('a' + n%3))
		all.Go(func() {
			for range 200 {
				s.Put(t.Context(), key, s.create)
				if _, ok := s.Take(t.Context(), key); ok {
					taken.Add(1)
				}
			}
		})
	}
	all.Wait()
	s.Close()
	if made := s.made.Load(); made != taken.Load()+s.dropped.Load() || taken.Load() == 0 {
		t.Errorf("%d made, %d taken, %d dropped", made, taken.Load(), s.dropped.Load())
	}
}
