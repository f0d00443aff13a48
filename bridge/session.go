package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"bridge/sandbox"
)

// startTimeout bounds the start of a sandbox, fetchTimeout that of one whose
// image may have to be fetched. They are not the run's own time.
const (
	startTimeout = 60 * time.Second
	fetchTimeout = 30 * time.Minute
)

// impatience is how long a run waits for its turn before one that waits for an
// absent agent is given up.
const impatience = time.Minute

// session is one agent's Python: at most one sandbox at a time, whose
// variables live until it ends.
type session struct {
	gate  *gate
	audit *audit
	log   *slog.Logger
	turn  chan struct{} // held by the one run that is going on

	changed  func() (*Setup, error) // what the policy is now, as Options.Reload; nil if it never changes
	reloaded func()                 // called when another policy holds

	impatient func() // called when a run has waited long for its turn

	shelf shelf

	ctx context.Context // ends with the session
	end context.CancelFunc

	mu      sync.Mutex // guards what follows
	setup   Setup
	kept    *kept
	notes   []string // for the next run's report
	count   int      // of runs that were begun
	box     *opening // nil: no sandbox
	used    bool     // a run has been started in some sandbox before
	ahead   bool     // whether the next sandbox is prepared while one is there
	idle    *time.Timer
	running sync.WaitGroup
}

