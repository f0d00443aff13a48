package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"bridge/definition"
	"bridge/policy"
	"bridge/upstream"
)

// A liveServer is a server as vet has started it.
type liveServer struct {
	definition definition.Server
	place      string // where it was found, if it is not the policy's own
	state      string // the folder with the logins
	tools      []definition.Tool
	reads      bool                // a profile has rules for its resources
	resources  *upstream.Resources // nil if none has
	err        error
}

// live starts every server that a profile mounts, all at once, and holds the
// rules against the tools that they have. The command's flags say whether
// something stands in for the servers.
func live(ctx context.Context, cmd *cobra.Command, p *policy.Policy, log *slog.Logger) ([]finding, error) {
	servers := map[string]*liveServer{} // by what they are, as profiles can share them
	mounts := map[string][]*liveServer{}
	profiles := map[string]*policy.Profile{}
	for _, name := range p.Profiles() {
		profile, err := p.Profile(name)
		if err != nil {
			return nil, err
		}
		c := choice{cmd: cmd}
		if profile, err = c.standing(profile); err != nil {
			return nil, err
		}
		if profile, err = c.discover(profile); err != nil {
			return nil, err
		}
		profiles[name] = profile
		folder, err := stateFolder(profile.State)
		if err != nil {
			log.Warn("logins are not known", "err", err)
		}
		definitions, err := c.servers(profile)
		if err != nil {
			return nil, err
		}
		for _, d := range definitions {
			raw, err := json.Marshal(d)
			if err != nil {
				return nil, err
			}
			key := folder + "\n" + string(raw)
			s, ok := servers[key]
			if !ok {
				s = &liveServer{definition: d, place: c.discovery.place(d.Name), state: folder}
				servers[key] = s
			}
			s.reads = s.reads || profile.ReadsResources(d.Name)
			mounts[name] = append(mounts[name], s)
		}
	}
	startAll(ctx, servers, log)

	var list []finding
	for _, name := range p.Profiles() {
		for _, s := range mounts[name] {
			list = append(list, s.findings(p, profiles[name])...)
		}
	}
	return sorted(list), nil
}

// startAll lists the tools of the servers, and ends them again.
func startAll(ctx context.Context, servers map[string]*liveServer, log *slog.Logger) {
	var work sync.WaitGroup
	for _, s := range servers {
		work.Go(func() {
			set := upstream.New([]definition.Server{s.definition}, log)
			defer set.Close()
			if s.state != "" {
				set.Keep(s.state)
			}
			if s.tools, s.err = set.Current(ctx, s.definition.Name); s.err == nil && s.reads {
				s.resources, s.err = set.Resources(ctx, s.definition.Name)
			}
		})
	}
	work.Wait()
}

// findings are what is to be said of the server as the profile mounts it.
func (s *liveServer) findings(p *policy.Policy, profile *policy.Profile) []finding {
	name := s.definition.Name
	if s.err != nil {
		at, path := p.Place("servers", name)
		if at == (policy.Pos{}) {
			at.File = s.place
			_, path = p.Place("profiles", profile.Name, "servers", name)
		}
		return []finding{found(policy.Error{Pos: at, Path: path, Message: strings.Join(strings.Fields(s.err.Error()), " ")}, "error")}
	}
	mistakes, warnings := profile.Live(name, s.tools)
	var list []finding
	for _, m := range mistakes {
		list = append(list, found(m, "error"))
	}
	if s.resources != nil {
		warnings = append(warnings, profile.LiveResources(name, named(s.resources.Resources, "uri"), named(s.resources.Templates, "uriTemplate"))...)
	}
	for _, w := range warnings {
		list = append(list, found(w, "warning"))
	}
	return list
}

// named are the texts that entries of a list have in a field.
func named(entries []json.RawMessage, field string) []string {
	var names []string
	for _, raw := range entries {
		var fields map[string]any
		json.Unmarshal(raw, &fields)
		if name, ok := fields[field].(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// sorted is the findings in the order of their places. What is the same for
// several profiles is said once.
func sorted(list []finding) []finding {
	slices.SortStableFunc(list, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return slices.CompactFunc(list, func(a, b finding) bool {
		return a.File == b.File && a.Line == b.Line && a.Col == b.Col && a.Message == b.Message
	})
}
