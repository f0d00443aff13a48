package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bridge/policy"
	"bridge/sandbox"
)

// startTimeout bounds the start of a sandbox. It is not the run's own time.
const startTimeout = 60 * time.Second

// session is one agent's Python: at most one sandbox at a time, whose
// variables live until it ends.
type session struct {
	profile *policy.Profile
	engine  sandbox.Engine
	gate    *gate
	log     *slog.Logger
	turn    chan struct{} // held by the one run that is going on

	ctx context.Context // ends with the session
	end context.CancelFunc

	mu      sync.Mutex // guards what follows
	box     *opening   // nil: no sandbox
	used    bool       // a run has been started in some sandbox before
	idle    *time.Timer
	running sync.WaitGroup
}

// opening is a sandbox that is being started, or has been.
type opening struct {
	done chan struct{} // closed when box or err is set
	box  *sandbox.Session
	err  error
	used bool // a run has been started in it
}

func newSession(p *policy.Profile, e sandbox.Engine, g *gate, log *slog.Logger) *session {
	s := &session{profile: p, engine: e, gate: g, log: log, turn: make(chan struct{}, 1)}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// warm starts a sandbox in the background if there is none.
func (s *session) warm() { s.open() }

// open returns the session's sandbox, starting one if there is none or the
// last one has ended. It does not wait for it.
func (s *session) open() *opening {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.box != nil && !s.box.ended() {
		return s.box
	}
	o := &opening{done: make(chan struct{})}
	s.box = o
	if err := s.ctx.Err(); err != nil {
		o.err = err
		close(o.done)
		return o
	}
	s.running.Go(func() {
		defer close(o.done)
		ctx, cancel := context.WithTimeout(s.ctx, startTimeout)
		defer cancel()
		began := time.Now()
		o.box, o.err = sandbox.Open(ctx, s.engine, s.gate.kept.show(Spec(s.profile)), s.gate.serve)
		if s.ctx.Err() != nil {
			return // the bridge is closing, which is no news
		}
		if o.err != nil {
			s.log.Error("the sandbox did not start", "engine", s.engine.Name(), "err", o.err)
			return
		}
		s.log.Info("the sandbox is ready", "engine", s.engine.Name(), "after", time.Since(began).Round(time.Millisecond))
	})
	return o
}

// ended tells whether an opening has failed or its sandbox has ended.
func (o *opening) ended() bool {
	select {
	case <-o.done:
	default:
		return false
	}
	if o.err != nil {
		return true
	}
	select {
	case <-o.box.Done():
		return true
	default:
		return false
	}
}

// run waits for its turn and for the sandbox, runs the code, and reports.
func (s *session) run(ctx context.Context, r Request, stream Stream) *Report {
	report := &Report{Profile: s.profile, Timeout: s.profile.Timeout.Default}
	if r.Timeout != nil {
		report.Timeout = time.Duration(*r.Timeout) * time.Second
	}
	servers, err := pick(s.gate.servers, r.Servers, s.profile)
	if err == nil {
		err = s.profile.CheckRun(serverNames(servers), r.Timeout)
	}
	if err != nil {
		return report.invalid(err)
	}
	report.Servers = r.Servers
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return report.cancelled()
	case <-s.ctx.Done():
		return report.failed(errors.New("the bridge is closing; nothing ran"))
	}
	s.rest()
	for {
		o := s.open()
		select {
		case <-o.done:
		case <-ctx.Done():
			return report.cancelled()
		}
		if o.err != nil {
			return report.failed(fmt.Errorf("starting the sandbox: %w", o.err))
		}
		s.mu.Lock()
		report.New = s.profile.Session.Persist && s.used && !o.used
		first := !o.used
		s.used, o.used = true, true
		s.mu.Unlock()
		err := s.execute(ctx, o.box, r, servers, stream, report)
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
func (s *session) execute(ctx context.Context, box *sandbox.Session, r Request, servers []mount, stream Stream, report *Report) error {
	run, cancel := context.WithTimeout(ctx, report.Timeout)
	defer cancel()
	calls := s.gate.open(servers, run.Done())
	defer s.gate.close()
	stop := context.AfterFunc(s.ctx, cancel)
	defer stop()
	result, err := box.Run(run, sandbox.Run{Code: r.Code, Servers: servers, Output: s.profile.Output, Stream: stream})
	if err != nil {
		return err
	}
	report.fill(result)
	report.Calls, report.Further = calls.list()
	if !s.profile.Session.Persist {
		box.Close()
		s.open() // for the next run to find it warm
	}
	s.busyUntilIdle()
	return nil
}

// busyUntilIdle ends the sandbox after the profile's idle time.
func (s *session) busyUntilIdle() {
	if s.profile.Session.Idle <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.box
	s.idle = time.AfterFunc(s.profile.Session.Idle, func() {
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
			s.log.Info("the sandbox was idle and is ended", "after", s.profile.Session.Idle)
			o.box.Close()
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
	s.discard()
	s.turn <- struct{}{} // the run that was going on has its answer
	s.running.Wait()
	s.discard()
}

// discard ends the sandbox that there is, or that is being started.
func (s *session) discard() {
	s.mu.Lock()
	o := s.box
	s.mu.Unlock()
	if o == nil {
		return
	}
	<-o.done
	if o.box != nil {
		o.box.Close()
	}
}

func serverNames(list []mount) []string {
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

// Spec says what a profile's sandbox is made with.
func Spec(p *policy.Profile) sandbox.Spec {
	return sandbox.Spec{
		Label:  p.Name,
		Python: p.Python,
		Limits: sandbox.Limits{
			Memory: p.Limits.Memory, CPUs: p.Limits.CPUs, PIDs: p.Limits.PIDs, Files: p.Limits.Files,
			Tmp: p.Limits.Tmp, Workspace: p.Limits.Workspace, Shm: p.Limits.Shm,
		},
		Mounts:      mounts(p.Mounts),
		Image:       p.Image,
		Rootful:     p.Rootful,
		Enforced:    p.Limits.Enforced,
		User:        p.User,
		SecurityOpt: p.Security,
	}
}

// mounts are the folders that a profile shares, with ~ as the home folder of
// whoever runs the bridge. Where that is not known, ~ stays, which no engine
// takes for an absolute path.
func mounts(folders []policy.Folder) []sandbox.Mount {
	home, _ := os.UserHomeDir()
	var list []sandbox.Mount
	for _, f := range folders {
		source := f.Source
		if rest, ok := strings.CutPrefix(source, "~"); ok && home != "" {
			source = filepath.Join(home, rest)
		}
		list = append(list, sandbox.Mount{Source: source, Target: f.Target, Writable: f.Writable, Relabel: f.Relabel})
	}
	return list
}
