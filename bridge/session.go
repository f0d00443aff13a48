package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bridge/sandbox"
)

// impatience is how long a run waits for the one before it, until runs that wait
// for an absent agent are given up.
const impatience = time.Minute

// session is one agent's Python: its runs, one after the other, whose variables
// live until the sandbox in its box ends.
type session struct {
	gate   *gate
	audit  *audit
	policy *currentPolicy
	box    *box
	files  resourceCache
	busy   chan struct{} // a lock, held by the run that is going on

	// Guarded by busy.
	count int  // of runs that were begun
	used  bool // a run has begun in some sandbox
}

// enter waits until no other run is going on. It calls impatient if that takes
// long. The error says that nothing ran.
func (s *session) enter(ctx context.Context, impatient func()) (leave func(), err error) {
	waited := time.AfterFunc(impatience, impatient)
	defer waited.Stop()
	select {
	case s.busy <- struct{}{}:
		return func() { <-s.busy }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.box.ctx.Done():
		return nil, errClosing
	}
}

var errClosing = errors.New("the bridge is closing; nothing ran")

// run waits until it may begin and for the sandbox, runs the code, and reports.
func (s *session) run(ctx context.Context, r Request, stream Stream, ask Ask, impatient func()) *Report {
	report := &Report{Profile: s.policy.profile()}
	leave, err := s.enter(ctx, impatient)
	if errors.Is(err, errClosing) {
		return report.failed(err)
	}
	if err != nil {
		return report.cancelled()
	}
	defer leave()
	setup, memory, notes := s.reload()
	p := setup.Profile
	entry := s.audit.begin(setup.Audit, p, r.Code)
	defer func() { entry.ended(report) }()
	report.Profile, report.Timeout, report.Notes = p, p.Timeout.Default, notes
	if r.Timeout != nil {
		report.Timeout = time.Duration(*r.Timeout) * time.Second
	}
	mounted := aliased(p)
	servers, err := pick(mounted, r.Servers, p)
	if err == nil {
		err = p.CheckRun(serverNames(servers), r.Timeout)
	}
	if err != nil {
		return report.invalid(err)
	}
	report.Servers = r.Servers
	s.box.busy()
	for {
		o := s.box.open()
		if !o.wait(ctx, stream) {
			return report.cancelled()
		}
		if o.err != nil {
			return report.failed(fmt.Errorf("starting the sandbox: %w", o.err))
		}
		first := !o.used
		report.New = p.Session.Persist && s.used && first
		s.used, o.used = true, true
		s.count++
		run := &run{profile: p, mounted: mounted, servers: servers, memory: memory, entry: entry, stream: stream}
		err := s.execute(ctx, o.session, r, run, ask, report)
		if err == nil {
			return report
		}
		// Nothing ran. If the sandbox ended just before, which is not the code's
		// fault, a new one is tried.
		var gone *sandbox.Loss
		if !errors.As(err, &gone) || gone.Closed || first {
			return report.failed(err)
		}
	}
}

// reload brings what holds up to date, and ends a sandbox that is not made as it
// says.
func (s *session) reload() (Setup, *memory, []string) {
	if s.policy.reload() && s.apply() && s.used && s.policy.profile().Session.Persist {
		s.policy.note("the policy has changed what the sandbox is made with")
	}
	return s.policy.take()
}

// apply has sandboxes made as the policy says, and reports whether that ended
// one.
func (s *session) apply() bool {
	engine, spec := s.policy.sandbox()
	return s.box.use(engine, spec)
}

// execute runs the code in a sandbox that is ready. An error means that
// nothing ran.
func (s *session) execute(ctx context.Context, box *sandbox.Session, r Request, run *run, ask Ask, report *Report) error {
	clock, ctx, cancel := newClock(ctx, report.Timeout)
	defer cancel()
	run.over, run.confirmer = ctx.Done(), newConfirmer(ask, clock)
	if err := run.entry.start(); err != nil {
		return fmt.Errorf("nothing ran: %w", err)
	}
	s.gate.open(run)
	defer s.gate.close()
	stop := context.AfterFunc(s.box.ctx, cancel)
	defer stop()
	last := r.Last || !run.profile.Session.Persist
	result, err := box.Run(ctx, sandbox.Run{
		Code: r.Code, Servers: run.servers, Stream: run.stream, Last: last,
		Output: max(run.profile.Output, wholeOutput), Value: run.profile.Output,
	})
	if err != nil {
		return err
	}
	report.fill(result)
	report.waited(s.gate.upstream.Starting())
	report.attach(&s.files, s.count)
	report.Calls, report.Further = run.list()
	switch {
	case !last:
		s.box.endWhenIdle(run.profile.Session.Idle)
	case r.Last:
		s.box.discard((*sandbox.Session).Close)
	default:
		report.keepFiles(ctx, box, &s.files, s.count)
		s.box.discard((*sandbox.Session).Close)
		s.box.open() // for the next run to find it warm
	}
	return nil
}

// close ends the sandbox, and with it a run that is going on. No run begins
// after it.
func (s *session) close() {
	s.box.end()
	s.box.busy()
	s.box.discard((*sandbox.Session).End)
	s.busy <- struct{}{}                  // the run that was going on has its answer
	s.box.discard((*sandbox.Session).End) // a sandbox that it has started meanwhile
	s.box.tasks.Wait()
}

func serverNames(list []mount) []string {
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}
