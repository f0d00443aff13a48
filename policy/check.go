package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// CheckRun decides on a run before it starts: whether the profile mounts the
// servers that it names, and whether it may take the timeout, in seconds, that
// it asks for, if it does. The errors are worded for the agent.
func (p *Profile) CheckRun(servers []string, timeout *int) error {
	for _, name := range servers {
		if _, ok := p.allow[name]; !ok {
			return p.unknown(name)
		}
	}
	if timeout == nil {
		return nil
	}
	if *timeout < 1 {
		return fmt.Errorf("timeout %d: at least 1 second", *timeout)
	}
	if most := int(p.Timeout.Max / time.Second); *timeout > most {
		return fmt.Errorf("timeout %d: at most %d, the maximum of %s", *timeout, most, p.Source("timeout.max"))
	}
	return nil
}

// A Decision is the rule that allows a call, and the arguments that it allows:
// those that were sent, written anew. Nothing else must go to the server.
type Decision struct {
	Rule
	Args json.RawMessage
}

// CheckCall decides on a call of a tool. If it is denied the error is a *Denial,
// and if the profile does not mount the server an *UnknownServer. The error
// holds nothing of the arguments but their names.
func (p *Profile) CheckCall(server, tool string, args json.RawMessage) (Decision, error) {
	m, ok := p.allow[server]
	if !ok {
		return Decision{}, p.unknown(server)
	}
	deny := func(at Pos, reason string) (Decision, error) {
		return Decision{}, &Denial{Server: server, Tool: tool, Profile: p.Name, Pos: at, Allows: m.allows, Reason: reason}
	}
	rule, ok := m.rule(tool)
	if !ok {
		return deny(m.pos, "")
	}
	if rule.bad != "" {
		return deny(rule.Pos, rule.bad)
	}
	sent, values, err := arguments(args, rule.args != nil)
	if err != nil {
		return deny(rule.Pos, err.Error())
	}
	if rule.args != nil {
		if bad := rule.args.check(values, sent); bad != nil {
			if bad.pos.Line == 0 {
				bad.pos = rule.Pos
			}
			return deny(bad.pos, bad.Error())
		}
	}
	return Decision{rule.Rule, sent}, nil
}

func (p *Profile) unknown(server string) error {
	return &UnknownServer{Server: server, Profile: p.Name, Servers: sortedKeys(p.allow)}
}

// A Denial is a call that no rule allows.
type Denial struct {
	Server   string
	Tool     string // or the URI of a resource
	Resource bool
	Profile  string
	Pos      Pos      // of the rules that do not allow it
	Allows   []string // what they do allow, in the order of the policy
	Reason   string   // what is wrong with the call, where a rule is for its tool
}

// Error says what was denied, by what, and what would have been allowed.
func (d *Denial) Error() string {
	const most = 8
	if d.Reason != "" {
		return fmt.Sprintf("%s: denied by profile %q (%s): %s", d.subject(), d.Profile, d.Pos, d.Reason)
	}
	allows := "nothing"
	if n := len(d.Allows); n > most {
		allows = fmt.Sprintf("%s, +%d more", strings.Join(d.Allows[:most], ", "), n-most)
	} else if n > 0 {
		allows = strings.Join(d.Allows, ", ")
	}
	return fmt.Sprintf("%s: denied by profile %q (%s); it allows %s", d.subject(), d.Profile, d.Pos, allows)
}

// An UnknownServer is a server that the profile does not mount.
type UnknownServer struct {
	Server  string
	Profile string
	Servers []string // those that it mounts, sorted
}

// Error names the servers that there are.
func (u *UnknownServer) Error() string {
	return unknownServer(u.Server, fmt.Sprintf(" in profile %q", u.Profile), "it mounts none", u.Servers)
}

func unknownServer(name, where, none string, servers []string) string {
	if len(servers) > 0 {
		none = "servers: " + strings.Join(servers, ", ")
	}
	return fmt.Sprintf("unknown server %q%s; %s%s", shorten(name), where, none, DidYouMean(name, servers))
}

// shorten keeps a name that the sandbox sent from filling a message.
func shorten(name string) string {
	const most = 100
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}

// Rule is the rule under which calls of a tool are allowed, if there is one,
// whatever it wants of their arguments.
func (p *Profile) Rule(server, tool string) (Rule, bool) {
	m, ok := p.allow[server]
	if !ok {
		return Rule{}, false
	}
	r, ok := m.rule(tool)
	return r.Rule, ok && r.bad == ""
}

// ReadsArguments reports whether the rule for a tool looks at a call's
// arguments, so that only with them there is a decision.
func (p *Profile) ReadsArguments(server, tool string) bool {
	m, ok := p.allow[server]
	if !ok {
		return false
	}
	rule, ok := m.rule(tool)
	return ok && rule.args != nil
}
