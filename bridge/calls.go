package bridge

import (
	"sync"
	"unicode/utf8"

	"bridge/policy"
)

// Call is one tools/call that code asked for, as far as it got.
type Call struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	State  string `json:"state"`
}

// The states of a call. A call that is denied or waits for its turn was never
// sent; one in flight may or may not have had its effect.
const (
	neverSent = "never sent"
	inFlight  = "in flight"
	completed = "completed"
	failed    = "failed"
)

// maxCalls bounds the list of one run's calls; more are only counted.
const maxCalls = 200

// run is one run_python, as the gate sees it.
type run struct {
	profile   *policy.Profile // as it was when the run began
	mounted   []mount         // the servers of the profile
	servers   []mount         // those that this run may use
	over      <-chan struct{} // closed when the run has ended or was stopped
	confirmer *confirmer
	stream    Stream // nil if nobody wants to hear of it
	memory    *memory
	entry     *entry        // of the run, in the audit log
	used      ledger        // of the budgets per run
	slots     chan struct{} // one for each call that may be in flight at once

	mu      sync.Mutex // guards what follows
	calls   []*Call
	further int
}

func (r *run) isOver() bool { return isClosed(r.over) }

// add notes a call that has not been sent yet and returns the function that
// notes how it goes on.
func (r *run) add(server, tool string) func(state string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.calls) == maxCalls {
		r.further++
		return func(string) {}
	}
	c := &Call{Server: server, Tool: clip(tool), State: neverSent}
	r.calls = append(r.calls, c)
	return func(state string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		c.State = state
	}
}

// list returns the calls as they stand, and how many more there were.
func (r *run) list() ([]Call, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Call, len(r.calls))
	for i, c := range r.calls {
		list[i] = *c
	}
	return list, r.further
}

// clip shortens a name that code made up.
func clip(name string) string {
	const most = 100
	if len(name) <= most {
		return name
	}
	n := most
	for n > 0 && !utf8.RuneStart(name[n]) {
		n--
	}
	return name[:n] + "…"
}
