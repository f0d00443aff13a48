package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"bridge/policy"
	"bridge/upstream"
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

func has(tools []upstream.Tool, name string) bool {
	return slices.ContainsFunc(tools, func(t upstream.Tool) bool { return t.Name == name })
}

// catalog lists a server's tools, as the server has said in this session. For a
// rule that asks what the tool is, it is what the running one says.
func (g *gate) catalog(ctx context.Context, server string, rule policy.Rule) ([]upstream.Tool, error) {
	if asks(rule) {
		return g.upstream.Current(ctx, server)
	}
	return g.upstream.Fresh(ctx, server)
}

// asks tells whether a rule depends on the server's definition of the tool.
func asks(r policy.Rule) bool {
	return r.SHA256 != "" || r.ReadOnly != nil || r.Destructive != nil || r.Idempotent != nil || r.OpenWorld != nil
}

// fits holds the server's definition of a tool against its rule: the sum that
// pins it, and what its annotations must say. A tool that has changed since it
// was pinned is logged, once.
func (g *gate) fits(p *policy.Profile, server string, rule policy.Rule, t upstream.Tool) error {
	field, why := Unfit(t, rule)
	switch field {
	case "":
		return nil
	case "execution":
		return refuse("tool_not_found", "%s.%s is not offered: %s", server, clip(t.Name), why)
	case "sha256":
		err := refuse("policy", "%s.%s: refused by profile %q (%s): %s", server, clip(t.Name), p.Name, rule.Pos, why)
		if _, told := g.told.LoadOrStore(server+"\x00"+t.Name, true); !told {
			g.log.Warn(err.Error())
		}
		return err
	}
	return refuse("policy", "%s.%s: denied by profile %q (%s): %s", server, clip(t.Name), p.Name, rule.Pos, why)
}

// Unfit says what of a tool, as its server defines it, is not as a rule wants
// it, or cannot be called at all: the field of the rule or the tool, and why. Both are empty for a tool that fits.
func Unfit(t upstream.Tool, rule policy.Rule) (field, why string) {
	if t.TaskOnly {
		return "execution", "its server runs it only as a task, and the bridge makes no tasks"
	}
	if rule.SHA256 != "" {
		if sum := upstream.ToolHash(t); sum != rule.SHA256 {
			return "sha256", fmt.Sprintf("the server defines the tool otherwise than when it was pinned: sha256 is %s, the rule has %s", sum, rule.SHA256)
		}
	}
	return hintsOf(t).against(rule)
}

// hints are a tool's annotations. The specification (ToolAnnotations of
// 2025-11-25) has usual values for those that a server leaves out.
type hints struct {
	ReadOnly    *bool `json:"readOnlyHint"`
	Destructive *bool `json:"destructiveHint"`
	Idempotent  *bool `json:"idempotentHint"`
	OpenWorld   *bool `json:"openWorldHint"`
}

// hintsOf reads a tool's annotations. One that is no boolean says nothing.
func hintsOf(t upstream.Tool) hints {
	var raw map[string]json.RawMessage
	json.Unmarshal(t.Annotations, &raw)
	hint := func(name string) *bool {
		var b *bool
		if json.Unmarshal(raw[name], &b) != nil {
			return nil
		}
		return b
	}
	return hints{hint("readOnlyHint"), hint("destructiveHint"), hint("idempotentHint"), hint("openWorldHint")}
}

// against says which of the annotations is not as a rule wants it, and why;
// nothing if all are.
func (h hints) against(r policy.Rule) (field, why string) {
	// "This property is meaningful only when readOnlyHint == false": a tool
	// that changes nothing destroys nothing, and does so any number of times.
	reads := h.ReadOnly != nil && *h.ReadOnly
	for _, a := range []struct {
		name         string
		wanted, said *bool
		usual        bool
	}{
		{"readOnly", r.ReadOnly, h.ReadOnly, false},
		{"destructive", r.Destructive, h.Destructive, !reads},
		{"idempotent", r.Idempotent, h.Idempotent, reads},
		{"openWorld", r.OpenWorld, h.OpenWorld, true},
	} {
		switch {
		case a.wanted == nil:
		case a.said == nil && *a.wanted != a.usual:
			return a.name, fmt.Sprintf("it wants %s: %t, of which the server says nothing, so that it is %t", a.name, *a.wanted, a.usual)
		case a.said != nil && *a.wanted != *a.said:
			return a.name, fmt.Sprintf("it wants %s: %t, and the server says %t", a.name, *a.wanted, *a.said)
		}
	}
	return "", ""
}
