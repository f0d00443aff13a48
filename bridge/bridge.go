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

	"bridge/policy"
	"bridge/sandbox"
	"bridge/store"
	"bridge/upstream"
)

// Options are what a Bridge is made of. All fields but Store and Audit are needed.
type Options struct {
	Profile  *policy.Profile
	Engine   sandbox.Engine
	Upstream *upstream.Set
	Store    *store.Store // nil: nothing is kept
	Audit    *store.Log   // nil: nothing is written down
	Version  string
	Log      *slog.Logger
}

// A Bridge serves one agent.
type Bridge struct {
	profile  *policy.Profile
	upstream *upstream.Set
	version  string
	log      *slog.Logger
	gate     *gate
	session  *session
}

// New makes a bridge. It starts nothing.
func New(o Options) *Bridge {
	g := newGate(o.Profile, o.Upstream, newKept(o.Profile, o.Store, o.Log))
	return &Bridge{
		profile:  o.Profile,
		upstream: o.Upstream,
		version:  o.Version,
		log:      o.Log,
		gate:     g,
		session:  newSession(o.Profile, o.Engine, g, o.Log),
	}
}

// Run runs code in the agent's session and tells what became of it. Runs wait
// for each other in the order of the calls. If stream is not nil it is given
// the output as it comes.
func (b *Bridge) Run(ctx context.Context, r Request, stream Stream) *Report {
	return b.session.run(ctx, r, stream)
}

// Warm starts the sandbox in the background, for the first run to find it ready.
func (b *Bridge) Warm() { b.session.warm() }

// Close ends the session's sandbox and the upstream servers, and waits for them.
func (b *Bridge) Close() {
	b.session.close()
	b.upstream.Close()
}
