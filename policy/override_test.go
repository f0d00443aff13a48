package policy

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// choose is profile p of a policy, with what an environment chooses.
func choose(text string, env ...string) (*Profile, error) {
	policy, err := load([]source{{"team.cue", []byte(text)}})
	if err != nil {
		return nil, err
	}
	overrides, err := Overrides(env)
	if err != nil {
		return nil, err
	}
	return policy.Profile("p", overrides...)
}

// A variable sets what the profile leaves open, and nothing else.
func TestOverride(t *testing.T) {
	const free = "profiles: p: {}\n"
	for _, c := range []struct {
		name, policy, env string // what env has is apart by semicolons
		change            func(*Profile)
	}{
		{"none", free, "PATH=/bin;MCP_BRIDGE_MEMORY=;MCP_BRIDGE_OTHER=5", func(p *Profile) {}},
		{"every one", free, "MCP_BRIDGE_RUNTIME=Podman;MCP_BRIDGE_IMAGE=localhost/team/python:3;MCP_BRIDGE_CONTAINER_USER=1000;" +
			"MCP_BRIDGE_SECURITY_OPT=label=type:container_t  no-new-privileges;MCP_BRIDGE_MEMORY_LIMIT=2g;MCP_BRIDGE_PIDS_LIMIT=200;" +
			"MCP_BRIDGE_CPUS=1.50;MCP_BRIDGE_TIMEOUT=45;MCP_BRIDGE_MAX_TIMEOUT=90;MCP_BRIDGE_SESSION_PERSIST=false;MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT=0.5;" +
			"MCP_BRIDGE_STATE_DIR=~/my state;MCP_BRIDGE_OUTPUT_MODE=TOON",
			func(p *Profile) {
				p.Engine, p.Image, p.User = "podman", "localhost/team/python:3", "1000:1000"
				p.Security = []string{"label=type:container_t", "no-new-privileges"}
				p.Limits.Memory, p.Limits.PIDs, p.Limits.CPUs = 2<<30, 200, 1.5
				p.Timeout = Timeout{45 * time.Second, 90 * time.Second}
				p.Session = Session{Persist: false, Idle: time.Second / 2}
				p.State, p.Format = "~/my state", "toon"
			}},
		{"other spellings", free, "MCP_BRIDGE_MEMORY= 300Mi ;MCP_BRIDGE_PIDS=16;MCP_BRIDGE_CPU_QUOTA=50000", func(p *Profile) {
			p.Limits.Memory, p.Limits.PIDs, p.Limits.CPUs = 300<<20, 16, 0.5
		}},
		{"both spellings, the same", free, "MCP_BRIDGE_MEMORY=1g;MCP_BRIDGE_MEMORY_LIMIT=1024m;MCP_BRIDGE_CPUS=0.5;MCP_BRIDGE_CPU_QUOTA=50000", func(p *Profile) {
			p.Limits.Memory, p.Limits.CPUs = 1<<30, 0.5
		}},
		{"within a bound", "profiles: p: limits: memory: <=1Gi", "MCP_BRIDGE_MEMORY=1g", func(p *Profile) { p.Limits.Memory = 1 << 30 }},
		{"in place of a default", "profiles: p: limits: memory: *64Mi | <=1Gi", "MCP_BRIDGE_MEMORY=1g", func(p *Profile) { p.Limits.Memory = 1 << 30 }},
		{"the same as the profile", "profiles: p: limits: memory: 1Gi", "MCP_BRIDGE_MEMORY=1g", func(p *Profile) { p.Limits.Memory = 1 << 30 }},
		{"a default that is left", "profiles: p: limits: memory: *64Mi | <=1Gi", "MCP_BRIDGE_PIDS=16", func(p *Profile) { p.Limits.Memory, p.Limits.PIDs = 64<<20, 16 }},
		{"one of a choice", `profiles: p: engine: *"podman" | "docker"`, "MCP_BRIDGE_RUNTIME=docker", func(p *Profile) { p.Engine = "docker" }},
		{"what is computed from it", "profiles: p: limits: {memory: *256Mi | int, tmp: memory - 100Mi}", "MCP_BRIDGE_MEMORY=300m", func(p *Profile) {
			p.Limits.Memory, p.Limits.Tmp = 300<<20, 200<<20
		}},
		{"a timeout raises the maximum", free, "MCP_BRIDGE_TIMEOUT=300", func(p *Profile) { p.Timeout = Timeout{300 * time.Second, 300 * time.Second} }},
		{"a timeout raises the maximum within a bound", "profiles: p: timeout: max: <=600", "MCP_BRIDGE_TIMEOUT=300", func(p *Profile) {
			p.Timeout = Timeout{300 * time.Second, 300 * time.Second}
		}},
		{"a maximum lowers the usual timeout", free, "MCP_BRIDGE_MAX_TIMEOUT=10", func(p *Profile) { p.Timeout = Timeout{10 * time.Second, 10 * time.Second} }},
		{"another profile stays", "profiles: {p: {}, q: limits: memory: 64Mi}", "MCP_BRIDGE_MEMORY=1g", func(p *Profile) { p.Limits.Memory = 1 << 30 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := choose(c.policy, strings.Split(c.env, ";")...)
			if err != nil {
				t.Fatal(err)
			}
			want := *profile(t, free)
			c.change(&want)
			is := *got
			is.chosen, is.allow, want.allow, is.from, want.from = nil, nil, nil, nil, nil
			if !reflect.DeepEqual(is, want) {
				t.Errorf("\n got: %+v\nwant: %+v", is, want)
			}
		})
	}
}

