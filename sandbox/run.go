package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// Run is one piece of code for a session.
type Run struct {
	Code    string
	Servers []Server // what the run can reach, for names in the namespace
	Output  int      // bytes kept of each stream's head, and as many of its tail; 0 means DefaultOutput
	Value   int      // characters of the last value; 0 means as Output
	Last    bool     // whether Python ends with it, as part of the run: no other can follow, but files can be read

	// Stream, if it is set, is called with output as it comes, in order,
	// before Run returns. It must not block: the session waits for it. The
	// stream is "stdout", "stderr" or "background"; skipped bytes were left
	// out before the text.
	Stream func(stream, text string, skipped int64)
}

// Server names one server for the guest.
type Server struct {
	Name        string `json:"name"`
	Alias       string `json:"alias"`
	Description string `json:"description"`
}

// Status is how a run ended.
type Status string

const (
	Succeeded   Status = "success"
	Failed      Status = "error"       // an exception
	Exited      Status = "exit"        // sys.exit with a code that is not 0
	Interrupted Status = "interrupted" // KeyboardInterrupt; the session goes on
	Lost        Status = "lost"        // with the session
)

// Result is what came of a run.
type Result struct {
	Status     Status
	Stdout     Output
	Stderr     Output
	Background Output     // written between the last run and this one
	Value      *string    // repr of the last expression, nil if there is nothing to show
	Images     []Image    // what the run has shown, in order
	MoreImages int        // left out, because the run had shown too much
	Files      []File     // of /workspace that are new or changed since the last run, sorted
	MoreFiles  int        // that are not listed
	Saved      []string   // files that figures were saved to and that it has not shown
	Error      *Exception // of Failed and Interrupted
	ExitCode   *int       // of sys.exit
	Stopped    error      // why the guest was asked to interrupt the run: the context's cause; nil if it was not. Status says what came of it
	Heard      bool       // whether the code was interrupted, whatever it made of it
	Lost       *Loss      // nil if the session goes on
}

// Exception is a Python exception.
type Exception struct {
	Type      string `json:"type"`
	Message   string `json:"message"`
	Traceback string `json:"traceback,omitempty"`
}

// ended is the guest's answer to a run.
type ended struct {
	Status      Status     `json:"status"`
	Value       *string    `json:"value"`
	Error       *Exception `json:"error"`
	ExitCode    *int       `json:"exitCode"`
	Interrupted bool       `json:"interrupted"`
	Files       files      `json:"files"`
	MoreFiles   int        `json:"moreFiles"`
	Saved       []string   `json:"saved"`
}

// active is the run that is going on.
type active struct {
	id       int64
	ctx      context.Context // of the guest's requests
	stop     context.CancelFunc
	stream   func(stream, text string, skipped int64)
	captures map[string]*capture
	answer   chan ended
	handlers sync.WaitGroup // of its requests

	// Of what the guest has shown; the reading goroutine's until the answer.
	images     []Image
	imageBytes int
	moreImages int

	// The session's mutex guards what follows.
	flight      map[int64]int // ids of requests that are being served: bytes of their parameters
	carried     int           // the sum of these
	interrupted bool          // the guest has been asked to end it
	late        [][]byte      // answers that must not come before that
}

// Run runs code and returns what came of it. One run goes on at a time,
// another waits for its turn. When the context ends, the run is interrupted,
// and after Grace the sandbox is killed. The error is not nil only if the run
// was not begun: the context ended before its turn, or the session is gone;
// then it wraps a *Loss.
func (s *Session) Run(ctx context.Context, r Run) (Result, error) {
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	case <-s.gone:
		return Result{}, s.lossError()
	}
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	if r.Output <= 0 {
		r.Output = DefaultOutput
	}
	run := s.begin(ctx, r)
	defer run.stop()
	servers := r.Servers
	if servers == nil {
		servers = []Server{}
	}
	frame, err := encodeFrame(message{ID: &run.id, Method: "run", Params: mustRaw(map[string]any{
		"run": run.id, "code": r.Code, "servers": servers, "output": r.Output, "value": r.Value, "last": r.Last,
	})})
	if err != nil {
		s.finish(run)
		return Result{}, fmt.Errorf("sending the code: %w", err)
	}
	if err := s.send(frame); err != nil {
		s.finish(run)
		return Result{}, err
	}
	result := s.await(ctx, run, r.Output)
	// What was asked for is given up with the run. Only when that is done can
	// it be told what became of it, and can no request pass for the next run's.
	run.stop()
	run.handlers.Wait()
	return result, nil
}

// await waits for the run's end, its context's end, or the session's.
func (s *Session) await(ctx context.Context, run *active, limit int) Result {
	var result Result
	var grace, again <-chan time.Time
	done := ctx.Done()
	for {
		select {
		case answer := <-run.answer:
			s.finish(run)
			return run.result(result, answer, limit)
		case <-s.gone:
			// The answer may have come just before the end.
			select {
			case answer := <-run.answer:
				return run.result(result, answer, limit)
			default:
			}
			s.finish(run)
			result.Lost, result.Status = s.loss(), Lost
			return run.result(result, ended{Status: Lost}, limit)
		case <-done:
			done = nil
			if len(run.answer) > 0 {
				continue // It has ended by itself, at the last moment.
			}
			result.Stopped = context.Cause(ctx)
			timer := time.NewTimer(Grace)
			defer timer.Stop()
			grace = timer.C
			ticker := time.NewTicker(interval)
			defer ticker.Stop()
			again = ticker.C
			// If it is not heard the grace passes, and the kill follows.
			s.interrupt(run)
		case <-again:
			// The signal may have come a moment before the code began to wait,
			// and not have woken it.
			s.interrupt(run)
		case <-grace:
			grace, again = nil, nil
			s.lose(Loss{Killed: true})
		}
	}
}

// result fills in what the guest said, bounded.
func (run *active) result(r Result, answer ended, limit int) Result {
	r.Status = answer.Status
	r.Stdout = run.captures["stdout"].output()
	r.Stderr = run.captures["stderr"].output()
	r.Background = run.captures["background"].output()
	r.ExitCode = answer.ExitCode
	r.Heard = answer.Interrupted
	r.Files, r.MoreFiles = answer.Files, max(answer.MoreFiles, 0)
	r.Saved = saved(answer.Saved)
	r.Images, r.MoreImages = run.images, run.moreImages
	if answer.Value != nil {
		// The guest's own bound is in characters.
		value := clip(*answer.Value, 4*limit+256)
		r.Value = &value
	}
	if e := answer.Error; e != nil {
		r.Error = &Exception{clip(e.Type, 1<<10), clip(e.Message, 64<<10), clip(e.Traceback, 128<<10)}
	}
	return r
}

// output takes an output notification of the guest.
func (run *active) output(params json.RawMessage) error {
	var p struct {
		Run     int64  `json:"run"`
		Stream  string `json:"stream"`
		Text    string `json:"text"`
		Skipped int64  `json:"skipped"`
	}
	if err := strict(params, &p); err != nil {
		return err
	}
	c := run.captures[p.Stream]
	if p.Run != run.id || c == nil || p.Skipped < 0 {
		return fmt.Errorf("output for run %d, stream %q in run %d", p.Run, p.Stream, run.id)
	}
	if p.Skipped > maxSkipped-c.skipped {
		return fmt.Errorf("%d more bytes left out than %d, which is more than a run can write", p.Skipped, c.skipped)
	}
	c.add(p.Text, p.Skipped)
	if run.stream != nil {
		run.stream(p.Stream, p.Text, p.Skipped)
	}
	return nil
}
