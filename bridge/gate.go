package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"bridge/definition"
	"bridge/policy"
	"bridge/sandbox"
	"bridge/upstream"
)

// gate answers what code in the sandbox asks for. There is no other way from
// a sandbox to a server.
type gate struct {
	upstream *upstream.Set
	log      *slog.Logger
	budget   budget
	logged   sync.Map // tools that have changed since they were pinned, by server and name

	searches chan struct{} // one slot for each search that may be under way at once
	lists    chan struct{} // held by the list of resources that is being made, or waits for the session
	work     chan struct{} // held by who looks at a whole catalog; it guards views
	views    map[string]*view

	mu  sync.Mutex // guards run
	run *run       // nil between runs
}

func newGate(u *upstream.Set, log *slog.Logger) *gate {
	return &gate{
		upstream: u, log: log, budget: budget{session: ledger{}},
		searches: make(chan struct{}, maxSearches), work: make(chan struct{}, 1), lists: make(chan struct{}, 1), views: map[string]*view{},
	}
}

// open lets one run in; its record tells afterwards what it called.
func (g *gate) open(run *run) {
	run.used = ledger{}
	run.slots = make(chan struct{}, max(run.profile.Parallel, 1))
	g.mu.Lock()
	defer g.mu.Unlock()
	g.run = run
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.run = nil
}

func (g *gate) current() *run {
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
	if _, is := memoryMethods[method]; is {
		return run.memory.serve(ctx, method, params)
	}
	var p struct {
		wireParams
		Server    string          `json:"server"`
		Tool      string          `json:"tool"`
		URI       string          `json:"uri"`
		Arguments json.RawMessage `json:"arguments"`
		Query     string          `json:"query"`
		Limit     int             `json:"limit"`
		Servers   nameList        `json:"servers"`
		Anew      bool            `json:"anew"`
	}
	if err := decode(method, params, &p); err != nil {
		return nil, err
	}
	if err := bounded(p.Server, p.Tool, p.URI, p.Query, p.Servers); err != nil {
		return nil, err
	}
	switch method {
	case "call":
		return g.call(ctx, run, p.Server, p.Tool, p.Arguments)
	case "tools":
		return g.tools(ctx, run, p.Server, p.Anew)
	case "tool":
		return g.tool(ctx, run, p.Server, p.Tool)
	case "resources":
		return g.resources(ctx, run, p.Server)
	case "resource":
		return g.resource(ctx, run, p.Server, p.URI)
	case "search":
		return g.search(ctx, run, p.Query, p.Limit, p.Servers)
	case "servers":
		return map[string]any{"servers": run.servers}, nil
	case "manual":
		return map[string]string{"text": manual(run.profile, run.servers)}, nil
	default:
		return nil, refuse("invalid", "unknown request %q", clip(method))
	}
}

// wireParams are parameters that the wire has dealt with.
type wireParams struct {
	Run json.RawMessage `json:"run"`
}

// decode reads the parameters of a request. It refuses those that it does not
// know.
func decode(method string, params json.RawMessage, into any) error {
	if len(params) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(params))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
			return refuse("invalid", "unknown parameter %s of %q", clip(name), clip(method))
		}
		return refuse("invalid", "malformed parameters of %q", clip(method))
	}
	return nil
}

// A nameList is names that the guest sends. One that is longer than any that is
// right is not read: each name takes more here than in JSON.
type nameList []string

// UnmarshalJSON reads the list.
func (n *nameList) UnmarshalJSON(list []byte) error {
	if len(list) > maxServers*maxName {
		return errors.New("too long a list")
	}
	return json.Unmarshal(list, (*[]string)(n))
}

const (
	maxName    = 512  // bytes of a server's or tool's name
	maxURI     = 2048 // bytes of a resource's
	maxQuery   = 1000 // bytes of a search
	maxServers = 1000 // names in a search
)

// bounded refuses what is longer than anybody would send in earnest. What the
// gate does with a name or a query takes time and memory of the host, which
// no limit of the sandbox covers.
func bounded(server, tool, uri, query string, servers []string) error {
	switch {
	case len(server) > maxName:
		return refuse("invalid", "a server's name of %d bytes; at most %d", len(server), maxName)
	case len(tool) > maxName:
		return refuse("invalid", "a tool's name of %d bytes; at most %d", len(tool), maxName)
	case len(uri) > maxURI:
		return refuse("invalid", "a resource's URI of %d bytes; at most %d", len(uri), maxURI)
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

func (g *gate) server(run *run, name string) (mount, error) {
	if s, ok := find(run.servers, name); ok {
		return s, nil
	}
	if s, ok := find(run.mounted, name); ok {
		return mount{}, refuse("policy", "server %q is not among the servers of this run: %s", s.Name, names(run.servers))
	}
	unknown := &policy.UnknownServer{Server: name, Profile: run.profile.Name, Servers: serverNames(run.servers)}
	return mount{}, refuse("policy", "%v", unknown)
}

// misspelt tells a wrong name from a denied one, if the server's tools are
// known already: a server is not started to word a denial.
func (g *gate) misspelt(ctx context.Context, run *run, s mount, tool string) error {
	tools, ok := g.upstream.Known(s.Name)
	if !ok || has(tools, tool) {
		return nil
	}
	return g.notFound(ctx, run, s, tool, tools)
}

// notFound words that a server does not have a tool.
func (g *gate) notFound(ctx context.Context, run *run, s mount, tool string, tools []definition.Tool) error {
	leave, err := enter(ctx, g.work)
	if err != nil {
		return err
	}
	defer leave()
	v, err := g.view(ctx, run, s, tools)
	if err != nil {
		return err
	}
	var list []string
	for _, t := range v.tools {
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

// enter takes one of the slots, and returns what gives it back.
func enter(ctx context.Context, slots chan struct{}) (leave func(), err error) {
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, refuse("server", "the run was stopped")
	}
}

func refuse(kind, format string, args ...any) error {
	return &sandbox.Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}
