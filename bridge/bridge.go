// Package bridge is the MCP server that agents speak to, and what lies behind
// its one tool: the agent's session, the gate that every request of its code
// passes, and the words of the results.
//
// It knows policies, sandboxes and upstream servers by their packages, and
// decides nothing itself: package policy does.
package bridge

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"bridge/definition"
	"bridge/policy"
	"bridge/sandbox"
	"bridge/store"
	"bridge/upstream"
)

// A Setup is what a profile comes to: its sandboxes are made by the engine, and
// its code calls the servers.
type Setup struct {
	Profile *policy.Profile
	Engine  sandbox.Engine
	Servers []definition.Server
	Store   *store.Store // nil: code can keep nothing
	Audit   *store.Log   // nil: nothing is written down
}

// Options are what a Bridge is made of. All fields but Reload and State are
// needed.
type Options struct {
	Setup
	Version string
	Log     *slog.Logger

	// Reload, if it is set, is called before each run. It gives what the policy
	// comes to now, or nil if it has not changed since it was last called. An
	// error leaves things as they are, and is told to the agent and logged.
	Reload func() (*Setup, error)

	// Structured has every result carry its structured content, also where the
	// format of the profile is not json.
	Structured bool

	// State is a folder in which the catalogs of servers are kept, so that those
	// of servers that are not running are known, and logins. "" keeps none.
	State string
}

// A Bridge serves one agent.
type Bridge struct {
	upstream *upstream.Set
	version  string
	log      *slog.Logger
	gate     *gate
	session  *session

	structured bool // as in Options

	mu        sync.Mutex            // guards what follows
	suspended map[string]*suspended // runs that wait for the agent to come back, by token
	runs      sync.WaitGroup        // of those that are not a request's own
	closed    bool                  // there are no more of them
}

// New makes a bridge. It starts nothing.
func New(o Options) *Bridge {
	up := upstream.New(o.Servers, o.Log)
	if o.State != "" {
		up.Keep(o.State)
	}
	g := newGate(up, o.Log)
	s := &session{gate: g, audit: newAudit(o.Log), policy: newCurrentPolicy(o, up), box: newBox(g.serve, o.Log), busy: make(chan struct{}, 1)}
	s.apply()
	return &Bridge{
		upstream: up, version: o.Version, log: o.Log, gate: g, session: s, structured: o.Structured,
		suspended: map[string]*suspended{},
	}
}

// Run runs code in the agent's session and tells what became of it. Runs wait
// for each other in the order of the calls. If stream is not nil it is given
// the output as it comes. Where the policy wants a person to confirm a call,
// ask does.
func (b *Bridge) Run(ctx context.Context, r Request, stream Stream, ask Ask) *Report {
	r.Code = strings.TrimPrefix(r.Code, byteOrderMark)
	return b.session.run(ctx, r, stream, ask, b.giveUp)
}

// Warm starts the sandbox in the background, for the first run to find it ready.
func (b *Bridge) Warm() { b.session.box.warm() }

// Close ends the session's sandbox and the upstream servers, and waits for them.
func (b *Bridge) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.session.close()
	b.runs.Wait()
	b.upstream.Close()
}
