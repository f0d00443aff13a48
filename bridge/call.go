package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"bridge/policy"
	"bridge/sandbox"
	"bridge/upstream"
)

// attempt is one tools/call, or resources/read, that code asked for, and what
// became of it.
type attempt struct {
	server mount
	tool   string
	uri    string          // of the resource, which is read; then there is no tool
	args   json.RawMessage // as they are sent, once the policy has allowed them
	rule   policy.Rule     // that allows it; the zero one if none does
	began  time.Time
	sent   time.Time // zero if it was not
	state  string    // as in a Call
	bytes  int       // of the result that code was given
	err    error     // why it has no result, as code is told
	denied error     // the policy's own word, if it denied it
	number int       // in the audit log, if it was written down before it was sent

	confirmation *confirmation // nil if no person was shown it

	set func(state string) // notes it in the run's record, too
}

func (a *attempt) name() string {
	if a.uri != "" {
		return fmt.Sprintf("resource %s of %s", clip(a.uri), a.server.Name)
	}
	return a.server.Name + "." + a.tool
}

// call makes one tools/call if the policy allows it.
func (g *gate) call(ctx context.Context, run *run, name, tool string, args json.RawMessage) (any, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	return g.attempt(ctx, run, name, &attempt{tool: tool, args: args})
}

// attempt makes a call, or reads a resource, if the policy allows it.
func (g *gate) attempt(ctx context.Context, run *run, name string, a *attempt) (any, error) {
	a.began, a.state = time.Now(), neverSent
	s, err := g.server(run, name)
	if err != nil {
		a.server.Name, a.err = name, err
		if _, mounted := find(run.mounted, name); !mounted {
			a.denied = &policy.UnknownServer{Server: name, Profile: run.profile.Name}
		}
		g.ended(run, a)
		return nil, err
	}
	a.server = s
	ctx = upstream.Until(ctx, ctx) // which lasts until the session has room for the result
	note := run.add(s.Name, cmp.Or(a.tool, a.uri))
	a.set = func(state string) { a.state = state; note(state) }
	result, err := g.try(ctx, run, a)
	a.bytes, a.err = len(result), err
	g.ended(run, a)
	if err != nil {
		return nil, err
	}
	return result, nil
}

// ended logs an attempt, once, when it is over.
func (g *gate) ended(run *run, a *attempt) {
	run.entry.call(a)
	level := slog.LevelDebug
	attrs := []any{"server", a.server.Name, "tool", clip(cmp.Or(a.tool, a.uri)), "state", a.state, "after", time.Since(a.began).Round(time.Microsecond), "bytes", a.bytes}
	if a.rule.Pos != (policy.Pos{}) {
		attrs = append(attrs, "rule", a.rule.Pos)
	}
	var refused *sandbox.Error
	if errors.As(a.err, &refused) {
		attrs = append(attrs, "refused", refused.Kind)
	}
	g.log.Log(context.Background(), level, "a call", attrs...)
}

// try takes a call through all that must allow it, in this order: the policy's
// rules, the server's own word on the tool, the budgets, a person, and a turn.
func (g *gate) try(ctx context.Context, run *run, a *attempt) (json.RawMessage, error) {
	s, tool := a.server, a.tool
	if a.uri == "" {
		// First, so that the policy is not asked about names without end.
		if err := g.misspelt(ctx, run, s, tool); err != nil {
			return nil, err
		}
	}
	if err := g.check(run, a); err != nil {
		return nil, err
	}
	if a.uri == "" {
		if err := g.known(ctx, run, a); err != nil {
			return nil, err
		}
	}
	budgets := shares(run.profile, s.Name, a.rule)
	reserved, err := g.budget.reserve(g.denied(run, a), run.used, budgets, a.args)
	if err != nil {
		return nil, err
	}
	defer func() {
		if a.state == neverSent {
			reserved.giveBack()
		}
	}()
	if a.rule.Confirm {
		a.confirmation, err = run.confirmer.confirm(ctx, Question{Server: s.Name, Tool: tool, Rule: a.rule.Pos}, a.args)
		if err != nil {
			return nil, refuse("policy", "%s (%s): %v", g.denied(run, a), a.rule.Pos, err)
		}
	}
	leave, err := g.slot(ctx, run, a, budgets)
	if err != nil {
		return nil, err
	}
	defer leave()
	if a.rule.NeedsDefinition() { // the server may have changed its word while the call waited
		if err := g.known(ctx, run, a); err != nil {
			return nil, err
		}
	}
	return g.send(ctx, run, a, reserved)
}

