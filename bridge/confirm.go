package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"bridge/policy"
)

// An Answer is what a person says to a question.
type Answer int

// The answers. The zero one denies.
const (
	Deny   Answer = iota
	Once          // allow the calls that were shown
	Always        // and all others of the tool, until the run has ended
)

// A Question asks a person whether calls of one tool may be made.
type Question struct {
	Server string
	Tool   string
	Rule   policy.Pos        // that wants a person to be asked
	Calls  []json.RawMessage // the arguments of each
}

// Ask shows a question to a person and waits for the answer. An error means
// that nobody could be asked, or that nobody answered.
type Ask func(ctx context.Context, q Question) (Answer, error)

const (
	// patience bounds what a person may take for an answer.
	patience = 10 * time.Minute

	// gathering is how long a question waits for calls that are made at the
	// same time and belong into it.
	gathering = 30 * time.Millisecond

	maxShown = 2000 // bytes of arguments in a question
)

// Text is the question in words. What is not shown of it is counted.
func (q Question) Text() string {
	var b strings.Builder
	if len(q.Calls) == 1 {
		fmt.Fprintf(&b, "Allow a call of %s.%s with these arguments?\n", shown(q.Server), shown(q.Tool))
	} else {
		fmt.Fprintf(&b, "Allow %d calls of %s.%s with these arguments?\n", len(q.Calls), shown(q.Server), shown(q.Tool))
	}
	room := maxShown
	for i, args := range q.Calls {
		if i > 0 && len(args) > room {
			fmt.Fprintf(&b, "and %d more calls, whose arguments are not shown\n", len(q.Calls)-i)
			break
		}
		text := Visible(string(args))
		if len(text) > room {
			text = fmt.Sprintf("%s… (%d bytes in all)", first(text, room), len(args))
		}
		room -= len(text)
		b.WriteString(text + "\n")
	}
	fmt.Fprintf(&b, "The rule is at %s.", Visible(q.Rule.String()))
	return b.String()
}

// confirmer has a person confirm the calls of one run. One question at a time
// is shown; the run's clock stands still meanwhile.
type confirmer struct {
	ask      Ask
	patience time.Duration
	clock    *clock
	showing  chan struct{} // a lock, held while a question is shown

	mu      sync.Mutex // guards what follows
	open    map[string]*inquiry
	settled map[string]error // tools that hold until the run's end: nil is allowed
	absent  error            // nobody answered; nobody is asked again
}

// inquiry is a question and those who wait for its answer.
type inquiry struct {
	Question
	done chan struct{} // closed when err is set
	err  error
}

func newConfirmer(ask Ask, c *clock) *confirmer {
	return &confirmer{ask: ask, patience: patience, clock: c, showing: make(chan struct{}, 1), open: map[string]*inquiry{}, settled: map[string]error{}}
}

// confirm returns nil if a person allows the call. Calls of one tool that come
// together are one question.
func (c *confirmer) confirm(ctx context.Context, q Question, args json.RawMessage) error {
	key := q.Server + "\x00" + q.Tool
	c.mu.Lock()
	if err, ok := c.verdict(key); ok {
		c.mu.Unlock()
		return err
	}
	i, joined := c.open[key]
	if !joined {
		i = &inquiry{Question: q, done: make(chan struct{})}
		c.open[key] = i
	}
	i.Calls = append(i.Calls, args)
	c.mu.Unlock()
	if !joined {
		defer c.clock.pause()()
		i.err = c.put(ctx, key, i)
		close(i.done)
	}
	select {
	case <-i.done:
		return i.err
	case <-ctx.Done():
		return errStopped
	}
}

var errStopped = errors.New("the run was stopped before a person answered")

// verdict is what is settled of a tool. The caller holds the mutex.
func (c *confirmer) verdict(key string) (error, bool) {
	if err, ok := c.settled[key]; ok {
		return err, true
	}
	return c.absent, c.absent != nil
}

// put waits for the turn of a question, asks it, and keeps what is to hold for
// the rest of the run.
func (c *confirmer) put(ctx context.Context, key string, i *inquiry) error {
	timer := time.NewTimer(gathering)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	select {
	case c.showing <- struct{}{}:
		defer func() { <-c.showing }()
	case <-ctx.Done():
	}
	err, settled := c.close(key)
	switch {
	case ctx.Err() != nil:
		return errStopped
	case settled:
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	answer, err := c.ask(bounded, i.Question)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return errStopped
	case bounded.Err() != nil:
		c.absent = fmt.Errorf("nobody answered within %v, and nobody is asked again in this run", c.patience)
		return c.absent
	case err != nil:
		return err
	case answer == Always:
		c.settled[key] = nil
		return nil
	case answer == Once:
		return nil
	}
	c.settled[key] = errors.New("a person was asked and did not allow it; this run does not ask again")
	return c.settled[key]
}

// close ends the joining of a question, which holds from now on for the calls
// that it has, and tells whether it need not be asked any more.
func (c *confirmer) close(key string) (error, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, key)
	return c.verdict(key)
}