// A value that is malformed, or that the profile forbids, is refused with the
// variable, the value, and the rule that it breaks.
func TestOverrideRefused(t *testing.T) {
	const free = "profiles: p: {}\n"
	for _, c := range []struct{ policy, env, want string }{
		{free, "MCP_BRIDGE_MEMORY_LIMIT=lots", `MCP_BRIDGE_MEMORY_LIMIT: "lots" is not a size such as 512m or 2g`},
		{free, "MCP_BRIDGE_MEMORY=-1;MCP_BRIDGE_PIDS=1.5;MCP_BRIDGE_CPUS=1e400;MCP_BRIDGE_SESSION_PERSIST=maybe", `
MCP_BRIDGE_MEMORY: "-1" is not a size such as 512m or 2g
MCP_BRIDGE_PIDS: "1.5" is not a whole number such as 64
MCP_BRIDGE_CPUS: "1e400" is not a number of processors such as 0.5 or 2
MCP_BRIDGE_SESSION_PERSIST: "maybe" is neither true nor false`},
		{free, "MCP_BRIDGE_CPU_QUOTA=-1;MCP_BRIDGE_TIMEOUT=30s;MCP_BRIDGE_MAX_TIMEOUT=1m;MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT=NaN;MCP_BRIDGE_RUNTIME=lxc", `
MCP_BRIDGE_RUNTIME: "lxc" is not an engine; engines: podman, docker, native
MCP_BRIDGE_CPU_QUOTA: "-1" is not a number of microseconds in each 100 milliseconds such as 50000 for half a processor
MCP_BRIDGE_MAX_TIMEOUT: "1m" is not a whole number of seconds such as 30
MCP_BRIDGE_TIMEOUT: "30s" is not a whole number of seconds such as 30
MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: "NaN" is not a number of seconds such as 300`},
		{free, "MCP_BRIDGE_MEMORY=1g;MCP_BRIDGE_MEMORY_LIMIT=2g;MCP_BRIDGE_CPUS=1;MCP_BRIDGE_CPU_QUOTA=50000", `
MCP_BRIDGE_MEMORY: "1g" differs from MCP_BRIDGE_MEMORY_LIMIT, which is "2g"
MCP_BRIDGE_CPU_QUOTA: "50000" differs from MCP_BRIDGE_CPUS, which is "1"`},
		{free, "MCP_BRIDGE_TIMEOUT=300;MCP_BRIDGE_MAX_TIMEOUT=200", `MCP_BRIDGE_TIMEOUT: "300" is more than MCP_BRIDGE_MAX_TIMEOUT, which is "200"`},

		{free, "MCP_BRIDGE_MEMORY=1m;MCP_BRIDGE_PIDS=100000", `
MCP_BRIDGE_MEMORY: profiles.p.limits.memory: invalid value 1048576 (out of bound >=67108864)
MCP_BRIDGE_PIDS: profiles.p.limits.pids: invalid value 100000 (out of bound <=4096)`},
		{free, "MCP_BRIDGE_TIMEOUT=9223372036854775807", `
MCP_BRIDGE_TIMEOUT: profiles.p.timeout.default: invalid value 9223372036854775807 (out of bound <=86400)
MCP_BRIDGE_TIMEOUT: profiles.p.timeout.max: invalid value 9223372036854775807 (out of bound <=86400)`},
		{free, `MCP_BRIDGE_IMAGE=x\(y)" | _`, `MCP_BRIDGE_IMAGE: profiles.p.image: invalid image "x\\(y)\" | _": a name such as localhost/team/python:3, in lower case, or with a digest, name@sha256:<64 hexadecimal digits>`},
		{free, "MCP_BRIDGE_CONTAINER_USER=0:0", `MCP_BRIDGE_CONTAINER_USER: profiles.p.user: invalid user "0:0": the number of one that is not root, such as 65534, or with that of its group 65534:65534`},
		{free, "MCP_BRIDGE_SECURITY_OPT=no-new-privileges seccomp=unconfined", `MCP_BRIDGE_SECURITY_OPT: profiles.p.security.1: invalid security option "seccomp=unconfined": one that adds to the built-in ones: label=type:NAME (or user, role, level), apparmor=PROFILE, mask=PATH`},

		{free, "MCP_BRIDGE_STATE_DIR=state;MCP_BRIDGE_OUTPUT_MODE=json", `MCP_BRIDGE_STATE_DIR: profiles.p.state: invalid state "state": the path of a folder that begins with / or ~/`},
		{free, "MCP_BRIDGE_STATE_DIR=/s;MCP_BRIDGE_OUTPUT_MODE=yaml", `MCP_BRIDGE_OUTPUT_MODE: "yaml" is not an output mode; modes: compact, toon, json`},

		{`profiles: p: state: "/var/lib/bridge"`, "MCP_BRIDGE_STATE_DIR=~/", `profiles.p.state: conflicting values "/var/lib/bridge" and "~/": team.cue:1:21, MCP_BRIDGE_STATE_DIR`},
		{`profiles: p: state: =~"^/var/" | *"/var/lib"`, "MCP_BRIDGE_STATE_DIR=/tmp", `profiles.p.state: invalid value "/tmp" (out of bound =~"^/var/"): team.cue:1:21, MCP_BRIDGE_STATE_DIR`},
		{`profiles: p: format: "json"`, "MCP_BRIDGE_OUTPUT_MODE=toon", `profiles.p.format: conflicting values "json" and "toon": team.cue:1:22, MCP_BRIDGE_OUTPUT_MODE`},
		{`profiles: p: format: *"compact" | "json"`, "MCP_BRIDGE_OUTPUT_MODE=toon", `profiles.p.format: conflicting values "compact", "json" and "toon": team.cue:1:23, team.cue:1:35, MCP_BRIDGE_OUTPUT_MODE`},
		{"profiles: p: limits: memory: <=512Mi", "MCP_BRIDGE_MEMORY_LIMIT=2g", `profiles.p.limits.memory: invalid value 2147483648 (out of bound <=536870912): team.cue:1:30, MCP_BRIDGE_MEMORY_LIMIT`},
		{"profiles: p: limits: memory: *256Mi | <=512Mi", "MCP_BRIDGE_MEMORY=2g", `profiles.p.limits.memory: invalid value 2147483648 (out of bound <=536870912): team.cue:1:39, MCP_BRIDGE_MEMORY`},
		{"profiles: p: limits: memory?: <=512Mi", "MCP_BRIDGE_MEMORY=2g", `profiles.p.limits.memory: invalid value 2147483648 (out of bound <=536870912): team.cue:1:31, MCP_BRIDGE_MEMORY`},
		{"profiles: [_]: limits: memory: <=512Mi\nprofiles: p: {}", "MCP_BRIDGE_MEMORY=2g", `profiles.p.limits.memory: invalid value 2147483648 (out of bound <=536870912): team.cue:1:32, MCP_BRIDGE_MEMORY`},
		{"profiles: p: limits: memory: 256Mi", "MCP_BRIDGE_MEMORY=128m", `profiles.p.limits.memory: conflicting values 268435456 and 134217728: team.cue:1:30, MCP_BRIDGE_MEMORY`},
		{`profiles: p: engine: *"podman" | "docker"`, "MCP_BRIDGE_RUNTIME=native", `profiles.p.engine: conflicting values "podman", "docker" and "native": team.cue:1:23, team.cue:1:34, MCP_BRIDGE_RUNTIME`},
		{`profiles: p: image?: =~"^localhost/"`, "MCP_BRIDGE_IMAGE=python", `profiles.p.image: invalid value "python" (out of bound =~"^localhost/"): team.cue:1:22, MCP_BRIDGE_IMAGE`},
		{`profiles: p: security: []`, "MCP_BRIDGE_SECURITY_OPT=label=type:x", `MCP_BRIDGE_SECURITY_OPT: profiles.p.security: incompatible list lengths (0 and 1)`},
		{"#b: limits: pids: 64\nprofiles: p: #b", "MCP_BRIDGE_MEMORY=1g", `MCP_BRIDGE_MEMORY: profiles.p.limits.memory: field not allowed by a definition (#...) or close() that this is combined with; fields with _ in place of # stay open`},
		{"profiles: p: timeout: max: 60", "MCP_BRIDGE_TIMEOUT=300", `profiles.p.timeout.max: conflicting values 60 and 300: team.cue:1:28, MCP_BRIDGE_TIMEOUT`},
		{"profiles: p: timeout: default: 30", "MCP_BRIDGE_MAX_TIMEOUT=10", `profiles.p.timeout.default: 30 is more than timeout.max, which is 10: team.cue:1:32, MCP_BRIDGE_MAX_TIMEOUT`},
		{`profiles: p: python: "/x"`, "MCP_BRIDGE_RUNTIME=podman;MCP_BRIDGE_PIDS=64", `profiles.p.python: it is for the engine native, and this profile has podman: team.cue:1:22, MCP_BRIDGE_RUNTIME, MCP_BRIDGE_PIDS`},
		{`profiles: p: engine: "native"`, "MCP_BRIDGE_IMAGE=python", `MCP_BRIDGE_IMAGE: profiles.p.image: it is for the engines podman and docker, and this profile has native`},
		{"profiles: p: limits: {memory: *256Mi | int, tmp: memory - 100Mi}", "MCP_BRIDGE_MEMORY=64Mi", `profiles.p.limits.tmp: invalid value -37748736 (out of bound >=1048576): team.cue:1:50, MCP_BRIDGE_MEMORY`},
		{"profiles: p: {limits: memory: *256Mi | int, if limits.memory > 1Gi {session: persist: false, session: persist: true}}", "MCP_BRIDGE_MEMORY=2g", `profiles.p.session.persist: conflicting values true and false: team.cue:1:14, team.cue:1:45, team.cue:1:87, team.cue:1:112, MCP_BRIDGE_MEMORY`},
	} {
		got := ""
		_, err := choose(c.policy, strings.Split(c.env, ";")...)
		if err != nil {
			got = err.Error()
		}
		if got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%s + %s:\n got: %s\nwant: %s", c.policy, c.env, got, c.want)
		}
		if _, ok := err.(Errors); !ok {
			t.Errorf("%s + %s: the error is a %T, not Errors", c.policy, c.env, err)
		}
	}
}

