package policy

import (
	"regexp"
	"strings"
	"testing"
)

// What is hardly meant is said at its place, and a policy that says what it
// means has no warnings.
func TestWarnings(t *testing.T) {
	const servers = "servers: {github: command: \"gh\", linear: command: \"ln\"}\n"
	const both = servers + "profiles: all: servers: {github: tools: [_]: {}, linear: tools: [_]: {}}\n"
	for _, c := range []struct{ name, policy, want string }{
		{"none", both, ``},
		{"servers alone", servers, ``},
		{"servers that nobody mounts", servers + "servers: off: {command: \"x\", disabled: true}\nprofiles: x: {}\n", `
team.cue:1:11: servers.github: no profile mounts this server
team.cue:1:34: servers.linear: no profile mounts this server`},
		{"no tool", both + "_none: {}\nprofiles: x: servers: {github: {}, linear: tools: _none}\n", `
team.cue:4:24: profiles.x.servers.github: no tool of this server is allowed: tools: [_]: {} would allow every one
team.cue:4:36: profiles.x.servers.linear: no tool of this server is allowed: tools: [_]: {} would allow every one`},
		{"patterns of servers", both + `profiles: {
	x: servers: {[=~"^git"]: tools: get: {}, [=~"^none"]: tools: get: {}, github: {}}
	y: {discover: ["clients"], servers: {[=~"^git"]: {}, [_]: tools: get: timeout: 600}}
}
`, `
team.cue:4:43: profiles.x.servers[=~"^none"]: it mounts nothing: patterns match discovered servers, and this profile has no discover
team.cue:5:39: profiles.y.servers[=~"^git"]: no tool of this server is allowed: tools: [_]: {} would allow every one
team.cue:5:81: profiles.y.servers[_].tools.get.timeout: 600 s is more than a run of the profile may take, which is 120 s`},
		{"timeouts", `servers: {a: {command: "a", timeout: {start: 300, call: 90}}, b: {command: "b", timeout: call: 90}}
profiles: {
	short: {timeout: max: 60, servers: {a: tools: [_]: {}, b: tools: [_]: timeout: 60}}
	long: servers: b: tools: {[_]: {}, slow: timeout: 100, right: timeout: 90, late: timeout: 130.5}
}
`, `
team.cue:1:46: servers.a.timeout.start: 300 s is more than any run has that could wait for it: timeout.max of profile "short" is 60 s
team.cue:1:57: servers.a.timeout.call: 90 s is more than any run has that could wait for it: timeout.max of profile "short" is 60 s
team.cue:4:52: profiles.long.servers.b.tools.slow.timeout: 100 s is more than the server's timeout.call, which is 90 s
team.cue:4:92: profiles.long.servers.b.tools.late.timeout: 130.5 s is more than a run of the profile may take, which is 120 s`},
		{"budgets", both + `profiles: x: {
	parallel: 8
	calls: {perRun: 10, perSession: 5}
	bytes: {perRun: 1Ki, perSession: 1Ki}
	servers: github: {
		calls: {perRun: 5, parallel: 9}
		tools: pay: {bytes: {perRun: 2Ki, perSession: 1Ki}, sum: amount: {perRun: 2.5, perSession: 2}}
	}
}
`, `
team.cue:5:18: profiles.x.calls.perRun: 10 is more than perSession, which is 5
team.cue:8:32: profiles.x.servers.github.calls.parallel: 9 is more than the profile's parallel, which is 8
team.cue:9:32: profiles.x.servers.github.tools.pay.bytes.perRun: 2048 is more than perSession, which is 1024
team.cue:9:77: profiles.x.servers.github.tools.pay.sum.amount.perRun: 2.5 is more than perSession, which is 2`},
		{"what allows more than is meant", both + `profiles: {
	[_]: servers: [_]: tools: [=~"^delete"]: confirm: true
	[=~"^x"]: servers: github: tools: merge: readOnly: true
	x: servers: github: tools: {"get_*": {}, list: {}, [=~"^get_"]: {}}
}
`, `
team.cue:4:28: profiles[_].servers[_].tools[=~"^delete"]: this allows the tool in every profile that [_] matches, also where no other rule does
team.cue:5:36: profiles[=~"^x"].servers.github.tools.merge: this allows the tool in every profile that [=~"^x"] matches, also where no other rule does
team.cue:6:30: profiles.x.servers.github.tools."get_*": it is the name of one tool, and no pattern: that is a regular expression in brackets, such as [=~"^get_"]`},
		{"of a pattern, once", both + "profiles: [_]: calls: {perRun: 2, perSession: 1}\nprofiles: x: {}\n", `
team.cue:3:32: profiles.all.calls.perRun: 2 is more than perSession, which is 1`},
		{"patterns of tools", both + `profiles: x: servers: github: tools: {
	[=~"a$b"]: {}
	[=~"^get_me"]: {}
	[=~"^get_"]: confirm: true
	[=~"^list_"]: {confirm: false}
	[=~"^list_all_"]: {confirm: true}
	[=~"_id$"]: description: "by its number"
	get_it: {}
	get_that: confirm: true
	list: {}
	maybe_list_all?: {}
}
profiles: y: servers: github: tools: {
	[_]: readOnly: true
	[=~"_id$"]: {description: "by its number"}
	[=~"^get_"]: {calls: perRun: 5}
	delete: confirm: true
}
profiles: z: servers: github: tools: {[_]: calls: perRun: 10, get: {}, [=~"^list_"]: {}}
`, `
team.cue:4:2: profiles.x.servers.github.tools[=~"a$b"]: no name matches this pattern
team.cue:5:2: profiles.x.servers.github.tools[=~"^get_me"]: it has no effect: [=~"^get_"] (team.cue:6:2) matches all of its names, and what that says holds for them as well
team.cue:8:2: profiles.x.servers.github.tools[=~"^list_all_"]: it allows no call: [=~"^list_"] (team.cue:7:2) matches all of its names, and contradicts it: conflicting values false and true (the other at team.cue:8:30)
team.cue:10:2: profiles.x.servers.github.tools.get_it: it has no effect: what [=~"^get_"] (team.cue:6:2) says holds for this tool as well
team.cue:17:2: profiles.y.servers.github.tools[=~"_id$"]: it has no effect: [_] (team.cue:16:2) matches all of its names, and what that says holds for them as well`},
		{"a tool that is left open", both + `profiles: x: servers: github: tools: {[=~"^get"]: confirm: true, get_all?: calls: perRun: <=5}
`, `
team.cue:3:66: profiles.x.servers.github.tools.get_all: it allows no call: calls.perRun: <=5 is not a concrete value`},
		{"patterns that refer to the name", both + `_pins: get: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
profiles: x: servers: github: tools: {[N=string]: sha256: _pins[N], [=~"^get"]: confirm: true}
`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := one(t, c.policy)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, w := range p.Warnings() {
				got.WriteString("\n" + w.Error())
			}
			if got.String() != c.want {
				t.Errorf("got:%s\nwant:%s", got.String(), c.want)
			}
		})
	}
}

