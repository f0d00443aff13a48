package policy

import (
	"fmt"
	"strings"
	"testing"

	"bridge/definition"
)

const budgets = `
_pins: {add: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
servers: {s: command: "s", t: command: "t"}
profiles: p: servers: {
	s: {
		calls: {perRun: 7, perSession: 70}
		tools: {
			[=~"^get_"]: {calls: perRun: 10, confirm: true, result: redact: ["a+"]}
			[=~"_all$"]: {calls: perSession: 20, bytes: perRun: 1Ki, timeout: 2.5}
			[=~"_once$"]: calls: perRun: 1
			[=~"^open_"]: calls: perRun: <=5
			get_all: readOnly: true
			open_four: calls: perRun: 4
			maybe_all?: {sum: amount: perRun: 2.5, openWorld: false}
			plain: {}
			open: {confirm: bool, result: images: bool}
			none: {calls: perRun: 0, result: {max: 5, images: false}}
		}
	}
	t: tools: [N=string]: {sha256: _pins[N], calls: perRun: 3}
}
`

// rulings is what of a rule differs from one that says nothing.
func rulings(r Rule) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, " "+format, args...) }
	fmt.Fprintf(&b, "%s %q", r.Pos, r.ID)
	if r.Budget != (Budget{-1, -1, -1, -1, -1, Pos{}}) {
		say("budget %v", r.Budget)
	}
	for _, s := range r.Sums {
		say("sum %v", s)
	}
	if r.Confirm {
		say("confirm")
	}
	for name, truth := range map[string]*bool{"readOnly": r.ReadOnly, "destructive": r.Destructive, "idempotent": r.Idempotent, "openWorld": r.OpenWorld} {
		if truth != nil {
			say("%s %v", name, *truth)
		}
	}
	if r.SHA256 != "" {
		say("sha256 %.4s…", r.SHA256)
	}
	if r.Result.Max > 0 {
		say("max %d", r.Result.Max)
	}
	for _, re := range r.Result.Redact {
		say("redact %v", re)
	}
	if !r.Result.Images {
		say("no images")
	}
	if r.Timeout > 0 {
		say("timeout %v", r.Timeout)
	}
	return b.String()
}

// A tool has all that its name and the patterns that it matches say. Where they
// contradict each other, or leave open what is allowed, it is denied.
func TestRules(t *testing.T) {
	p := profile(t, budgets)
	for _, c := range []struct{ server, tool, want string }{
		{"s", "plain", `team.cue:15:4 "s\x00plain"`},
		{"s", "open", `team.cue:16:4 "s\x00open"`},
		{"s", "none", `team.cue:17:4 "s\x00none" budget {0 -1 -1 -1 -1 team.cue:17:11} max 5 no images`},
		{"s", "get_me", `team.cue:8:4 "s\x00[=~\"^get_\"]" budget {10 -1 -1 -1 -1 team.cue:8:18} confirm redact a+`},
		{"s", "list_all", `team.cue:9:4 "s\x00[=~\"_all$\"]" budget {-1 20 -1 1024 -1 team.cue:9:18} timeout 2.5s`},
		{"s", "get_it_all", `team.cue:8:4 "s\x00[=~\"^get_\"][=~\"_all$\"]" budget {10 20 -1 1024 -1 team.cue:8:18} confirm redact a+ timeout 2.5s`},
		{"s", "get_all", `team.cue:12:4 "s\x00get_all" budget {10 20 -1 1024 -1 team.cue:8:18} confirm readOnly true redact a+ timeout 2.5s`},
		{"s", "maybe_all", `team.cue:14:4 "s\x00maybe_all" budget {-1 20 -1 1024 -1 team.cue:9:18} sum {amount 2.5 +Inf team.cue:14:22} openWorld false timeout 2.5s`},
		{"s", "get_once", `s.get_once: denied by profile "p" (team.cue:8:4): conflicting values 10 and 1 (the other at team.cue:10:33)`},
		{"s", "open_four", `team.cue:13:4 "s\x00open_four" budget {4 -1 -1 -1 -1 team.cue:11:18}`},
		{"s", "open_five", `s.open_five: denied by profile "p" (team.cue:11:4): calls.perRun: <=5 is not a concrete value`},
		{"t", "add", `team.cue:20:12 "t\x00[string]" budget {3 -1 -1 -1 -1 team.cue:20:43} sha256 0123…`},
		{"t", "sub", `t.sub: denied by profile "p" (team.cue:20:12): sha256: _pins["sub"] is not a concrete value`},
	} {
		for range 2 { // worked out, and known
			rule, err := p.CheckCall(c.server, c.tool, []byte(`{}`))
			got := rulings(rule.Rule)
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s.%s:\n got: %s\nwant: %s", c.server, c.tool, got, c.want)
			}
			if p.AllowsTool(c.server, c.tool) != (err == nil) {
				t.Errorf("%s.%s: AllowsTool says otherwise", c.server, c.tool)
			}
		}
	}
	if got, want := p.MountBudget("s"), (Budget{7, 70, -1, -1, -1, Pos{"team.cue", 6, 3}}); got != want {
		t.Errorf("of s: %v, want %v", got, want)
	}
	if got, want := p.MountBudget("t"), (Budget{-1, -1, -1, -1, -1, Pos{}}); got != want {
		t.Errorf("of t: %v, want %v", got, want)
	}
	if got := p.MountBudget("other"); got != (Budget{}) {
		t.Errorf("of a server that is not mounted: %v, which allows calls", got)
	}
}

