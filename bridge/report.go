package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bridge/policy"
	"bridge/sandbox"
)

// Status is how a run ended.
type Status string

// The statuses an agent sees. ValidationError means that nothing ran.
const (
	Success         Status = "success"
	Error           Status = "error"
	Timeout         Status = "timeout"
	Cancelled       Status = "cancelled"
	ValidationError Status = "validation_error"
)

// Report is what became of one run, before it is put into words.
type Report struct {
	Profile  *policy.Profile
	Status   Status
	Timeout  time.Duration
	Servers  []string // as the run named them
	Result   sandbox.Result
	ExitCode *int
	Message  string   // of the bridge itself: why a run did not end by itself
	Notes    []string // of the bridge itself: what has changed since the last run
	New      bool     // the session is new, and the agent had another before
	Lost     bool     // the session is gone
	Calls    []Call
	Further  int // calls beyond those listed

	attachments attachments
}

// invalid reports a request that could not be run.
func (r *Report) invalid(err error) *Report {
	r.Status, r.Message = ValidationError, err.Error()
	return r
}

// failed reports a run that the bridge could not make.
func (r *Report) failed(err error) *Report {
	r.Status, r.Message = Error, err.Error()
	return r
}

// cancelled reports a run that was cancelled before it began.
func (r *Report) cancelled() *Report {
	r.Status, r.Message = Cancelled, "cancelled before it began; nothing ran"
	return r
}

// ByItself tells whether the code came to an end of its own, good or bad.
func (r *Report) ByItself() bool {
	return !r.Lost && r.Status != Timeout && r.Status != Cancelled
}

// fill takes over the result of the sandbox and finds its words.
func (r *Report) fill(result sandbox.Result) {
	r.Result = result
	r.Lost = result.Lost != nil
	late := errors.Is(result.Stopped, context.DeadlineExceeded)
	kept := ""
	if r.Profile.Session.Persist {
		kept = "; variables were kept"
	}
	switch {
	case r.Lost:
		r.lost(result.Lost, late)
	case result.Status == sandbox.Succeeded && !(result.Stopped != nil && result.Heard):
		r.Status = Success
	case result.Status == sandbox.Succeeded && late:
		r.Status = Timeout
		r.Message = fmt.Sprintf("run_python: interrupted after %s, the timeout of this run, and then ended by itself%s", r.Timeout, kept)
	case late:
		r.Status = Timeout
		r.Message = fmt.Sprintf("run_python: stopped after %s, the timeout of this run%s", r.Timeout, kept)
	case result.Stopped != nil:
		r.Status = Cancelled
		r.Message = "run_python: cancelled" + kept
	default:
		r.Status = Error
		r.ExitCode = result.ExitCode
		if r.ExitCode == nil {
			one := 1 // as Python exits after an exception that nobody caught
			r.ExitCode = &one
		}
	}
}

// waited names the servers that were not there yet when a run had to end.
func (r *Report) waited(starting []string) {
	if r.Status != Timeout || len(starting) == 0 {
		return
	}
	r.Message += "; still starting: server " + strings.Join(starting, ", ")
}

// lost words the end of a sandbox in the middle of a run.
func (r *Report) lost(l *sandbox.Loss, late bool) {
	r.Status = Error
	var what string
	switch {
	case l.OutOfMemory:
		what = fmt.Sprintf("killed: out of memory at %s, the memory of %s", Size(r.Profile.Limits.Memory), r.Profile.Source("limits.memory"))
		r.exit(l.Exit)
	case l.Killed && late:
		r.Status = Timeout
		what = fmt.Sprintf("killed %s after its timeout of %s, which it ignored", sandbox.Grace, r.Timeout)
	case l.Killed:
		r.Status = Cancelled
		what = fmt.Sprintf("killed %s after it was cancelled, which it ignored", sandbox.Grace)
	case l.Closed:
		r.Status = Cancelled
		what = "ended: the bridge is closing"
	default:
		what = l.Error()
		if l.Reason == "" {
			r.exit(l.Exit)
		}
	}
	r.Message = "run_python: " + what + "; variables and files of the session were lost"
}

// exit gives the exit code as a shell would: 128 and the signal's number.
func (r *Report) exit(e sandbox.Exit) {
	code := e.Code
	if e.Signal != 0 {
		code = 128 + e.Signal
	}
	r.ExitCode = &code
}

// Size writes bytes in the largest binary unit that fits exactly.
func Size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for i < len(units)-1 && n >= 1024 && n%1024 == 0 {
		n, i = n/1024, i+1
	}
	return fmt.Sprintf("%d%s", n, units[i])
}
