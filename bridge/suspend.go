package bridge

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// suspended is a run that asks its agent's person by results: between two
// requests of the agent it goes on by itself, and its clock stands still while
// it waits for an answer.
type suspended struct {
	cancel       context.CancelFunc
	elicitations chan *elicitation
	ended        chan struct{} // closed when report is set
	report       *Report
	shown        *elicitation // what the result was that is to be answered

	left    chan struct{} // closed when the agent is not expected back
	leaving sync.Once
}

// elicitation is a question to the agent's person that waits for an answer.
type elicitation struct {
	Question
	answer chan Answer
}

// confirmID names the one input that a result asks for.
const confirmID = "confirm"

// maxSuspended bounds the runs that have ended and were not asked for.
const maxSuspended = 8

// suspendable makes a run that is not bound to the request that begins it.
func (b *Bridge) suspendable(ctx context.Context, r Request, stream Stream) *mcp.CallToolResult {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &suspended{cancel: cancel, elicitations: make(chan *elicitation), ended: make(chan struct{}), left: make(chan struct{})}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		cancel()
		return b.toolResult((&Report{Profile: b.session.policy.profile()}).failed(errClosing))
	}
	b.runs.Go(func() {
		defer cancel()
		defer close(s.ended)
		s.report = b.Run(own, r, stream, s.ask)
	})
	b.mu.Unlock()
	return b.await(ctx, s)
}

var errLeft = errors.New("the agent did not come back with an answer, and another run waits")

// ask is the Ask of the run.
func (s *suspended) ask(ctx context.Context, q Question) (Answer, error) {
	a := &elicitation{Question: q, answer: make(chan Answer, 1)}
	select {
	case s.elicitations <- a:
	case <-s.left:
		return Deny, errLeft
	case <-ctx.Done():
		return Deny, ctx.Err()
	}
	select {
	case answer := <-a.answer:
		return answer, nil
	case <-s.left:
		return Deny, errLeft
	case <-ctx.Done():
		return Deny, ctx.Err()
	}
}

// giveUp ends the wait of runs for agents that have not come back, because
// another run has waited long for its turn. Only here can an agent have left
// without a word: in a request that is open it would be cancelled.
func (b *Bridge) giveUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.suspended {
		s.leaving.Do(func() { close(s.left) })
	}
}

// await gives the result of a run, or the result that asks what it waits for.
// When the request is cancelled meanwhile, so is the run.
func (b *Bridge) await(ctx context.Context, s *suspended) *mcp.CallToolResult {
	detach := context.AfterFunc(ctx, s.cancel)
	select {
	case <-s.ended:
		detach()
		return b.toolResult(s.report)
	case s.shown = <-s.elicitations:
	}
	if !detach() {
		<-s.ended
		return b.toolResult(s.report)
	}
	return b.suspend(s)
}

// suspend keeps a run for when the agent comes back with an answer.
func (b *Bridge) suspend(s *suspended) *mcp.CallToolResult {
	token := rand.Text()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.suspended) >= maxSuspended {
		for t, other := range b.suspended {
			if other.over() {
				delete(b.suspended, t)
			}
		}
	}
	b.suspended[token] = s
	return server.NewInputRequestBuilder(token).Elicit(confirmID, s.shown.form()).ToolResult()
}

func (s *suspended) over() bool { return isClosed(s.ended) }

// resume takes the agent's answer to what a run has asked, and goes on waiting
// for the run. An agent that brings no answer is asked again.
func (b *Bridge) resume(ctx context.Context, token string, answers mcp.InputResponses) *mcp.CallToolResult {
	b.mu.Lock()
	s := b.suspended[token]
	delete(b.suspended, token)
	b.mu.Unlock()
	if s == nil {
		return b.toolResult((&Report{Profile: b.session.policy.profile()}).invalid(errors.New("no run waits for this answer: it was given before, or is too late; nothing ran")))
	}
	answer := server.ElicitationResponse(answers, confirmID)
	if answer == nil && !s.over() {
		return b.suspend(s)
	}
	if answer != nil {
		s.shown.answer <- answerOf(answer)
	}
	return b.await(ctx, s)
}