// Of the servers that are found, a profile mounts those that it names, or has a
// pattern for, and that the policy does not define itself.
func TestWithServers(t *testing.T) {
	p := profile(t, `
servers: {own: command: "own", off: {command: "off", disabled: true}}
profiles: p: {
	discover: ["clients"]
	servers: {
		own: tools: get: {}
		off: tools: get: {}
		named: tools: [=~"^get"]: {}
		[=~"^git"]: {tools: get_me: {}, calls: perRun: 5}
		[=~"hub$"]: tools: [=~"^list_"]: {}
		[=~"^bad"]: calls: perRun: 1
		[=~"hub-bad$"]: calls: perRun: 2
		bad: {}
	}
}
`)
	if got := names(p); got != "own" {
		t.Errorf("at first: %s", got)
	}
	found := []definition.Server{
		{Name: "own", Command: "evil"}, {Name: "off"}, {Name: "wiki"}, {Name: "named", Command: "first"}, {Name: "named", Command: "second"},
		{Name: "github", StartTimeout: 5}, {Name: "git.hub"}, {Name: "gitlab"}, {Name: "bad-hub-bad"}, {Name: "bad"}, {Name: "hub-hub"},
	}
	q := p.WithServers(found)
	if got := names(q); got != "bad github gitlab hub-hub named own" {
		t.Errorf("mounted: %s", got)
	}
	if names(p) != "own" || p.AllowsTool("named", "get") {
		t.Error("the profile itself has changed")
	}
	for _, s := range q.Servers {
		if s.Name == "own" && s.Command != "own" || s.Name == "named" && s.Command != "first" {
			t.Errorf("%+v", s)
		}
		if s.CallTimeout.Seconds() != 60 || s.Name == "github" && s.StartTimeout != 5 || s.Name != "github" && s.StartTimeout.Seconds() != 30 {
			t.Errorf("timeouts of %s: %v, %v", s.Name, s.StartTimeout, s.CallTimeout)
		}
	}
	for _, c := range []struct{ server, tool, want string }{
		{"own", "get", "team.cue:6:15"},
		{"named", "get", "team.cue:8:17"},
		{"github", "get_me", "team.cue:9:23"},
		{"github", "list_issues", "team.cue:10:22"},
		{"gitlab", "list_issues", `gitlab.list_issues: denied by profile "p" (team.cue:9:16); it allows get_me`},
		{"off", "get", `unknown server "off" in profile "p"; servers: bad, github, gitlab, hub-hub, named, own; did you mean own?`},
	} {
		rule, err := q.CheckCall(c.server, c.tool, nil)
		got := rule.Pos.String()
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s.%s:\n got: %s\nwant: %s", c.server, c.tool, got, c.want)
		}
	}
	if got := q.MountBudget("github").PerRun; got != 5 {
		t.Errorf("calls of github: %d", got)
	}
	if got := names(profile(t, calls).WithServers(found)); got != "github linear many none wiki" {
		t.Errorf("a profile that discovers nothing: %s", got)
	}
}

func names(p *Profile) string {
	var list []string
	for _, s := range p.Servers {
		list = append(list, s.Name)
	}
	return strings.Join(list, " ")
}
