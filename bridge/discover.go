package bridge

import (
	"context"
	"encoding/json"
	"sync"

	"bridge/policy"
	"bridge/upstream"
)

// aliasedTool is a tool as code sees it.
type aliasedTool struct {
	Name         string          `json:"name"`
	Alias        string          `json:"alias"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
}

// tools answers with the tools of one server that the profile allows.
func (g *gate) tools(ctx context.Context, run *record, name string) (any, error) {
	s, err := g.server(run, name)
	if err != nil {
		return nil, err
	}
	tools, err := g.allowed(ctx, run, s)
	if err != nil {
		return nil, err
	}
	return map[string]any{"server": s, "tools": tools}, nil
}

// tool answers with one tool of a server, by its name or alias, or says why
// code cannot have it.
func (g *gate) tool(ctx context.Context, run *record, name, tool string) (any, error) {
	s, err := g.server(run, name)
	if err != nil {
		return nil, err
	}
	tools, err := g.upstream.Tools(ctx, s.Name)
	if err != nil {
		return nil, serverError(err, policy.Rule{})
	}
	if _, read := g.upstream.Known(s.Name); !read && !lists(tools, tool) {
		// It was kept by an earlier bridge, and may be older than the tool.
		if tools, err = g.upstream.Current(ctx, s.Name); err != nil {
			return nil, serverError(err, policy.Rule{})
		}
	}
	for _, t := range g.filter(run, s, tools) {
		if t.Name == tool || t.Alias == tool {
			return t, nil
		}
	}
	if err := g.misspelt(run, s, tool); err != nil {
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
	return nil, notFound(s, tool, g.filter(run, s, tools)) // it came just now
}

// lists tells whether a tool is among others, by its name or alias.
func lists(tools []upstream.Tool, tool string) bool {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	for name, alias := range upstream.Aliases(names) {
		if name == tool || alias == tool {
			return true
		}
	}
	return false
}

// allowed lists the tools of a server that the profile allows, starting the
// server if need be. One that is not what its rule wants it to be is not among
// them; why, is told to whoever asks for it.
func (g *gate) allowed(ctx context.Context, run *record, s mount) ([]aliasedTool, error) {
	tools, err := g.upstream.Tools(ctx, s.Name)
	if err != nil {
		return nil, serverError(err, policy.Rule{})
	}
	return g.filter(run, s, tools), nil
}

func (g *gate) filter(run *record, s mount, tools []upstream.Tool) []aliasedTool {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	// Aliases are of all tools: allowing one more must not rename another.
	aliases := upstream.Aliases(names)
	list := []aliasedTool{}
	for _, t := range tools {
		rule, ok := run.profile.Rule(s.Name, t.Name)
		if !ok || g.fits(run.profile, s.Name, rule, t) != nil {
			continue
		}
		list = append(list, aliasedTool{
			Name: t.Name, Alias: aliases[t.Name], Title: t.Title, Description: t.Description,
			InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Annotations: t.Annotations,
		})
	}
	return list
}

// hit is one tool that a search found.
type hit struct {
	Server       string          `json:"server"`
	ServerAlias  string          `json:"serverAlias"`
	Tool         string          `json:"tool"`
	ToolAlias    string          `json:"toolAlias"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	Score        float64         `json:"score"`
}

// maxHits bounds what one search returns.
const maxHits = 50

// search ranks the allowed tools of all the run's servers. A server that
// cannot be started is named beside the hits; it does not spoil the search.
func (g *gate) search(ctx context.Context, run *record, query string, limit int, only []string) (any, error) {
	servers, err := pick(run.servers, only, run.profile)
	if err != nil {
		return nil, refuse("policy", "%v", err)
	}
	found := make([][]aliasedTool, len(servers))
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() { found[i], errs[i] = g.allowed(ctx, run, s) })
	}
	wg.Wait()

	var entries []upstream.Entry
	tools := map[[2]string]hit{}
	unavailable := map[string]string{}
	for i, s := range servers {
		if errs[i] != nil {
			unavailable[s.Name] = errs[i].Error()
			continue
		}
		for _, t := range found[i] {
			entries = append(entries, upstream.Entry{Server: s.Name, Tool: upstream.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema}})
			tools[[2]string{s.Name, t.Name}] = hit{
				Server: s.Name, ServerAlias: s.Alias, Tool: t.Name, ToolAlias: t.Alias, Title: t.Title, Description: t.Description,
				InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Annotations: t.Annotations,
			}
		}
	}
	if limit <= 0 || limit > maxHits {
		limit = maxHits
	}
	hits := []hit{}
	for _, h := range upstream.Search(entries, query, limit) {
		t := tools[[2]string{h.Server, h.Tool.Name}]
		t.Score = h.Score
		hits = append(hits, t)
	}
	return map[string]any{"hits": hits, "unavailable": unavailable}, nil
}