// The policies of the binary say what they mean.
func TestEmbeddedHasNoWarnings(t *testing.T) {
	p, err := Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range p.Warnings() {
		t.Error(w)
	}
}

func TestMatchesNothing(t *testing.T) {
	for expr, want := range map[string]bool{
		"": false, "^": false, "^$": false, "a": false, "^a$": false, "a$|b": false, "^get_.*": false, "(a|b)+$": false, `\bget`: false, "(?i)GET": false, "a*^b": false, "[a-z]{2,4}": false,
		"a$b": true, "a^b": true, "^a^b": true, "$a": true, "(a$)(b|c)": true, "a+^": true,
	} {
		if got := matchesNothing(expr); got != want {
			t.Errorf("%q: %v", expr, got)
		}
	}
}

// What one pattern is said to cover of another, it does.
func TestCovers(t *testing.T) {
	exprs := []string{"^get", "^get_", "get", "_get$", "t$", "^get$", "^get_.*", ".*get", "(?i)^get", "^(get|set)", "^get.+me$", "e", "^", "", "^get_x$", "^g.t", "get_|_get"}
	names := []string{"", "get", "get_", "get_x", "_get", "forget", "GET", "set", "getme", "get_it_me", "e", "t", "got", "x_get_x"}
	known := 0
	for _, a := range exprs {
		for _, b := range exprs {
			p, q := aPattern(t, a), aPattern(t, b)
			if !covers(p, q) {
				continue
			}
			known++
			for _, n := range names {
				if q.matches(n) && !p.matches(n) {
					t.Errorf("%q is said to cover %q, which matches %q", a, b, n)
				}
			}
		}
	}
	if known < 40 {
		t.Errorf("only %d pairs are known", known)
	}
}

func aPattern(t *testing.T, expr string) pattern {
	t.Helper()
	re, err := regexp.Compile(expr)
	if err != nil {
		t.Fatal(err)
	}
	return pattern{re: re}
}
