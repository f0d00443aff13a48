package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"bridge/policy"
	"bridge/sandbox"
	"bridge/upstream"
)

// gate answers what code in the sandbox asks for. There is no other way from
// a sandbox to a server.
type gate struct {
	profile  *policy.Profile
	upstream *upstream.Set
	kept     *kept
	servers  []mount
	slots    chan struct{} // one for each call that may be in flight at once

	mu  sync.Mutex // guards run
	run *record    // nil between runs
}

func newGate(p *policy.Profile, u *upstream.Set, k *kept) *gate {
	return &gate{profile: p, upstream: u, kept: k, servers: aliased(p), slots: make(chan struct{}, max(p.Parallel, 1))}
}

// open lets one run in; its record tells afterwards what it called.
func (g *gate) open(servers []mount, over <-chan struct{}) *record {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.run = &record{servers: servers, over: over}
	return g.run
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.run = nil
}

func (g *gate) current() *record {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.run
}

// serve is the sandbox.Handler of every session: one switch, and what it does
// not know it refuses.
func (g *gate) serve(ctx context.Context, method string, params json.RawMessage) (any, error) {
	run := g.current()
	if run == nil {
		return nil, refuse("invalid", "no run is active: a call can only be made while run_python runs")
	}
	var p struct {
		Server    string          `json:"server"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
		Query     string          `json:"query"`
		Limit     int             `json:"limit"`
		Servers   []string        `json:"servers"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, refuse("invalid", "malformed parameters of %q", clip(method))
	}
	if err := bounded(p.Server, p.Tool, p.Query, p.Servers); err != nil {
		return nil, err
	}
	switch method {
	case "call":
		return g.call(ctx, run, p.Server, p.Tool, p.Arguments)
	case "tools":
		return g.tools(ctx, run, p.Server)
	case "tool":
		return g.tool(ctx, run, p.Server, p.Tool)
	case "search":
		return g.search(ctx, run, p.Query, p.Limit, p.Servers)
	case "servers":
		return map[string]any{"servers": run.servers}, nil
	case "memory.load", "memory.save", "memory.delete", "memory.list", "tools.load", "tools.save":
		return g.kept.serve(ctx, method, params)
	case "manual":
		return map[string]string{"text": manual(g.profile, run.servers)}, nil
	default:
		return nil, refuse("invalid", "unknown request %q", clip(method))
	}
}

const (
	maxName    = 512  // bytes of a server's or tool's name
	maxQuery   = 1000 // bytes of a search
	maxServers = 1000 // names in a search
)

// bounded refuses what is longer than anybody would send in earnest. What the
// gate does with a name or a query takes time and memory of the host, which
// no limit of the sandbox covers.
func bounded(server, tool, query string, servers []string) error {
	switch {
	case len(server) > maxName:
		return refuse("invalid", "a server's name of %d bytes; at most %d", len(server), maxName)
	case len(tool) > maxName:
		return refuse("invalid", "a tool's name of %d bytes; at most %d", len(tool), maxName)
	case len(query) > maxQuery:
		return refuse("invalid", "a search of %d bytes; at most %d", len(query), maxQuery)
	case len(servers) > maxServers:
		return refuse("invalid", "a search in %d servers; at most %d", len(servers), maxServers)
	}
	for _, s := range servers {
		if len(s) > maxName {
			return refuse("invalid", "a server's name of %d bytes; at most %d", len(s), maxName)
		}
	}
	return nil
}

// call makes one tools/call if the policy allows it.
func (g *gate) call(ctx context.Context, run *record, name, tool string, args json.RawMessage) (any, error) {
	s, err := g.server(run, name)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	set := run.add(s.Name, tool)
	// First, so that the policy is not asked about names without end.
	if err := g.misspelt(s, tool); err != nil {
		return nil, err
	}
	if _, err := g.profile.CheckCall(s.Name, tool, args); err != nil {
		return nil, refuse("policy", "%v", err)
	}
	if err := g.known(ctx, s, tool); err != nil {
		return nil, err
	}
	select {
	case g.slots <- struct{}{}:
		// Held until the session has room for the result, which bounds the
		// results that wait here.
		context.AfterFunc(ctx, func() { <-g.slots })
	case <-ctx.Done():
	}
	// The slot may be that of another call of this run, given up because the
	// run was stopped a moment before this call hears of it.
	if ctx.Err() != nil || run.isOver() {
		return nil, refuse("server", "%s.%s: not sent: the run was stopped", s.Name, tool)
	}
	set(inFlight)
	result, err := g.upstream.Call(ctx, s.Name, tool, args)
	if err != nil {
		set(outcome(err))
		return nil, serverError(err)
	}
	set(completed)
	if len(result) > sandbox.MaxFrame-1024 {
		return nil, refuse("server", "%s.%s: the result has %d bytes, more than the %d that fit; the call was made", s.Name, tool, len(result), sandbox.MaxFrame-1024)
	}
	return result, nil
}

func (g *gate) server(run *record, name string) (mount, error) {
	if s, ok := find(run.servers, name); ok {
		return s, nil
	}
	if s, ok := find(g.servers, name); ok {
		return mount{}, refuse("policy", "server %q is not among the servers of this run: %s", s.Name, names(run.servers))
	}
	unknown := &policy.UnknownServer{Server: name, Profile: g.profile.Name, Servers: serverNames(run.servers)}
	return mount{}, refuse("policy", "%v", unknown)
}

// known refuses a tool that the server does not have, in words that let the
// caller find the right one.
func (g *gate) known(ctx context.Context, s mount, tool string) error {
	tools, err := g.upstream.Tools(ctx, s.Name)
	if err != nil {
		return serverError(err)
	}
	for _, t := range tools {
		if t.Name == tool {
			return nil
		}
	}
	return notFound(s, tool, g.filter(s, tools))
}

// misspelt tells a wrong name from a denied one, if the server's tools are
// known already: a server is not started to word a denial.
func (g *gate) misspelt(s mount, tool string) error {
	tools, ok := g.upstream.Known(s.Name)
	if !ok {
		return nil
	}
	for _, t := range tools {
		if t.Name == tool {
			return nil
		}
	}
	return notFound(s, tool, g.filter(s, tools))
}

func notFound(s mount, tool string, tools []aliasedTool) error {
	var list []string
	for _, t := range tools {
		list = append(list, t.Name)
	}
	if hint := policy.DidYouMean(tool, list); hint != "" {
		return refuse("tool_not_found", "tool not found in server %s: %s%s", s.Name, tool, hint)
	}
	if len(list) > 8 {
		list = append(list[:8], fmt.Sprintf("+%d more", len(list)-8))
	}
	return refuse("tool_not_found", "tool not found in server %s: %s; tools: %s", s.Name, tool, strings.Join(list, ", "))
}

func refuse(kind, format string, args ...any) error {
	return &sandbox.Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// outcome is the state of a call that has no result. Of one that was sent and
// not answered, be it that its run or its server has ended, all that is known is
// that it may have had its effect.
func outcome(err error) string {
	var u *upstream.Error
	switch {
	case errors.As(err, &u) && !u.Sent:
		return neverSent
	case errors.As(err, &u) && u.Kind == upstream.KindTool:
		return failed
	}
	return inFlight
}

// serverError gives an upstream error its kind.
func serverError(err error) error {
	kind := "server"
	var u *upstream.Error
	if errors.As(err, &u) && u.Kind == upstream.KindTool {
		kind = "tool"
	}
	return &sandbox.Error{Kind: kind, Message: err.Error()}
}
