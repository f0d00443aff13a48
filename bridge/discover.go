package bridge

import (
	"context"
	"maps"
	"sync"

	"bridge/definition"
	"bridge/policy"
	"bridge/upstream"
)

// listedTool is a tool as code sees it.
type listedTool struct {
	definition.Tool
	Alias string `json:"alias"`
}

// tools answers with the tools of one server that the profile allows. Asked
// anew, the server itself says which they are, if it has not yet in this
// session; else what is kept of it will do.
func (g *gate) tools(ctx context.Context, run *run, name string, anew bool) (any, error) {
	s, err := g.server(run, name)
	if err != nil {
		return nil, err
	}
	list := g.upstream.Tools
	if anew {
		list = g.upstream.Fresh
	}
	tools, err := list(ctx, s.Name)
	if err != nil {
		return nil, serverError(err, policy.Rule{})
	}
	v, err := g.viewed(ctx, run, s, tools)
	if err != nil {
		return nil, err
	}
	return map[string]any{"server": s, "tools": v.tools}, nil
}

// tool answers with one tool of a server, by its name or alias, or says why
// code cannot have it.
func (g *gate) tool(ctx context.Context, run *run, name, tool string) (any, error) {
	s, err := g.server(run, name)
	if err != nil {
		return nil, err
	}
	tools, err := g.upstream.Tools(ctx, s.Name)
	if err != nil {
		return nil, serverError(err, policy.Rule{})
	}
	v, err := g.viewed(ctx, run, s, tools)
	if err != nil {
		return nil, err
	}
	if !v.lists(tool) {
		// It was kept by an earlier bridge, and may be older than the tool.
		if tools, err = g.upstream.Fresh(ctx, s.Name); err != nil {
			return nil, serverError(err, policy.Rule{})
		}
		if v, err = g.viewed(ctx, run, s, tools); err != nil {
			return nil, err
		}
	}
	for _, t := range v.tools {
		if t.Name == tool || t.Alias == tool {
			return t, nil
		}
	}
	if err := g.misspelt(ctx, run, s, tool); err != nil {
		return nil, err
	}
	rule, ok := run.profile.Rule(s.Name, tool)
	if !ok {
		_, err := run.profile.CheckCall(s.Name, tool, nil)
		return nil, refuse("policy", "%v", err)
	}
	if err := g.known(ctx, run, &attempt{server: s, tool: tool, rule: rule}); err != nil {
		return nil, err
	}
	return nil, g.notFound(ctx, run, s, tool, tools) // it came just now
}

// view is the tools of a server as a profile shows them. It is worked out once
// for each catalog, however often code asks.
type view struct {
	catalog []definition.Tool // that it is of
	profile *policy.Profile
	aliases map[string]string // of all tools
	tools   []listedTool      // that are allowed
	index   *upstream.Index   // of these; nil until it is searched
}

// lists tells whether a tool is in the catalog, by its name or alias.
func (v *view) lists(tool string) bool {
	for name, alias := range v.aliases {
		if name == tool || alias == tool {
			return true
		}
	}
	return false
}

// viewed gives the view of a catalog when it is its turn to.
func (g *gate) viewed(ctx context.Context, run *run, s mount, tools []definition.Tool) (*view, error) {
	leave, err := enter(ctx, g.work)
	if err != nil {
		return nil, err
	}
	defer leave()
	return g.view(ctx, run, s, tools)
}

// view gives the view of a catalog. The caller holds work. A tool that is not
// what its rule wants it to be is not in it; why, is told to whoever asks for
// it.
func (g *gate) view(ctx context.Context, run *run, s mount, tools []definition.Tool) (*view, error) {
	if v := g.views[s.Name]; v != nil && v.profile == run.profile && same(v.catalog, tools) {
		return v, nil
	}
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	// Aliases are of all tools: allowing one more must not rename another.
	v := &view{catalog: tools, profile: run.profile, aliases: upstream.ToolAliases(names), tools: []listedTool{}}
	for _, t := range tools {
		if ctx.Err() != nil {
			return nil, refuse("server", "the run was stopped")
		}
		rule, ok := run.profile.Rule(s.Name, t.Name)
		if !ok || g.fits(run.profile, s.Name, rule, t) != nil {
			continue
		}
		v.tools = append(v.tools, listedTool{t, v.aliases[t.Name]})
	}
	maps.DeleteFunc(g.views, func(_ string, old *view) bool { return old.profile != run.profile })
	g.views[s.Name] = v
	return v, nil
}

// same tells whether two catalogs are one: they are never changed.
func same(a, b []definition.Tool) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// foundTool is one tool that a search found.
type foundTool struct {
	Server mount   `json:"server"`
	Score  float64 `json:"score"`
	listedTool
}

const (
	maxHits     = 50 // of one search
	maxSearches = 8  // at once

	// maxWords bounds the indexes of all servers of a run, in words.
	maxWords = 500_000
)

// search ranks the allowed tools of all the run's servers, of those that are
// not running as they are kept. A server that cannot be started is named beside
// the hits; it does not spoil the search.
func (g *gate) search(ctx context.Context, run *run, query string, limit int, only []string) (any, error) {
	servers, err := pick(run.servers, only, run.profile)
	if err != nil {
		return nil, refuse("policy", "%v", err)
	}
	done, err := enter(ctx, g.searches)
	if err != nil {
		return nil, err
	}
	defer done()
	catalogs := make([][]definition.Tool, len(servers))
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() { catalogs[i], errs[i] = g.upstream.Tools(ctx, s.Name) })
	}
	wg.Wait()
	for _, s := range servers {
		g.upstream.Renew(s.Name) // for the next search
	}
	leave, err := enter(ctx, g.work)
	if err != nil {
		return nil, err
	}
	defer leave()

	var indexes []*upstream.Index
	unavailable := map[string]string{}
	for i, s := range servers {
		if errs[i] != nil {
			unavailable[s.Name] = errs[i].Error()
			continue
		}
		v, err := g.indexed(ctx, run, s, catalogs[i])
		if err != nil {
			return nil, err
		}
		indexes = append(indexes, v.index)
	}
	if limit <= 0 || limit > maxHits {
		limit = maxHits
	}
	found, err := upstream.Search(ctx, indexes, query, limit)
	if err != nil {
		return nil, refuse("server", "the run was stopped")
	}
	hits := []foundTool{}
	for _, h := range found {
		s, _ := find(servers, h.Server)
		hits = append(hits, foundTool{s, h.Score, listedTool{h.Tool, g.views[s.Name].aliases[h.Tool.Name]}})
	}
	return map[string]any{"hits": hits, "unavailable": unavailable}, nil
}

// indexed gives the view of a catalog with its index. The caller holds work.
func (g *gate) indexed(ctx context.Context, run *run, s mount, tools []definition.Tool) (*view, error) {
	v, err := g.view(ctx, run, s, tools)
	if err != nil || v.index != nil {
		return v, err
	}
	entries := make([]upstream.Entry, len(v.tools))
	for i, t := range v.tools {
		entries[i] = upstream.Entry{Server: s.Name, Tool: t.Tool}
	}
	if v.index, err = upstream.NewIndex(ctx, entries, maxWords/len(run.mounted)); err != nil {
		return nil, refuse("server", "the run was stopped")
	}
	return v, nil
}
