package bridge

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A run whose agent has left without a word is given up when another has waited
// for a minute, and so are its further questions.
func TestRunOfAnAgentThatHasLeftIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Bridge{suspended: map[string]*suspended{}}
		s := &suspended{elicitations: make(chan *elicitation), ended: make(chan struct{}), left: make(chan struct{})}
		go func() {
			defer close(s.ended)
			for range 2 {
				if answer, err := s.ask(t.Context(), Question{}); answer != Deny || err != errLeft {
					t.Errorf("%v, %v", answer, err)
				}
			}
		}()
		if r := b.await(t.Context(), s); r.RequestState == "" {
			t.Fatal("the result asks nothing")
		}
		time.AfterFunc(impatience, b.giveUp)
		began := time.Now()
		<-s.ended
		if waited := time.Since(began); waited != impatience {
			t.Errorf("given up after %v", waited)
		}
	})
}

// An agent that cancels its request cancels the run; one that has its answer,
// the question, does not.
func TestRunIsCancelledWithItsRequestOnly(t *testing.T) {
	b := &Bridge{suspended: map[string]*suspended{}}
	own, cancel := context.WithCancel(t.Context())
	s := &suspended{cancel: cancel, elicitations: make(chan *elicitation), ended: make(chan struct{}), left: make(chan struct{})}
	go func() {
		s.ask(own, Question{})
		<-own.Done()
		s.report = &Report{Status: Cancelled}
		close(s.ended)
	}()
	first, leave := context.WithCancel(t.Context())
	token := b.await(first, s).RequestState
	leave() // as every request's context ends
	if own.Err() != nil {
		t.Fatal("the run is cancelled with a request that was answered")
	}
	if r := b.resume(t.Context(), token, nil); r.RequestState == "" || r.RequestState == token {
		t.Errorf("an answer that is missing is not asked for again: %v", r)
	}
	second, leave := context.WithCancel(t.Context())
	leave()
	s.shown.answer <- Once
	if r := b.await(second, s); !r.IsError || own.Err() == nil {
		t.Errorf("not cancelled: %v", r)
	}
}