func newSession(setup Setup, g *gate, log *slog.Logger) *session {
	s := &session{gate: g, audit: newAudit(log), log: log, turn: make(chan struct{}, 1)}
	s.take(setup)
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// warm starts a sandbox in the background if there is none. From now on there
// is one more that is all but started, for the time when this one has ended.
func (s *session) warm() {
	s.mu.Lock()
	s.ahead = true
	s.mu.Unlock()
	s.open()
}

// open returns the session's sandbox, starting one if there is none or the
// last one has ended. It does not wait for it.
func (s *session) open() *opening {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.box != nil && !s.box.ended() {
		return s.box
	}
	o := &opening{done: make(chan struct{}), progress: make(startProgress, 256)}
	s.box = o
	ahead := s.ahead
	if err := s.ctx.Err(); err != nil {
		o.err = err
		close(o.done)
		return o
	}
	engine, spec := s.setup.Engine, s.kept.show(Spec(s.setup.Profile))
	s.running.Go(func() {
		defer close(o.done)
		limit := startTimeout
		if spec.Pull {
			limit = fetchTimeout
		}
		ctx, cancel := context.WithTimeout(s.ctx, limit)
		defer cancel()
		began := time.Now()
		o.box, o.err = sandbox.Open(ctx, engine, spec, s.gate.serve, o.progress)
		if s.ctx.Err() != nil {
			return // the bridge is closing, which is no error
		}
		if o.err != nil {
			s.log.Error("the sandbox did not start", "engine", engine.Name(), "err", o.err)
			return
		}
		s.log.Info("the sandbox is ready", "engine", engine.Name(), "after", time.Since(began).Round(time.Millisecond))
		if ahead {
			s.running.Go(func() { s.prepare(engine, spec) })
		}
	})
	return o
}

// prepare makes a sandbox that is all but started.
func (s *session) prepare(engine sandbox.Engine, spec sandbox.Spec) {
	ctx, cancel := context.WithTimeout(s.ctx, startTimeout)
	defer cancel()
	if err := sandbox.Prepare(ctx, engine, spec); err != nil && s.ctx.Err() == nil {
		s.log.Info("the next sandbox could not be prepared", "engine", engine.Name(), "err", err)
	}
}

// run waits for its turn and for the sandbox, runs the code, and reports.
func (s *session) run(ctx context.Context, r Request, stream Stream, ask Ask) *Report {
	report := &Report{Profile: s.profile()}
	waited := time.AfterFunc(impatience, s.impatient)
	defer waited.Stop()
	select {
	case s.turn <- struct{}{}:
		waited.Stop()
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return report.cancelled()
	case <-s.ctx.Done():
		return report.failed(errors.New("the bridge is closing; nothing ran"))
	}
	p := s.reload()
	kept, entry := s.begin(r.Code)
	defer func() { entry.ended(report) }()
	report.Profile, report.Timeout = p, p.Timeout.Default
	if r.Timeout != nil {
		report.Timeout = time.Duration(*r.Timeout) * time.Second
	}
	mounted := aliased(p)
	servers, err := pick(mounted, r.Servers, p)
	if err == nil {
		err = p.CheckRun(serverNames(servers), r.Timeout)
	}
	report.Notes = s.told()
	if err != nil {
		return report.invalid(err)
	}
	report.Servers = r.Servers
	s.rest()
	for {
		o := s.open()
		if !o.wait(ctx, stream) {
			return report.cancelled()
		}
		if o.err != nil {
			return report.failed(fmt.Errorf("starting the sandbox: %w", o.err))
		}
		s.mu.Lock()
		report.New = p.Session.Persist && s.used && !o.used
		first := !o.used
		s.used, o.used = true, true
		s.count++
		s.mu.Unlock()
		run := &record{profile: p, mounted: mounted, servers: servers, kept: kept, entry: entry, stream: stream}
		err := s.execute(ctx, o.box, r, run, stream, ask, report)
		var gone *sandbox.Loss
		if err == nil {
			return report
		}
		// Nothing ran. A sandbox that had ended just before is no fault of the
		// code's, and a new one will do.
		if !errors.As(err, &gone) || gone.Closed || first {
			return report.failed(err)
		}
	}
}

// execute runs the code in a sandbox that is ready. An error means that
// nothing ran.
func (s *session) execute(ctx context.Context, box *sandbox.Session, r Request, run *record, stream Stream, ask Ask, report *Report) error {
	clock, ctx, cancel := newClock(ctx, report.Timeout)
	defer cancel()
	run.over, run.confirmer = ctx.Done(), newConfirmer(ask, clock)
	if err := run.entry.start(); err != nil {
		return fmt.Errorf("nothing ran: %w", err)
	}
	s.gate.open(run)
	defer s.gate.close()
	stop := context.AfterFunc(s.ctx, cancel)
	defer stop()
	last := r.Last || !run.profile.Session.Persist
	result, err := box.Run(ctx, sandbox.Run{
		Code: r.Code, Servers: run.servers, Stream: stream, Last: last,
		Output: max(run.profile.Output, wholeOutput), Value: run.profile.Output,
	})
	if err != nil {
		return err
	}
	report.fill(result)
	report.waited(s.gate.upstream.Starting())
	report.attach(&s.shelf, s.count)
	report.Calls, report.Further = run.list()
	switch {
	case !last:
		s.busyUntilIdle(run.profile.Session.Idle)
	case r.Last:
		s.part((*sandbox.Session).Close)
	default:
		report.keepFiles(ctx, box, &s.shelf, s.count)
		s.part((*sandbox.Session).Close)
		s.open() // for the next run to find it warm
	}
	return nil
}

// busyUntilIdle ends the sandbox after the profile's idle time.
func (s *session) busyUntilIdle(after time.Duration) {
	if after <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.box
	s.idle = time.AfterFunc(after, func() {
		select {
		case s.turn <- struct{}{}:
			defer func() { <-s.turn }()
		default:
			return // a run has begun
		}
		s.mu.Lock()
		same := s.box == o
		s.mu.Unlock()
		if same && !o.ended() {
			s.log.Info("the sandbox was idle and is ended", "after", after)
			s.part((*sandbox.Session).End)
		}
	})
}

// rest stops the idle clock: a run begins.
func (s *session) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle != nil {
		s.idle.Stop()
		s.idle = nil
	}
}

// close ends the sandbox, and with it a run that is going on. There is no run
// after it.
func (s *session) close() {
	s.end()
	s.rest()
	s.part((*sandbox.Session).End)
	s.turn <- struct{}{}           // the run that was going on has its answer
	s.part((*sandbox.Session).End) // of a sandbox that it has started meanwhile
	s.running.Wait()
}

// part takes leave of the sandbox that there is, or that is being started. It
// is ended in the background: that may take a moment, and no run waits for it.
func (s *session) part(end func(*sandbox.Session)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.box
	s.box = nil
	if o == nil {
		return
	}
	s.running.Go(func() {
		<-o.done
		if o.box != nil {
			end(o.box)
		}
	})
}

func serverNames(list []mount) []string {
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}
