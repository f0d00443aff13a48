package policy

import (
	"strings"
	"testing"
)

// one loads a policy of one file.
func one(t *testing.T, text string) (*Policy, error) {
	t.Helper()
	return load([]source{{"team.cue", []byte(text)}})
}

// Every kind of mistake is reported at its place in the user's file, in full.
func TestMistakes(t *testing.T) {
	const servers = `servers: {github: command: "gh", linear: command: "ln"}
`
	for _, c := range []struct{ name, policy, want string }{
		{"syntax", "profiles: {\n\tx: {\n", `
team.cue:2:7: expected '}', found 'EOF'`},
		{"syntax twice", "a: )\nb: ]\n", `
team.cue:1:4: expected operand, found ')'`},
		{"reference", "profiles: x: limits: memory: big\n", `
team.cue:1:30: profiles.x.limits.memory: reference "big" not found`},

		{"unknown at the top", "server: {}\n", `
team.cue:1:1: server: unknown field; did you mean servers?`},
		{"unknown and far from any", "team: 5\n", `
team.cue:1:1: team: unknown field; fields: profiles, servers; a policy's own begin with _ or #`},
		{"unknown in a profile", "profiles: x: limit: memory: 64Mi\n", `
team.cue:1:14: profiles.x.limit: unknown field; did you mean limits?`},
		{"unknown in limits", "profiles: x: limits: {\n\tmemroy: 64Mi\n\tspeed: 5\n}\n", `
team.cue:2:2: profiles.x.limits.memroy: unknown field; did you mean memory?
team.cue:3:2: profiles.x.limits.speed: unknown field; fields: cpus, enforced, files, memory, pids, shm, tmp, workspace`},
		{"unknown in a rule", servers + "profiles: x: servers: github: tools: get: descripton: \"d\"\n", `
team.cue:2:43: profiles.x.servers.github.tools.get.descripton: unknown field; did you mean description?`},
		{"unknown in a pattern", servers + "profiles: x: servers: github: tools: [=~\"^get_\"]: when: \"d\"\n", `
team.cue:2:51: profiles.x.servers.github.tools[=~"^get_"].when: unknown field; fields: args, bytes, calls, confirm, description, destructive, idempotent, openWorld, readOnly, result, sha256, sum, timeout`},
		{"a pattern where names are fixed", "profiles: x: [_]: 5\n", `
team.cue:1:14: profiles.x[_]: the names of the fields here are fixed; fields: audit, bytes, calls, description, discover, engine, format, image, limits, memory, mounts, output, packages, parallel, pull, python, requirements, rootful, security, servers, session, state, timeout, user`},

		{"rules for arguments that nothing matches", "import \"strings\"\n" + servers + `profiles: x: servers: github: tools: {
	a: args: {n: >5 & <3, m?: >5 & <3, never?: _|_, s!: string & 1}
	[=~"^b"]: args: {l?: [...{x!: "a" & "b"}]}
	c: args: 5
	d: args?: {}
	e: args: {re?: !~_broken, len!: strings.MaxRunes("80")}
}
_broken: "("
`, `
team.cue:4:15: profiles.x.servers.github.tools.a.args.n: incompatible number bounds <3 and >5
team.cue:4:28: profiles.x.servers.github.tools.a.args.m: incompatible number bounds <3 and >5
team.cue:4:54: profiles.x.servers.github.tools.a.args.s: conflicting values string and 1 (the other at team.cue:4:63)
team.cue:5:32: profiles.x.servers.github.tools[=~"^b"].args.l[_].x: conflicting values "a" and "b" (the other at team.cue:5:38)
team.cue:6:11: profiles.x.servers.github.tools.c.args: invalid value 5 (int, want struct)
team.cue:7:5: profiles.x.servers.github.tools.d.args: with ? it holds for no call; leave out the ?
team.cue:8:17: profiles.x.servers.github.tools.e.args.re: invalid pattern "(": missing closing )`},
		{"rules for arguments that refer to themselves", servers + `profiles: x: servers: github: tools: a: args: #Node
#Node: {v!: int, next?: #Next}
#Next: #Node
`, `
team.cue:4:8: a rule for arguments cannot refer to itself: how long a check takes would have no bound`},
		{"not yet: profiles", `profiles: x: {env: A: "b", network: "host"}
`, `
team.cue:1:15: profiles.x.env: environment variables for the sandbox are not supported by this version
team.cue:1:28: profiles.x.network: networks for the sandbox are not supported by this version`},

		{"servers over HTTP", `servers: {
	a: {url: "wiki.example/mcp"}
	b: {url: "https://wiki.example/mcp#top", headers: "A B": "c", transport: "htp"}
	c: {url: "https://", headers: {A: "b\r\nc", B: 5}}
	d: {url: "https://wiki.example", command: "d"}
	e: {url: "https://wiki.example", args: ["e"], env: A: "b", cwd: "/", envFile: "/e"}
	f: {command: "f", headers: A: "b", transport: "sse", disabled: "yes", envFile: ""}
}
`, `
team.cue:2:11: servers.a.url: invalid url "wiki.example/mcp": one that begins with http:// or https://, without spaces and #
team.cue:3:11: servers.b.url: invalid url "https://wiki.example/mcp#top": one that begins with http:// or https://, without spaces and #
team.cue:3:52: servers.b.headers."A B": invalid name of a header: letters, digits and -, without spaces and colons
team.cue:3:75: servers.b.transport: unknown transport "htp"; one of http, sse; did you mean http?
team.cue:4:11: servers.c.url: invalid url "https://": one that begins with http:// or https://, without spaces and #
team.cue:4:36: servers.c.headers.A: invalid header: it is one line
team.cue:4:49: servers.c.headers.B: invalid value 5 (int, want string)
team.cue:5:6: servers.d.url: a server has a command or a url, and this one has both
team.cue:6:35: servers.e.args: it is for servers with a command, and this one has a url
team.cue:6:48: servers.e.env: it is for servers with a command, and this one has a url
team.cue:6:61: servers.e.cwd: it is for servers with a command, and this one has a url
team.cue:6:71: servers.e.envFile: it is for servers with a command, and this one has a url
team.cue:7:20: servers.f.headers: it is for servers with a url, and this one has a command
team.cue:7:37: servers.f.transport: it is for servers with a url, and this one has a command
team.cue:7:65: servers.f.disabled: invalid value "yes" (string, want bool)
team.cue:7:81: servers.f.envFile: must not be empty`},
		{"what outlives a session", `profiles: {
	a: {memory: {mode: "readonly", bytes: 0, keys: 0}, state: "state", format: "text", audit: {enabled: 1, files: true}}
	b: {memory: {bytes: 2Gi, keys: 1000000}, state: "/a\nb"}
}
`, `
team.cue:2:21: profiles.a.memory.mode: unknown mode "readonly"; one of on, readOnly, off; did you mean readOnly?
team.cue:2:40: profiles.a.memory.bytes: invalid value 0 (out of bound >=1024)
team.cue:2:49: profiles.a.memory.keys: invalid value 0 (out of bound >=1)
team.cue:2:60: profiles.a.state: invalid state "state": the path of a folder that begins with / or ~/
team.cue:2:77: profiles.a.format: unknown format "text"; one of compact, toon, json
team.cue:2:102: profiles.a.audit.enabled: invalid value 1 (int, want bool)
team.cue:2:105: profiles.a.audit.files: unknown field; fields: arguments, bytes, code, enabled, required
team.cue:3:22: profiles.b.memory.bytes: invalid value 2147483648 (out of bound <=1073741824)
team.cue:3:33: profiles.b.memory.keys: invalid value 1000000 (out of bound <=100000)
team.cue:3:50: profiles.b.state: invalid state "/a\nb": the path of a folder that begins with / or ~/`},
		{"budgets", servers + `profiles: x: {
	calls: {perRun: -1, perSession: 1.5, parallel: 0, perDay: 5}
	bytes: {perRun: "1Mi", parallel: 2}
	servers: github: {
		calls: 5
		tools: {
			[_]: calls: perRun: -1
			pay: {sum: {amount: 5, fee: {perRun: -1, perCall: 1}, [=~"_cents$"]: perRun: 5}}
		}
	}
}
`, `
team.cue:3:18: profiles.x.calls.perRun: invalid value -1 (out of bound >=0)
team.cue:3:34: profiles.x.calls.perSession: invalid value 1.5 (float, want int)
team.cue:3:49: profiles.x.calls.parallel: invalid value 0 (out of bound >=1)
team.cue:3:52: profiles.x.calls.perDay: unknown field; did you mean perRun?
team.cue:4:18: profiles.x.bytes.perRun: invalid value "1Mi" (string, want int)
team.cue:4:25: profiles.x.bytes.parallel: unknown field; fields: perRun, perSession
team.cue:6:10: profiles.x.servers.github.calls: invalid value 5 (int, want struct)
team.cue:8:24: profiles.x.servers.github.tools[_].calls.perRun: invalid value -1 (out of bound >=0)
team.cue:9:24: profiles.x.servers.github.tools.pay.sum.amount: invalid value 5 (int, want struct)
team.cue:9:41: profiles.x.servers.github.tools.pay.sum.fee.perRun: invalid value -1 (out of bound >=0)
team.cue:9:45: profiles.x.servers.github.tools.pay.sum.fee.perCall: unknown field; fields: perRun, perSession
team.cue:9:58: profiles.x.servers.github.tools.pay.sum[=~"_cents$"]: a sum is of one argument, by its name`},
		{"sums of arguments that are not numbers", servers + `profiles: x: servers: github: tools: {
	pay: {args: close({amount!: number, to!: string, fee?: int}), sum: {amount: perRun: 5, to: perRun: 5, tip: perRun: 5, fee: perRun: 1}}
	[=~"^buy_"]: {args: price?: <5 | string, sum: price: perRun: 5}
	[=~"^get_"]: {args: price?: string, sum: {price: perRun: 5, n: perRun: 5}}
}
`, `
team.cue:3:89: profiles.x.servers.github.tools.pay.sum.to: only numbers have a sum, and the rule's args have "to" as string
team.cue:3:104: profiles.x.servers.github.tools.pay.sum.tip: the rule's args let no call have "tip"
team.cue:5:44: profiles.x.servers.github.tools[=~"^get_"].sum.price: only numbers have a sum, and the rule's args have "price" as string`},
		{"rules", servers + `_bad: "("
profiles: x: servers: github: tools: {
	a: {confirm: "yes", readOnly: 1, sha256: "12", timeout: 0, result: {max: 0, redact: ["[a-z", _bad], images: "no"}}
	[=~"^get_"]: {sha256: "AB", result: redact: ["(?<x"]}
	b: {timeout: <=10, confirm: bool, calls: perRun: <=5}
}
`, `
team.cue:4:15: profiles.x.servers.github.tools.a.confirm: invalid value "yes" (string, want bool)
team.cue:4:32: profiles.x.servers.github.tools.a.readOnly: invalid value 1 (int, want bool)
team.cue:4:43: profiles.x.servers.github.tools.a.sha256: invalid sha256 "12": 64 hexadecimal digits, in lower case
team.cue:4:58: profiles.x.servers.github.tools.a.timeout: invalid value 0 (out of bound >0)
team.cue:4:75: profiles.x.servers.github.tools.a.result.max: invalid value 0 (out of bound >=1)
team.cue:4:87: profiles.x.servers.github.tools.a.result.redact.0: invalid pattern "[a-z": missing closing ]
team.cue:4:95: profiles.x.servers.github.tools.a.result.redact.1: invalid pattern "(": missing closing )
team.cue:4:110: profiles.x.servers.github.tools.a.result.images: invalid value "no" (string, want bool)
team.cue:5:24: profiles.x.servers.github.tools[=~"^get_"].sha256: invalid sha256 "AB": 64 hexadecimal digits, in lower case
team.cue:5:47: profiles.x.servers.github.tools[=~"^get_"].result.redact.0: invalid pattern "(?<x": invalid named capture
team.cue:6:15: profiles.x.servers.github.tools.b.timeout: <=10 is not a concrete value
team.cue:6:51: profiles.x.servers.github.tools.b.calls.perRun: <=5 is not a concrete value`},
		{"discovery", servers + `profiles: {
	a: {discover: ["claude", "mcp.json", 5], servers: {wiki: {}, "a/b": {}, [=~"^x"]: {tools: {a: {}, ...}}}}
	b: {discover: [], servers: wiki: {}}
	c: {discover: ["clients", "~/x.json", "/etc/mcp.json"], servers: {[_]: tools: [_]: {}, wiki: {}}}
}
`, `
team.cue:3:17: profiles.a.discover.0: unknown source of servers "claude"; one of clients, claude-code, claude-desktop, cursor, vscode, windsurf, codex, gemini, opencode, zed, antigravity, mcps, mcp; or a file's path that begins with / or ~/
team.cue:3:27: profiles.a.discover.1: unknown source of servers "mcp.json"; one of clients, claude-code, claude-desktop, cursor, vscode, windsurf, codex, gemini, opencode, zed, antigravity, mcps, mcp; or a file's path that begins with / or ~/
team.cue:3:39: profiles.a.discover.2: invalid value 5 (int, want string)
team.cue:3:63: profiles.a.servers."a/b": invalid name of a server: 1 to 64 printable characters, without . and /
team.cue:3:85: profiles.a.servers[=~"^x"].tools: "..." would allow every tool: write [_]: {} if that is meant
team.cue:4:29: profiles.b.servers.wiki: unknown server "wiki"; servers: github, linear`},

		{"engines", "profiles: {a: engine: \"podman\", b: engine: \"nativ\", c: engine: [\"native\"], d: engine: \"podman\" | \"docker\", e: engine: *\"lxc\" | \"docker\"}\n", `
team.cue:1:44: profiles.b.engine: unknown engine "nativ"; engines: podman, docker, native; did you mean native?
team.cue:1:64: profiles.c.engine: invalid value […] (list, want string)
team.cue:1:87: profiles.d.engine: "podman" | "docker" is not a concrete value
team.cue:1:119: profiles.e.engine: unknown engine "lxc"; engines: podman, docker, native`},
		{"containers", `profiles: {
	a: {image: "Team/Python", user: "0", rootful: "no", security: ["seccomp=unconfined", "label=disable", "apparmor=unconfined", "label=type:spc_t", "no-new-privileges=false", 5]}
	b: {image: "python@sha256:12", user: "nobody", limits: enforced: 1}
	c: {image: "", user: "1000:0"}
}
`, `
team.cue:2:13: profiles.a.image: invalid image "Team/Python": a name such as localhost/team/python:3, in lower case, or with a digest, name@sha256:<64 hexadecimal digits>
team.cue:2:34: profiles.a.user: invalid user "0": the number of one that is not root, such as 65534, or with that of its group 65534:65534
team.cue:2:48: profiles.a.rootful: invalid value "no" (string, want bool)
team.cue:2:65: profiles.a.security.0: invalid security option "seccomp=unconfined": one that adds to the built-in ones: label=type:NAME (or user, role, level), apparmor=PROFILE, mask=PATH
team.cue:2:87: profiles.a.security.1: invalid security option "label=disable": one that adds to the built-in ones: label=type:NAME (or user, role, level), apparmor=PROFILE, mask=PATH
team.cue:2:104: profiles.a.security.2: invalid security option "apparmor=unconfined": one that adds to the built-in ones: label=type:NAME (or user, role, level), apparmor=PROFILE, mask=PATH
team.cue:2:127: profiles.a.security.3: invalid security option "label=type:spc_t": one that adds to the built-in ones: label=type:NAME (or user, role, level), apparmor=PROFILE, mask=PATH
team.cue:2:147: profiles.a.security.4: invalid security option "no-new-privileges=false": one that adds to the built-in ones: label=type:NAME (or user, role, level), apparmor=PROFILE, mask=PATH
team.cue:2:174: profiles.a.security.5: invalid value 5 (int, want string)
team.cue:3:13: profiles.b.image: invalid image "python@sha256:12": a name such as localhost/team/python:3, in lower case, or with a digest, name@sha256:<64 hexadecimal digits>
team.cue:3:39: profiles.b.user: invalid user "nobody": the number of one that is not root, such as 65534, or with that of its group 65534:65534
team.cue:3:67: profiles.b.limits.enforced: invalid value 1 (int, want bool)
team.cue:4:13: profiles.c.image: invalid image "": a name such as localhost/team/python:3, in lower case, or with a digest, name@sha256:<64 hexadecimal digits>
team.cue:4:23: profiles.c.user: invalid user "1000:0": the number of one that is not root, such as 65534, or with that of its group 65534:65534`},
		{"mounts", `profiles: {
	a: mounts: [{source: "data", target: "/data"}, {source: "//data", target: "data"}, {source: "~x", target: "/"}, {source: "/a/../etc", target: "/a/.."}]
	b: mounts: [{source: "/", target: "/tmp"}, {source: "/run/user/1000/podman.sock", target: "/usr/share/x"}, {source: "/proc/1", target: "/workspace"}, {source: "/a:b", target: "/a:b"}]
	c: mounts: [{source: "/a"}, {target: "/b", readonly: true}, "/a", {source: "/srv/docker.sock", target: "/d"}]
	d: mounts: [{source: "/a", target: "/data"}, {source: "/b", target: "/data/", writable: "yes"}, {source: "/run/media/me", target: "/tmpx"}]
	e: mounts: {source: "/a", target: "/b"}
}
`, `
team.cue:2:23: profiles.a.mounts.0.source: invalid source "data": an absolute path, or one that begins with ~/, without .. and :, and nothing of the system itself (/, /dev, /proc, /run, /sys, *.sock)
team.cue:2:58: profiles.a.mounts.1.source: invalid source "//data": an absolute path, or one that begins with ~/, without .. and :, and nothing of the system itself (/, /dev, /proc, /run, /sys, *.sock)
team.cue:2:76: profiles.a.mounts.1.target: invalid target "data": an absolute path, without .. and :, that is not in what a sandbox is made of (/usr, /etc, /tmp, /workspace and the like); such as /data
team.cue:2:94: profiles.a.mounts.2.source: invalid source "~x": an absolute path, or one that begins with ~/, without .. and :, and nothing of the system itself (/, /dev, /proc, /run, /sys, *.sock)
team.cue:2:108: profiles.a.mounts.2.target: invalid target "/": an absolute path, without .. and :, that is not in what a sandbox is made of (/usr, /etc, /tmp, /workspace and the like); such as /data
team.cue:2:123: profiles.a.mounts.3.source: invalid source "/a/../etc": an absolute path, or one that begins with ~/, without .. and :, and nothing of the system itself (/, /dev, /proc, /run, /sys, *.sock)
team.cue:2:144: profiles.a.mounts.3.target: invalid target "/a/..": an absolute path, without .. and :, that is not in what a sandbox is made of (/usr, /etc, /tmp, /workspace and the like); such as /data
team.cue:3:23: profiles.b.mounts.0.source: invalid source "/": an absolute path, or one that begins with ~/, without .. and :, and nothing of the system itself (/, /dev, /proc, /run, /sys, *.sock)
team.cue:3:36: profiles.b.mounts.0.target: invalid target "/tmp": an absolute path, without .. and :, that is not in what a sandbox is made of (/usr, /etc, /tmp, /workspace and the like); such as /data
team.cue:3:54: profiles.b.mounts.1.source: invalid source "/run/user/1000/podman.sock": an absolute path, or one that begins with ~/, without .. and :, and nothing of the system itself (/, /dev, /proc, /run, /sys, *.sock)
team.cue:3:92: profiles.b.mounts.1.target: invalid target "/usr/share/x": an absolute path, without .. and :, that is not in what a sandbox is made of (/usr, /etc, /tmp, /workspace and the like); such as /data
team.cue:3:118: profiles.b.mounts.2.source: invalid source "/proc/1": an absolute path, or one that begins with ~/, without .. and :, and nothing of the system itself (/, /dev, /proc, /run, /sys, *.sock)
team.cue:3:137: profiles.b.mounts.2.target: invalid target "/workspace": an absolute path, without .. and :, that is not in what a sandbox is made of (/usr, /etc, /tmp, /workspace and the like); such as /data
team.cue:3:161: profiles.b.mounts.3.source: invalid source "/a:b": an absolute path, or one that begins with ~/, without .. and :, and nothing of the system itself (/, /dev, /proc, /run, /sys, *.sock)
team.cue:3:177: profiles.b.mounts.3.target: invalid target "/a:b": an absolute path, without .. and :, that is not in what a sandbox is made of (/usr, /etc, /tmp, /workspace and the like); such as /data
team.cue:4:14: profiles.c.mounts.0.target: required field is missing
team.cue:4:30: profiles.c.mounts.1.source: required field is missing
team.cue:4:45: profiles.c.mounts.1.readonly: unknown field; fields: relabel, source, target, writable
team.cue:4:62: profiles.c.mounts.2: invalid value "/a" (string, want struct)
team.cue:4:77: profiles.c.mounts.3.source: invalid source "/srv/docker.sock": an absolute path, or one that begins with ~/, without .. and :, and nothing of the system itself (/, /dev, /proc, /run, /sys, *.sock)
team.cue:5:70: profiles.d.mounts.1.target: "/data" and "/data", the target of another mount, are one or in each other
team.cue:5:90: profiles.d.mounts.1.writable: invalid value "yes" (string, want bool)
team.cue:6:13: profiles.e.mounts: invalid value {…} (struct, want list)`},
		{"engines and what they do not have", `profiles: {
	a: {engine: "podman", python: "/usr/bin/python3"}
	b: {engine: "native", image: "python", user: "1000", security: [], pull: "never"}
	c: {engine: "native", user: "65534"}
}
`, `
team.cue:2:32: profiles.a.python: it is for the engine native, and this profile has podman
team.cue:3:31: profiles.b.image: it is for the engines podman and docker, and this profile has native
team.cue:3:47: profiles.b.user: it is for the engines podman and docker, and this profile has native
team.cue:3:65: profiles.b.security: it is for the engines podman and docker, and this profile has native
team.cue:3:75: profiles.b.pull: it is for the engines podman and docker, and this profile has native`},
		{"left open", `profiles: {
	a: limits: {memory: >=1Gi, pids?: <64, cpus?: 0.5, shm: *1 | >=1}
	b: {image: =~"^localhost/", session: {persist?: false, idle?: <=3600}}
	c: timeout: {default: <=10, max: >=600}
}
`, `
team.cue:2:22: profiles.a.limits.memory: >=1073741824 leaves the value open, and the default, 536870912, does not fit; choose one: *VALUE | >=1073741824
team.cue:2:36: profiles.a.limits.pids: with ? this only restricts the value, and the default, 128, does not fit; leave out the ?
team.cue:2:48: profiles.a.limits.cpus: with ? this only restricts the value, and the default, 1, does not fit; leave out the ?
team.cue:2:59: profiles.a.limits.shm: invalid value 1 (out of bound >=1048576)
team.cue:3:13: profiles.b.image: =~"^localhost/" is not a concrete value
team.cue:3:50: profiles.b.session.persist: with ? this only restricts the value, and the default, true, does not fit; leave out the ?
team.cue:4:24: profiles.c.timeout.default: <=10 leaves the value open, and the default, 30, does not fit; choose one: *VALUE | <=10
team.cue:4:35: profiles.c.timeout.max: >=600 leaves the value open, and the default, 120, does not fit; choose one: *VALUE | >=600`},

		{"out of bounds", `profiles: readonly: {
	limits: {memory: 640000000000, cpus: 0, pids: 4, files: 1, tmp: 1, workspace: 1, shm: 1}
	timeout: {default: 0, max: 100000}
	output:   1
	parallel: 0
	session: idle: -1
}
`, `
team.cue:2:19: profiles.readonly.limits.memory: invalid value 640000000000 (out of bound <=68719476736)
team.cue:2:39: profiles.readonly.limits.cpus: invalid value 0 (out of bound >=0.01)
team.cue:2:48: profiles.readonly.limits.pids: invalid value 4 (out of bound >=8)
team.cue:2:58: profiles.readonly.limits.files: invalid value 1 (out of bound >=32)
team.cue:2:66: profiles.readonly.limits.tmp: invalid value 1 (out of bound >=1048576)
team.cue:2:80: profiles.readonly.limits.workspace: invalid value 1 (out of bound >=1048576)
team.cue:2:88: profiles.readonly.limits.shm: invalid value 1 (out of bound >=1048576)
team.cue:3:21: profiles.readonly.timeout.default: invalid value 0 (out of bound >=1)
team.cue:3:29: profiles.readonly.timeout.max: invalid value 100000 (out of bound <=86400)
team.cue:4:12: profiles.readonly.output: invalid value 1 (out of bound >=1024)
team.cue:5:12: profiles.readonly.parallel: invalid value 0 (out of bound >=1)
team.cue:6:17: profiles.readonly.session.idle: invalid value -1 (out of bound >0)`},
		{"wrong kinds", `servers: {
	a: {command: 5, args: "x", env: A: 5, timeout: 5}
	b: {command: "b", args: ["c", 5]}
	c: []
}
profiles: {
	a: {limits: memory: "256m", timeout: max: 60.5, session: persist: "yes", engine: 5}
	b: 5
	c: servers: a: tools: ["get"]
	d: servers: a: tools: get: true
}
`, `
team.cue:2:15: servers.a.command: invalid value 5 (int, want string)
team.cue:2:24: servers.a.args: invalid value "x" (string, want list)
team.cue:2:37: servers.a.env.A: invalid value 5 (int, want string)
team.cue:2:49: servers.a.timeout: invalid value 5 (int, want struct)
team.cue:3:32: servers.b.args.1: invalid value 5 (int, want string)
team.cue:4:5: servers.c: invalid value […] (list, want struct)
team.cue:7:22: profiles.a.limits.memory: invalid value "256m" (string, want int)
team.cue:7:44: profiles.a.timeout.max: invalid value 60.5 (float, want int)
team.cue:7:68: profiles.a.session.persist: invalid value "yes" (string, want bool)
team.cue:7:83: profiles.a.engine: invalid value 5 (int, want string)
team.cue:8:5: profiles.b: invalid value 5 (int, want struct)
team.cue:9:24: profiles.c.servers.a.tools: invalid value […] (list, want struct)
team.cue:10:29: profiles.d.servers.a.tools.get: invalid value true (bool, want struct)`},

		{"no command", "servers: a: args: []\n", `
team.cue:1:10: servers.a: a server has a command, or a url; this one has neither`},
		{"empty command", "servers: a: {command: \"\", cwd: \"\"}\n", `
team.cue:1:23: servers.a.command: must not be empty
team.cue:1:32: servers.a.cwd: must not be empty`},
		{"names", `servers: "a/b": command: "x"
servers: c: {command: "x", env: "A-B": "x"}
profiles: "../x": {}
`, `
team.cue:1:10: servers."a/b": invalid name of a server: 1 to 64 printable characters, without . and /
team.cue:2:33: servers.c.env."A-B": invalid name of an environment variable: letters, digits and _, not a digit first
team.cue:3:11: profiles."../x": invalid name of a profile: a letter or digit, then up to 63 letters, digits, _, . or -`},

		{"not concrete", `servers: {a: command: string, b: command: "x" | "y", c: {command: "c", args: [string]}}
profiles: x: limits: memory: >=1Gi
`, `
team.cue:1:23: servers.a.command: string is not a concrete value
team.cue:1:43: servers.b.command: "x" | "y" is not a concrete value
team.cue:1:79: servers.c.args.0: string is not a concrete value
team.cue:2:30: profiles.x.limits.memory: >=1073741824 leaves the value open, and the default, 536870912, does not fit; choose one: *VALUE | >=1073741824`},
		{"contradiction", "profiles: x: limits: pids: 64\nprofiles: x: limits: pids: 32\n", `
team.cue:1:28: profiles.x.limits.pids: conflicting values 64 and 32 (the other at team.cue:2:28)`},
		{"contradiction by reference", "_p: 64\nprofiles: x: limits: pids: _p\nprofiles: x: limits: pids: 32\n", `
team.cue:1:5: profiles.x.limits.pids: conflicting values 64 and 32 (from there, team.cue:2:28, team.cue:3:28)`},
		{"contradiction in what is not used", "_p: {a: 1 & 2}\n", `
team.cue:1:9: _p.a: conflicting values 1 and 2 (the other at team.cue:1:13)`},
		{"cycle", "_p: {a: _p}\n", `
team.cue:1:6: _p.a: structural cycle`},
		{"closed by a definition", "#base: limits: pids: 64\nprofiles: x: #base\nprofiles: x: output: 4Ki\n", `
team.cue:3:14: profiles.x.output: field not allowed by a definition (#...) or close() that this is combined with; fields with _ in place of # stay open`},

		{"unknown server", servers + "profiles: x: servers: {githb: {}, linear: {}}\n", `
team.cue:2:24: profiles.x.servers.githb: unknown server "githb"; servers: github, linear; did you mean github?`},
		{"no servers", "profiles: x: servers: github: {}\n", `
team.cue:1:23: profiles.x.servers.github: unknown server "github"; the policy defines none`},
		{"timeouts", "profiles: {a: timeout: {default: 90, max: 60}, b: timeout: default: 200, c: timeout: max: 10}\n", `
team.cue:1:34: profiles.a.timeout.default: 90 is more than timeout.max, which is 60
team.cue:1:69: profiles.b.timeout.default: 200 is more than timeout.max, which is 120 unless given`},
		{"open tools", servers + "profiles: x: servers: github: tools: {get: {}, ...}\n", `
team.cue:2:31: profiles.x.servers.github.tools: "..." would allow every tool: write [_]: {} if that is meant`},

		{"regular expression", servers + "profiles: x: servers: github: tools: [=~\"^get_(\"]: {}\n", `
team.cue:2:41: invalid pattern "^get_(": missing closing )`},
		{"regular expression by reference", servers + "_re: \"^get_(\"\nprofiles: x: servers: github: tools: [=~_re]: {}\n", `
team.cue:3:38: profiles.x.servers.github.tools[=~_re]: invalid pattern "^get_(": missing closing )`},
		{"a rule that never holds", servers + "profiles: x: servers: github: tools: {[_]: {}, [=~\"^delete\"]: _|_, drop?: _|_}\n", `
team.cue:2:63: profiles.x.servers.github.tools[=~"^delete"]: explicit error (_|_ literal) in source
team.cue:2:75: profiles.x.servers.github.tools.drop: explicit error (_|_ literal) in source`},
		{"a mistake in a pattern is one mistake", "profiles: [_]: output: 5\nprofiles: {a: {}, b: {}}\n", `
team.cue:1:24: profiles[_].output: invalid value 5 (out of bound >=1024)`},
		{"made by a comprehension", servers + "profiles: x: servers: github: tools: {\n\tfor n in [\"a\", \"b\"] {\"\\(n)\": argz: {}}\n}\n", `
team.cue:3:31: profiles.x.servers.github.tools.a.argz: unknown field; did you mean args?`},

		{"package", "package main\n", `
team.cue:1:9: package main: a policy is in package policy, or in none`},
		{"imports", "import \"tool/exec\"\nimport \"example.com/x\"\nimport s \"strings\"\nimport \"text/template\"\n", `
team.cue:1:8: import "tool/exec": loading a policy runs nothing and reads nothing else, so tool packages are refused
team.cue:2:8: import "example.com/x": only CUE's own packages can be imported, such as strings, list and net
team.cue:4:8: import "text/template": only CUE's own packages can be imported, such as strings, list and net`},
		{"unused import", "import \"strings\"\n", `
team.cue:1:8: imported and not used: "strings"`},
		{"attributes", "@extern(embed)\npackage policy\n_a: _ @embed(file=\"x.json\")\n", `
team.cue:1:1: attribute @extern: a policy has no attributes
team.cue:3:7: attribute @embed: a policy has no attributes`},
		{"outsized", "import \"strings\"\n_a: strings.Repeat(\"x\", 1000000)\n_b: 1000000 * \"x\"\nprofiles: x: limits: memory: 2 * 64Mi\n", `
team.cue:2:5: strings.Repeat: a policy cannot call it, as its result can be of any size
team.cue:3:13: a policy can multiply written numbers only`},
		{"deep", "_a: " + strings.Repeat("[", 5000) + "\n", `
team.cue:1:2003: nested deeper, or longer without a comma or new line, than 2000`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := one(t, c.policy)
			if err == nil {
				t.Fatal("no mistake found")
			}
			if got := "\n" + err.Error(); got != c.want {
				t.Errorf("got:%s\nwant:%s", got, c.want)
			}
			if _, ok := err.(Errors); !ok {
				t.Errorf("the error is a %T, not Errors", err)
			}
		})
	}
}

// What is wrong between files is reported in the order of the files.
func TestMistakesBetweenFiles(t *testing.T) {
	_, err := load([]source{
		{"z.cue", []byte("package policy\nprofiles: x: limits: pids: 64\n")},
		{"a.cue", []byte("profiles: x: limits: pids: 32\nprofiles: x: servers: y: {}\n")},
	})
	want := `z.cue:2:28: profiles.x.limits.pids: conflicting values 64 and 32 (the other at a.cue:1:28)
a.cue:2:23: profiles.x.servers.y: unknown server "y"; the policy defines none`
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}
