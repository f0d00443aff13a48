package bridge

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"bridge/policy"
	"bridge/sandbox"
	"bridge/store"
)

// audit writes down what an agent has done: a record of each run and of each
// call.
type audit struct {
	session string // a name for this agent's runs
	log     *slog.Logger

	mu   sync.Mutex // guards runs
	runs int
}

func newAudit(log *slog.Logger) *audit {
	return &audit{session: strings.ToLower(rand.Text()[:12]), log: log}
}

// entry is one run in the audit log.
type entry struct {
	audit *audit
	file  *store.Log // nil: nothing is written down
	wants policy.Audit
	code  string
	head

	mu     sync.Mutex // guards what follows
	calls  int        // that were about to be sent
	unsent map[unsent]int
	over   bool
}

// unsent is what calls that were not sent have in common. The first of a run is
// written down, and how many there were like it when the run has ended.
type unsent struct {
	Server   string `json:"server,omitempty"`
	Tool     string `json:"tool,omitempty"`
	Resource string `json:"resource,omitempty"`
	Decision string `json:"decision,omitempty"`
	Denied   string `json:"denied,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Error    string `json:"error,omitempty"`
}

const (
	maxUnsent  = 100       // kinds of calls that were not sent, in a run; more are counted together
	maxWritten = 256 << 10 // bytes of code, or of arguments, that are written down
)

// head is what the records of a run and of its calls have in common.
type head struct {
	Time    time.Time `json:"time"` // when it began
	Kind    string    `json:"kind"` // "run" or "call", "running" or "calling" before it, or "repeated"
	Session string    `json:"session"`
	Run     int       `json:"run"` // from 1 on, in the session
	Profile string    `json:"profile"`
	SHA256  string    `json:"sha256"` // of the run's code
	Seconds float64   `json:"seconds"`
}

// runRecord is what is written down of a run. Sizes are in bytes.
type runRecord struct {
	head
	Status      Status   `json:"status"`
	Error       string   `json:"error,omitempty"` // its type
	ExitCode    *int     `json:"exitCode,omitempty"`
	Lost        bool     `json:"lost,omitempty"` // and with it the session
	Servers     []string `json:"servers,omitempty"`
	Timeout     float64  `json:"timeoutSeconds"`
	Calls       int      `json:"calls"`
	CodeBytes   int      `json:"codeBytes"`
	StdoutBytes int64    `json:"stdoutBytes"`
	StderrBytes int64    `json:"stderrBytes"`
	ValueBytes  int      `json:"valueBytes"`
	Code        *string  `json:"code,omitempty"` // if the profile wants it
}

// repeatedRecord is how many calls were not sent, as one before them.
type repeatedRecord struct {
	head
	unsent
	Count int `json:"count"`
}

// callRecord is what is written down of a call.
type callRecord struct {
	head
	Call          int             `json:"call,omitempty"` // its number in the run, if it was written down before it was sent
	Server        string          `json:"server"`
	Tool          string          `json:"tool,omitempty"`
	Resource      string          `json:"resource,omitempty"` // the URI of one that is read
	Decision      string          `json:"decision"`           // "allow" or "deny"; "none" if nobody was asked
	Denied        string          `json:"denied,omitempty"`   // by what: see denial
	Rule          string          `json:"rule,omitempty"`     // its place
	Outcome       string          `json:"outcome"`            // as in Call.State
	Error         string          `json:"error,omitempty"`    // its kind, as code is told
	Confirmed     *confirmation   `json:"confirmed,omitempty"`
	ArgumentBytes int             `json:"argumentBytes"`
	ResultBytes   int             `json:"resultBytes"`
	Arguments     json.RawMessage `json:"arguments,omitempty"` // if the profile wants them
}

// begin opens the entry of a run.
func (a *audit) begin(file *store.Log, p *policy.Profile, code string) *entry {
	a.mu.Lock()
	a.runs++
	run := a.runs
	a.mu.Unlock()
	sum := sha256.Sum256([]byte(code))
	return &entry{audit: a, file: file, wants: p.Audit, code: code, unsent: map[unsent]int{}, head: head{
		Time: time.Now(), Kind: "run", Session: a.session, Run: run, Profile: p.Name, SHA256: hex.EncodeToString(sum[:]),
	}}
}

// start is when the code of the run begins. Nothing has been written down yet.
// The error is for a run that must not begin, because it cannot be.
func (e *entry) start() error {
	e.Time = time.Now()
	if !e.wants.Required {
		return nil
	}
	record := struct {
		head
		CodeBytes int     `json:"codeBytes"`
		Code      *string `json:"code,omitempty"`
	}{e.head, len(e.code), e.written()}
	record.Kind = "running"
	return e.first(record.Time, record)
}

// written is the code, if it is written down.
func (e *entry) written() *string {
	if !e.wants.Code || len(e.code) > maxWritten {
		return nil
	}
	return &e.code
}

// first writes a record of what is about to be done. Its error is for the code.
func (e *entry) first(at time.Time, record any) error {
	err := errors.New("there is none")
	if e.file != nil {
		err = e.write(at, record)
	}
	if err == nil {
		return nil
	}
	var place *fs.PathError
	if errors.As(err, &place) {
		err = place.Err // where the log is, is not for the code to know
	}
	return fmt.Errorf("the audit log, which profile %q requires, cannot be written: %w", e.Profile, err)
}

// ended writes down a run.
func (e *entry) ended(r *Report) {
	e.mu.Lock()
	counts := e.unsent
	e.over = true
	e.mu.Unlock()
	for kind, n := range counts {
		if n > 0 {
			record := repeatedRecord{e.head, kind, n}
			record.Kind = "repeated"
			e.write(record.Time, record)
		}
	}
	record := runRecord{
		head: e.head, Status: r.Status, ExitCode: r.ExitCode, Lost: r.Lost, Servers: r.Servers, Timeout: r.Timeout.Seconds(),
		Calls: len(r.Calls) + r.Further, CodeBytes: len(e.code), Code: e.written(),
		StdoutBytes: bytesOf(r.Result.Stdout), StderrBytes: bytesOf(r.Result.Stderr),
	}
	record.Seconds = time.Since(e.Time).Seconds()
	if x := r.exception(); x != nil {
		record.Error = x.Type
	}
	if r.Result.Value != nil {
		record.ValueBytes = len(*r.Result.Value)
	}
	e.write(record.Time, record)
}

func bytesOf(o sandbox.Output) int64 { return int64(len(o.Text)) + o.Skipped }

// sending writes down a call that is about to be sent, if the profile wants that.
// The error is for a call that must not be sent, because it cannot be.
func (e *entry) sending(a *attempt) error {
	if !e.wants.Required {
		return nil
	}
	e.mu.Lock()
	e.calls++
	a.number = e.calls
	e.mu.Unlock()
	record := e.record(a)
	record.Kind, record.Outcome = "calling", inFlight
	return e.first(record.Time, record)
}

// call writes down a call of the run.
func (e *entry) call(a *attempt) {
	record := e.record(a)
	kind := unsent{record.Server, record.Tool, record.Resource, record.Decision, record.Denied, record.Rule, record.Error}
	if a.sent.IsZero() && e.repeats(kind) {
		return
	}
	e.write(record.Time, record)
}

// repeats counts a call that was not sent, and tells whether there was one like
// it in the run.
func (e *entry) repeats(kind unsent) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return false
	}
	_, again := e.unsent[kind]
	switch {
	case again:
		e.unsent[kind]++
	case len(e.unsent) >= maxUnsent:
		e.unsent[unsent{}]++
		again = true
	default:
		e.unsent[kind] = 0
	}
	return again
}

// record is that of a call, as far as it is known.
func (e *entry) record(a *attempt) callRecord {
	record := callRecord{
		head: e.head, Call: a.number, Server: clip(a.server.Name), Tool: clip(a.tool), Resource: a.uri, Decision: "allow", Outcome: a.state,
		ArgumentBytes: len(a.args), ResultBytes: a.bytes, Confirmed: a.confirmation,
	}
	record.Kind, record.Time, record.Seconds = "call", a.began, time.Since(a.began).Seconds()
	var refused *sandbox.Error
	if errors.As(a.err, &refused) {
		record.Error = refused.Kind
	}
	at := a.rule.Pos
	if by, pos := denial(a); by != "" {
		record.Decision, record.Denied = "deny", by
		if by != "later" {
			at = pos
		}
	} else if at == (policy.Pos{}) {
		record.Decision = "none"
	}
	if at != (policy.Pos{}) {
		record.Rule = at.String()
	}
	if e.wants.Arguments && a.uri == "" && len(a.args) <= maxWritten && utf8.Valid(a.args) && json.Valid(a.args) {
		record.Arguments = a.args
	}
	return record
}

// denial says what has denied a call, and the place of the rule: the profile
// has no such "server", its rules no such "tool", or the tool's rule does not
// allow the "arguments"; "later" is what does not follow from the rules alone,
// such as a budget, a person, or the server's own word on the tool. A call that
// was made is allowed, though its result be withheld.
func denial(a *attempt) (by string, at policy.Pos) {
	var unknown *policy.UnknownServer
	var denied *policy.Denial
	var refused *sandbox.Error
	switch {
	case errors.As(a.denied, &unknown):
		return "server", policy.Pos{}
	case errors.As(a.denied, &denied) && denied.Reason != "" && !denied.Resource:
		return "arguments", denied.Pos
	case errors.As(a.denied, &denied) && denied.Resource:
		return "resource", denied.Pos
	case errors.As(a.denied, &denied):
		return "tool", denied.Pos
	case errors.As(a.err, &refused) && refused.Kind == "policy" && a.sent.IsZero():
		return "later", policy.Pos{}
	}
	return "", policy.Pos{}
}

// write appends a record. One that cannot be written is told to the operator,
// with what it says that matters most.
func (e *entry) write(at time.Time, record any) error {
	if e.file == nil {
		return nil
	}
	err := e.file.Append(at, record)
	if err == nil {
		return nil
	}
	attrs := []any{"err", err, "session", e.Session, "run", e.Run, "sha256", e.SHA256}
	if c, ok := record.(callRecord); ok {
		attrs = append(attrs, "server", c.Server, "tool", cmp.Or(c.Tool, c.Resource), "decision", c.Decision, "outcome", c.Outcome)
	}
	e.audit.log.Error("a record could not be written to the audit log", attrs...)
	return err
}