// Sizes are spelled as container engines and CUE have them.
func TestSize(t *testing.T) {
	for given, want := range map[string]string{
		"0": "0", "1048576": "1048576", "1b": "1", "1k": "1024", "1K": "1024", "1kb": "1024", "1Ki": "1024", "1KiB": "1024",
		"512m": "536870912", "512M": "536870912", "512MB": "536870912", "512Mi": "536870912", "1.5g": "1610612736", "2 GiB": "2147483648", "1t": "1099511627776",
		"": "", "m": "", "-1": "", "+1": "", "1x": "", "1bb": "", "1mm": "", "1e3": "", "0x10": "", "99999999999t": "", "1 2": "", "1.g": "", "1,5g": "",
	} {
		got, ok := sizeCUE(given)
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%q is %q, not %q", given, got, want)
		}
	}
}

// What a limit is of is said where it is told to an agent.
func TestSource(t *testing.T) {
	p, err := choose("profiles: p: {}", "MCP_BRIDGE_MEMORY=1g", "MCP_BRIDGE_TIMEOUT=300")
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{
		"limits.memory": "MCP_BRIDGE_MEMORY", "timeout.max": "MCP_BRIDGE_TIMEOUT", "limits.pids": `profile "p"`,
	} {
		if got := p.Source(field); got != want {
			t.Errorf("%s is of %s, not %s", field, got, want)
		}
	}
	late := 301
	if err := p.CheckRun(nil, &late); err == nil || err.Error() != "timeout 301: at most 300, the maximum of MCP_BRIDGE_TIMEOUT" {
		t.Error(err)
	}
}

