package bridge

import (
	"context"
	"slices"

	"bridge/definition"
	"bridge/policy"
)

// known refuses a tool that the server does not have, in words that let the
// caller find the right one, and one that is not what its rule wants it to be.
func (g *gate) known(ctx context.Context, run *run, a *attempt) error {
	tools, err := g.catalog(ctx, a.server.Name, a.rule)
	if err == nil && !has(tools, a.tool) {
		// The server may have been another one when it was asked.
		tools, err = g.upstream.Current(ctx, a.server.Name)
	}
	if err != nil {
		return serverError(err, policy.Rule{})
	}
	for _, t := range tools {
		if t.Name == a.tool {
			return g.fits(run.profile, a.server.Name, a.rule, t)
		}
	}
	return g.notFound(ctx, run, a.server, a.tool, tools)
}

func has(tools []definition.Tool, name string) bool {
	return slices.ContainsFunc(tools, func(t definition.Tool) bool { return t.Name == name })
}

// catalog lists a server's tools, as the server has said in this session. For a
// rule that asks what the tool is, it is what the running one says.
func (g *gate) catalog(ctx context.Context, server string, rule policy.Rule) ([]definition.Tool, error) {
	if rule.NeedsDefinition() {
		return g.upstream.Current(ctx, server)
	}
	return g.upstream.Fresh(ctx, server)
}

// fits refuses a tool whose definition does not fit its rule. A tool that has
// changed since it was pinned is logged, once.
func (g *gate) fits(p *policy.Profile, server string, rule policy.Rule, t definition.Tool) error {
	misfit := rule.Fits(t)
	switch {
	case misfit == nil:
		return nil
	case misfit.Field == "execution":
		return refuse("tool_not_found", "%s.%s is not offered: %s", server, clip(t.Name), misfit.Why)
	case misfit.Field == "sha256":
		err := refuse("policy", "%s.%s: refused by profile %q (%s): %s", server, clip(t.Name), p.Name, rule.Pos, misfit.Why)
		if _, logged := g.logged.LoadOrStore(server+"\x00"+t.Name, true); !logged {
			g.log.Warn(err.Error())
		}
		return err
	}
	return refuse("policy", "%s.%s: denied by profile %q (%s): %s", server, clip(t.Name), p.Name, rule.Pos, misfit.Why)
}
