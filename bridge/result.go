package bridge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bridge/bridge/toon"
	"bridge/sandbox"
)

// This file is the one place where a report is put into words for the agent.

// structured is the structuredContent of a result. Empty fields are left out.
type structured struct {
	Status         Status             `json:"status"`
	Notes          []string           `json:"notes,omitempty"`
	Background     string             `json:"background,omitempty"`
	Stdout         string             `json:"stdout,omitempty"`
	Stderr         string             `json:"stderr,omitempty"`
	Result         string             `json:"result,omitempty"`
	Error          *sandbox.Exception `json:"error,omitempty"`
	ExitCode       *int               `json:"exitCode,omitempty"`
	TimeoutSeconds int                `json:"timeoutSeconds,omitempty"`
	Servers        []string           `json:"servers,omitempty"`
	Session        string             `json:"session,omitempty"`
	Calls          []Call             `json:"calls,omitempty"`
	FurtherCalls   int                `json:"furtherCalls,omitempty"`
	Truncated      bool               `json:"truncated,omitempty"`
	Files          []attachedFile     `json:"files,omitempty"`
	Links          []attachedLink     `json:"links,omitempty"`
}

// words returns a report as text and as structured content. Both hold the
// same pieces, cut to the same lengths.
func (r *Report) words() (string, structured) {
	s := structured{
		Status: r.Status, Notes: slices.Concat(r.before(), r.attachments.notes), Error: r.exception(), ExitCode: r.ExitCode,
		Servers: r.Servers, TimeoutSeconds: int(r.Timeout.Seconds()), Files: r.attachments.files, Links: r.attachments.cached,
	}
	switch {
	case r.Lost:
		s.Session = "lost"
	case r.New:
		s.Session = "new"
	}
	if r.Status == ValidationError {
		s.TimeoutSeconds = 0
	}
	pieces := r.pieces()
	s.Truncated = fit(pieces, r.budget())
	s.Background, s.Stdout, s.Result, s.Stderr = pieces[0].String(), pieces[1].String(), pieces[2].String(), pieces[3].String()
	if s.Error != nil {
		s.Error.Traceback = pieces[4].String()
	}
	if !r.ByItself() {
		s.Calls, s.FurtherCalls = r.Calls, r.Further
	}
	return r.formatted(&s), s
}

// before are the notes that come before what the run itself says.
func (r *Report) before() []string {
	if !r.New {
		return r.Notes
	}
	return append([]string{"this session is new; variables and files of earlier runs are gone"}, r.Notes...)
}

// format is how the text is written. Without a profile nothing has chosen one.
func (r *Report) format() string {
	if r.Profile == nil {
		return ""
	}
	return r.Profile.Format
}

// formatted is the text in the format that the profile wants.
func (r *Report) formatted(s *structured) string {
	var text string
	var err error
	switch r.format() {
	case "toon":
		text, err = toon.Marshal(s)
	case "json":
		var b []byte
		b, err = json.Marshal(s)
		text = string(b)
	default:
		return r.text(s)
	}
	if err != nil {
		return r.text(s)
	}
	return text
}

// pieceNames are what the pieces of a report are.
var pieceNames = [...]string{"background", "stdout", "value", "stderr", "traceback"}

// pieces are the texts of a report, each of any length.
func (r *Report) pieces() []piece {
	value, traceback := "", ""
	if r.Result.Value != nil {
		value = *r.Result.Value
	}
	if e := r.exception(); e != nil {
		traceback = e.Traceback
	}
	return []piece{
		pieceOf(r.Result.Background), pieceOf(r.Result.Stdout),
		{head: value}, pieceOf(r.Result.Stderr), {head: traceback},
	}
}

func (r *Report) budget() int {
	if r.Profile == nil || r.Profile.Output <= 0 {
		return sandbox.DefaultOutput
	}
	return r.Profile.Output
}

// exception is the error of the structured content: the code's own, or the
// bridge's word on a run that did not end by itself.
func (r *Report) exception() *sandbox.Exception {
	if r.Message != "" {
		return &sandbox.Exception{Type: errorType(r), Message: r.Message}
	}
	if r.Result.Error == nil {
		return nil
	}
	e := *r.Result.Error
	return &e
}

func errorType(r *Report) string {
	switch {
	case r.Status == Timeout:
		return "TimeoutError"
	case r.Status == Cancelled:
		return "CancelledError"
	case r.Status == ValidationError:
		return "ValueError"
	case r.Lost && r.Result.Lost != nil && r.Result.Lost.OutOfMemory:
		return "MemoryError"
	case r.Lost:
		return "ProcessLost"
	}
	return "SandboxError"
}

// text is content[0]: for failures a line of status first, then what was
// printed, the last value, stderr, and the error.
func (r *Report) text(s *structured) string {
	var b lines
	if r.Status != Success {
		b.add("status: " + string(r.Status))
		if r.ExitCode != nil {
			b.add(fmt.Sprintf("exit code: %d", *r.ExitCode))
		}
	}
	for _, note := range r.before() {
		b.add("note: " + note)
	}
	b.section("background output since the last run:", s.Background)
	b.add(s.Stdout)
	b.add(s.Result)
	b.section("stderr:", s.Stderr)
	switch {
	case r.Message != "":
		b.add(r.Message)
	case s.Error != nil && s.Error.Traceback != "":
		b.add(s.Error.Traceback)
	case s.Error != nil:
		b.add(s.Error.Type + ": " + s.Error.Message)
	}
	r.addCalls(&b, s.Calls)
	for _, note := range r.attachments.notes {
		b.add("note: " + note)
	}
	switch {
	case b.Len() > 0:
	case len(r.attachments.images) > 0:
		return "Success (" + count(len(r.attachments.images), "image", "images") + ")"
	default:
		return "Success (no output)"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// addCalls says what became of the calls of a run that did not end by itself.
func (r *Report) addCalls(b *lines, calls []Call) {
	if len(calls) == 0 {
		return
	}
	b.add("calls made by this run:")
	for _, c := range calls {
		b.add(fmt.Sprintf("  %s.%s: %s", shown(c.Server), shown(c.Tool), c.State))
	}
	if r.Further > 0 {
		b.add(fmt.Sprintf("  and %d more", r.Further))
	}
}

// lines builds a text of pieces that each begin on a line of their own.
type lines struct{ strings.Builder }

func (b *lines) add(text string) {
	if text == "" {
		return
	}
	b.WriteString(text)
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
}

func (b *lines) section(title, text string) {
	if text == "" {
		return
	}
	b.add(title)
	b.add(text)
}