// Rules keep their places and what they allow beside overrides.
func TestOverrideKeepsRules(t *testing.T) {
	p, err := choose(calls, "MCP_BRIDGE_MEMORY=1g")
	if err != nil {
		t.Fatal(err)
	}
	plain := profile(t, calls)
	for _, tool := range []string{"list_issues", "get_me", "get_secret", "SHOW_x", "merge", "put_x", "x", "delete"} {
		for _, s := range plain.Servers {
			want, wantErr := plain.CheckCall(s.Name, tool, nil)
			got, err := p.CheckCall(s.Name, tool, nil)
			if !reflect.DeepEqual(got, want) || (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
				t.Errorf("%s.%s: %v, %v, not %v, %v", s.Name, tool, got, err, want, wantErr)
			}
		}
	}
}

// The profile "strict" can be made tighter by variables, and not looser;
// "default" both.
func TestOverrideEmbedded(t *testing.T) {
	p, err := Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		profile string
		env     []string
		right   bool
	}{
		{"default", []string{"MCP_BRIDGE_MEMORY=8g", "MCP_BRIDGE_PIDS=1024", "MCP_BRIDGE_CPUS=4", "MCP_BRIDGE_TIMEOUT=600", "MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT=86400"}, true},
		{"default", []string{"MCP_BRIDGE_MEMORY=64m", "MCP_BRIDGE_PIDS=8", "MCP_BRIDGE_CPUS=0.1", "MCP_BRIDGE_MAX_TIMEOUT=5"}, true},
		{"strict", []string{"MCP_BRIDGE_MEMORY=128m", "MCP_BRIDGE_PIDS=16", "MCP_BRIDGE_CPU_QUOTA=25000", "MCP_BRIDGE_TIMEOUT=45", "MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT=60"}, true},
		{"strict", []string{"MCP_BRIDGE_MAX_TIMEOUT=10"}, true},
		{"strict", []string{"MCP_BRIDGE_MEMORY=257m"}, false},
		{"strict", []string{"MCP_BRIDGE_PIDS=65"}, false},
		{"strict", []string{"MCP_BRIDGE_CPUS=0.51"}, false},
		{"strict", []string{"MCP_BRIDGE_TIMEOUT=61"}, false},
		{"strict", []string{"MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT=901"}, false},
	} {
		overrides, err := Overrides(c.env)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Profile(c.profile, overrides...); (err == nil) != c.right {
			t.Errorf("%s with %v: %v", c.profile, c.env, err)
		}
	}
}

