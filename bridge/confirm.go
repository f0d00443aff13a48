package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

	maxShown = 8000 // bytes of arguments in a question, as they are shown
)

// Text is the question in words, with all arguments in full.
func (q Question) Text() string {
	var b strings.Builder
	if len(q.Calls) == 1 {
		fmt.Fprintf(&b, "Allow a call of %s.%s with these arguments?\n", shown(q.Server), shown(q.Tool))
	} else {
		fmt.Fprintf(&b, "Allow %d calls of %s.%s with these arguments?\n", len(q.Calls), shown(q.Server), shown(q.Tool))
	}
	for _, args := range q.Calls {
		b.WriteString(Visible(string(args)) + "\n")
	}
	fmt.Fprintf(&b, "The rule is at %s.", Visible(q.Rule.String()))
	return b.String()
}

// parts are questions that each show some of the calls, of which none is too large
// to be shown.
func (q Question) parts() []Question {
	var all []Question
	room := 0
	for _, args := range q.Calls {
		size := len(Visible(string(args)))
		if len(all) == 0 || size > room {
			part := q
			part.Calls = nil
			all, room = append(all, part), maxShown
		}
		last := &all[len(all)-1]
		last.Calls = append(last.Calls, args)
		room -= size
	}
	return all
}

// A confirmation is what a person was shown of a call, and what the answer was.
type confirmation struct {
	SHA256 string `json:"sha256"` // of the question's text
	Answer string `json:"answer"` // "once", "run", "deny", or "none" if there was none
}

func newConfirmation(q Question, answer string) *confirmation {
	sum := sha256.Sum256([]byte(q.Text()))
	return &confirmation{hex.EncodeToString(sum[:]), answer}
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
	done     chan struct{} // closed when verdicts are set
	verdicts []verdict     // one for each call
}

// verdict is what came of one call of a question.
type verdict struct {
	confirmation *confirmation // nil: it was not shown
	err          error
}

func newConfirmer(ask Ask, c *clock) *confirmer {
	return &confirmer{ask: ask, patience: patience, clock: c, showing: make(chan struct{}, 1), open: map[string]*inquiry{}, settled: map[string]error{}}
}

// confirm returns no error if a person allows the call, and what the person was
// shown. Calls of one tool that come together are one question, or several if one
// cannot show all of their arguments.
func (c *confirmer) confirm(ctx context.Context, q Question, args json.RawMessage) (*confirmation, error) {
	if size := len(Visible(string(args))); size > maxShown {
		return nil, fmt.Errorf("a person must confirm it, but its arguments have %d bytes, and a question shows at most %d", size, maxShown)
	}
	key := q.Server + "\x00" + q.Tool
	c.mu.Lock()
	if err, ok := c.verdict(key); ok {
		c.mu.Unlock()
		return nil, err
	}
	i, joined := c.open[key]
	if !joined {
		i = &inquiry{Question: q, done: make(chan struct{})}
		c.open[key] = i
	}
	mine := len(i.Calls)
	i.Calls = append(i.Calls, args)
	c.mu.Unlock()
	if !joined {
		defer c.clock.pause()()
		i.verdicts = c.put(ctx, key, i)
		close(i.done)
	}
	select {
	case <-i.done:
		return i.verdicts[mine].confirmation, i.verdicts[mine].err
	case <-ctx.Done():
		return nil, errStopped
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

// put waits until no other question is shown, and asks this one, part by part. It
// returns the verdict on each call.
func (c *confirmer) put(ctx context.Context, key string, i *inquiry) (verdicts []verdict) {
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
	for _, part := range i.parts() {
		v := verdict{err: err} // of what need not be shown any more
		if !settled {
			v, settled = c.show(ctx, key, part)
			err = v.err
		}
		for range part.Calls {
			verdicts = append(verdicts, v)
		}
	}
	return verdicts
}

// show shows one part of a question. It keeps what is to hold for the rest of the
// run, and reports whether that settles the other parts as well.
func (c *confirmer) show(ctx context.Context, key string, part Question) (v verdict, settled bool) {
	if ctx.Err() != nil {
		return verdict{err: errStopped}, true
	}
	bounded, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	answer, err := c.ask(bounded, part)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return verdict{newConfirmation(part, "none"), errStopped}, true
	case bounded.Err() != nil:
		c.absent = fmt.Errorf("nobody answered within %v, and nobody is asked again in this run", c.patience)
		return verdict{newConfirmation(part, "none"), c.absent}, true
	case err != nil:
		return verdict{err: err}, true
	case answer == Always:
		c.settled[key] = nil
		return verdict{newConfirmation(part, answerAlways), nil}, true
	case answer == Once:
		return verdict{newConfirmation(part, answerOnce), nil}, false
	}
	c.settled[key] = errors.New("a person was asked and did not allow it; this run does not ask again")
	return verdict{newConfirmation(part, answerDeny), c.settled[key]}, true
}

// close ends the joining of a question, which holds from now on for the calls
// that it has, and tells whether it need not be asked any more.
func (c *confirmer) close(key string) (error, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, key)
	return c.verdict(key)
}