// check asks the policy.
func (g *gate) check(run *run, a *attempt) error {
	if a.uri != "" {
		if a.rule, a.denied = run.profile.CheckRead(a.server.Name, a.uri); a.denied != nil {
			return refuse("policy", "%v", a.denied)
		}
		return nil
	}
	decision, err := run.profile.CheckCall(a.server.Name, a.tool, a.args)
	if err != nil {
		a.denied = err
		return refuse("policy", "%v", err)
	}
	a.rule, a.args = decision.Rule, decision.Args
	return nil
}

func (g *gate) denied(run *run, a *attempt) string {
	return fmt.Sprintf("%s: denied by profile %q", a.name(), run.profile.Name)
}

// slot waits until the call may be under way beside others.
func (g *gate) slot(ctx context.Context, run *run, a *attempt, budgets []share) (func(), error) {
	leave, err := g.budget.slot(ctx, budgets)
	if err != nil {
		return nil, refuse("server", "%s: not sent: the run was stopped", a.name())
	}
	select {
	case run.slots <- struct{}{}:
		// Held until the session has room for the result, which bounds the
		// results that wait here.
		context.AfterFunc(ctx, func() { <-run.slots })
	case <-ctx.Done():
	}
	// The slot may be that of another call of this run, given up because the
	// run was stopped a moment before this call hears of it.
	if ctx.Err() != nil || run.isOver() {
		leave()
		return nil, refuse("server", "%s: not sent: the run was stopped", a.name())
	}
	return leave, nil
}

// send makes the call and fits its result to the rule.
func (g *gate) send(ctx context.Context, run *run, a *attempt, r *reservation) (json.RawMessage, error) {
	if err := run.entry.sending(a); err != nil {
		return nil, refuse("policy", "%s: not sent: %v", a.name(), err)
	}
	if a.rule.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.rule.Timeout, fmt.Errorf("the %v of its rule (%s) are over", a.rule.Timeout, a.rule.Pos))
		defer cancel()
	}
	a.set(inFlight)
	a.sent = time.Now()
	var heard func(upstream.Progress)
	if run.stream != nil {
		heard = func(p upstream.Progress) { run.stream(CallStream, said(a.name(), p, a.rule), 0) }
	}
	var result json.RawMessage
	var err error
	if a.uri != "" {
		result, err = g.upstream.Read(ctx, a.server.Name, a.uri)
	} else {
		result, err = g.upstream.Follow(ctx, a.server.Name, a.tool, a.args, heard)
	}
	if err != nil {
		a.set(outcome(err))
		failure := serverError(err, a.rule)
		if a.state == neverSent {
			return nil, failure
		}
		if over := r.took(size(failure)); over != nil {
			return nil, over
		}
		return nil, failure
	}
	a.set(completed)
	if result, err = fitted(result, a.name(), a.rule); err != nil {
		return nil, err
	}
	if err := r.took(len(result)); err != nil {
		return nil, err
	}
	if most := sandbox.MaxFrame - 1024; len(result) > most {
		return nil, refuse("server", "%s: the result has %d bytes, more than the %d that fit; the call was made", a.name(), len(result), most)
	}
	return result, nil
}

// outcome is the state of a call that has no result. Of one that was sent and
// not answered, be it that its run or its server has ended, all that is known is
// that it may have had its effect.
func outcome(err error) string {
	var u *upstream.Error
	switch {
	case errors.As(err, &u) && !u.Sent:
		return neverSent
	case errors.As(err, &u) && u.Kind == upstream.KindTool:
		return failed
	}
	return inFlight
}
