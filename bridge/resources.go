package bridge

import (
	"context"
	"encoding/json"

	"bridge/policy"
	"bridge/sandbox"
)

// This file is what code has of the resources of servers.

// resources answers with what a server lists of its resources, as far as the
// profile allows to read it. A server of which it allows nothing is not asked.
func (g *gate) resources(ctx context.Context, run *run, name string) (any, error) {
	s, err := g.server(run, name)
	if err != nil {
		return nil, err
	}
	resources, templates := []json.RawMessage{}, []json.RawMessage{}
	if run.profile.ReadsResources(s.Name) {
		leave, err := enter(ctx, g.lists)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, leave)
		list, err := g.upstream.Resources(ctx, s.Name)
		if err != nil {
			return nil, serverError(err, policy.Rule{})
		}
		room := sandbox.MaxFrame / 2 // beyond it entries are left out
		fits := func(raw json.RawMessage) bool { room -= len(raw); return room > 0 }
		var entry struct {
			URI         string `json:"uri"`
			URITemplate string `json:"uriTemplate"`
		}
		for _, raw := range list.Resources {
			if entry.URI = ""; json.Unmarshal(raw, &entry) != nil || entry.URI == "" || len(entry.URI) > maxURI || !fits(raw) {
				continue
			}
			if _, err := run.profile.CheckRead(s.Name, entry.URI); err == nil {
				resources = append(resources, raw)
			}
		}
		for _, raw := range list.Templates {
			if entry.URITemplate = ""; json.Unmarshal(raw, &entry) == nil && entry.URITemplate != "" && fits(raw) && run.profile.AllowsTemplate(s.Name, entry.URITemplate) {
				templates = append(templates, raw)
			}
		}
	}
	return map[string]any{"resources": resources, "resourceTemplates": templates}, nil
}

// resource reads one resource if the policy allows it.
func (g *gate) resource(ctx context.Context, run *run, name, uri string) (any, error) {
	if uri == "" {
		return nil, refuse("invalid", "no URI of a resource")
	}
	return g.attempt(ctx, run, name, &attempt{uri: uri})
}