// FuzzOverrides sets variables to whatever there is: it is refused with the
// variable named, or is within the profile's bounds and changes nothing else.
func FuzzOverrides(f *testing.F) {
	for _, v := range []string{"1", "512m", "0.5", "true", "podman", "a/b:c", `"`, `\(`, "_|_", "1\n}\nprofiles: p: output: 1", "\x00", "\xff", "é", "65534:65534", "label=type:x y"} {
		for i := range variables() {
			f.Add(i, v)
		}
	}
	p, err := load([]source{{"team.cue", []byte("profiles: p: {limits: {memory: <=1Gi, pids: *16 | <=64, cpus?: <=2}, timeout: max: <=600, output: 2Ki}")}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, i int, value string) {
		vars := variables()
		v := vars[uint(i)%uint(len(vars))]
		overrides, err := Overrides([]string{v.name + "=" + value})
		if err == nil && len(overrides) == 0 {
			return
		}
		var profile *Profile
		if err == nil {
			profile, err = p.Profile("p", overrides...)
		}
		if err != nil {
			if mistakes, ok := err.(Errors); !ok || !strings.Contains(err.Error(), v.name) || strings.Contains(err.Error(), "\x00") {
				t.Errorf("%q: %#v", value, mistakes)
			}
			return
		}
		if l := profile.Limits; l.Memory > 1<<30 || l.PIDs > 64 || l.CPUs > 2 || profile.Timeout.Max > 600*time.Second || profile.Timeout.Default > profile.Timeout.Max ||
			profile.Output != 2<<10 || strings.HasPrefix(profile.User, "0") || profile.Rootful {
			t.Errorf("%s=%q: %+v", v.name, value, profile)
		}
	})
}
