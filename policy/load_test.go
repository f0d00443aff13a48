package policy

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"bridge/definition"
)

// The embedded policies have no mistakes, mount nothing, and are what the
// repository has.
func TestEmbedded(t *testing.T) {
	p, err := Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.Profiles(), " "); got != "default strict" {
		t.Errorf("profiles %s", got)
	}
	for _, name := range p.Profiles() {
		profile, err := p.Profile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(profile.Servers) > 0 {
			t.Errorf("%s mounts %v", name, profile.Servers)
		}
	}
	if _, err := Load([]string{filepath.Join("..", "policies")}); err != nil {
		t.Errorf("policies/: %v", err)
	}

	if _, err := p.Profile("stric"); err == nil || err.Error() != `unknown profile "stric"; profiles: default, strict; did you mean strict?` {
		t.Errorf("an unknown profile: %v", err)
	}
	strict, _ := p.Profile("strict")
	want := Limits{Memory: 256 << 20, CPUs: 0.5, PIDs: 64, Files: 256, Tmp: 32 << 20, Workspace: 64 << 20, Shm: 16 << 20}
	if strict.Limits != want || strict.Timeout != (Timeout{30 * time.Second, 60 * time.Second}) {
		t.Errorf("strict: %+v", strict)
	}
}

// A profile is what the policy says, and the defaults where it says nothing.
func TestProfile(t *testing.T) {
	usual := Profile{
		Name:     "p",
		User:     "65534:65534",
		Limits:   Limits{Memory: 512 << 20, CPUs: 1, PIDs: 128, Files: 256, Tmp: 64 << 20, Workspace: 128 << 20, Shm: 16 << 20},
		Timeout:  Timeout{30 * time.Second, 120 * time.Second},
		Output:   24 << 10,
		Parallel: 32,
		Session:  Session{Persist: true, Idle: time.Hour},
		Budget:   Budget{PerRun: -1, PerSession: -1, Parallel: -1, BytesPerRun: -1, BytesPerSession: -1},
		Audit:    Audit{Enabled: true, Bytes: 256 << 20},
		Memory:   Memory{Mode: "on", Bytes: 16 << 20, Keys: 1000},
		Format:   "compact",
	}
	for _, c := range []struct {
		name, policy string
		change       func(*Profile)
	}{
		{"nothing", `profiles: p: {}`, func(p *Profile) {}},
		{"everything", `
servers: s: {description: "d", command: "c", args: ["a", "b"], env: K: "${V}", cwd: "/w", timeout: {start: 2.5, call: 90}}
servers: a: command: "c"
servers: unused: command: "c"
profiles: p: {
	description: "d"
	engine:      "native"
	python:      "/venv/bin/python"
	limits: {memory: 1Gi, cpus: 1.5, pids: 8, files: 1024, tmp: 1Mi, workspace: 2Mi, shm: 3Mi}
	timeout: {default: 5, max: 6}
	output:   2Ki
	parallel: 1
	session: {persist: false, idle: 0.5}
	servers: {s: {}, a: {}, w: {}, off: {}}
	bytes: perSession: 1Gi
	calls: {perRun: 0, perSession: 500, parallel: 4}
	audit: {enabled: false, arguments: true, code: true, bytes: 8Mi}
	memory: {mode: "readOnly", bytes: 1Mi, keys: 5}
	state:  "~/state"
	format: "toon"
}
servers: s: envFile: "/w/.env"
servers: w: {url: "https://wiki.example/mcp?a=b", headers: Authorization: "Bearer ${T}"}
servers: off: {url: "http://[::1]:80", transport: "sse", disabled: true}
`, func(p *Profile) {
			*p = Profile{
				Name: "p", Description: "d", Engine: "native", Python: "/venv/bin/python", User: "65534:65534",
				Limits:  Limits{Memory: 1 << 30, CPUs: 1.5, PIDs: 8, Files: 1024, Tmp: 1 << 20, Workspace: 2 << 20, Shm: 3 << 20},
				Timeout: Timeout{5 * time.Second, 6 * time.Second}, Output: 2 << 10, Parallel: 1,
				Session: Session{Persist: false, Idle: time.Second / 2},
				Budget:  Budget{0, 500, 4, -1, 1 << 30, Pos{"team.cue", 15, 2}},
				Audit:   Audit{false, false, true, true, 8 << 20, true},
				Memory:  Memory{"readOnly", 1 << 20, 5},
				State:   "~/state", Format: "toon",
				Servers: []definition.Server{
					{Name: "a", Command: "c", Env: map[string]string{}, StartTimeout: 30 * time.Second, CallTimeout: 60 * time.Second},
					{Name: "s", Description: "d", Command: "c", Args: []string{"a", "b"}, Env: map[string]string{"K": "${V}"}, EnvFile: "/w/.env", Cwd: "/w",
						StartTimeout: 2500 * time.Millisecond, CallTimeout: 90 * time.Second},
					{Name: "w", Env: map[string]string{}, URL: "https://wiki.example/mcp?a=b", Headers: map[string]string{"Authorization": "Bearer ${T}"},
						Transport: "http", StartTimeout: 30 * time.Second, CallTimeout: 60 * time.Second},
				},
			}
		}},
		{"a container", `profiles: p: {
	engine:  "podman"
	image:   "registry.example:5000/team/python@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	pull:    "missing"
	rootful: true
	user:    "1000"
	security: ["label=level:s0:c100,c200", "mask=/proc/cpuinfo"]
	mounts: [{source: "/srv/data", target: "/data"}, {source: "~/out", target: "/out", writable: true, relabel: true}]
	limits: enforced: true
}`, func(p *Profile) {
			p.Engine, p.Pull, p.Rootful, p.User, p.Limits.Enforced = "podman", true, true, "1000:1000", true
			p.Image = "registry.example:5000/team/python@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
			p.Security = []string{"label=level:s0:c100,c200", "mask=/proc/cpuinfo"}
			p.Mounts = []Folder{{Source: "/srv/data", Target: "/data"}, {Source: "~/out", Target: "/out", Writable: true, Relabel: true}}
		}},
		{"a smaller maximum", `profiles: p: timeout: max: 10`, func(p *Profile) {
			p.Timeout = Timeout{10 * time.Second, 10 * time.Second}
		}},
		{"defaults of its own", "_base: {limits: pids: *16 | int, limits: files: *32 | int}\nprofiles: p: _base\nprofiles: p: limits: files: 64\n", func(p *Profile) {
			p.Limits.PIDs, p.Limits.Files = 16, 64
		}},
		{"a constraint that the default meets", `profiles: p: limits: {memory: <=1Gi, pids: >100 & <200}`, func(p *Profile) {}},
		{"a constraint of what is not written", `profiles: p: {limits: memory?: <=1Gi, image?: =~"^localhost/"}`, func(p *Profile) {}},
		{"for every profile", "profiles: [_]: output: 4Ki\nprofiles: p: {}\n", func(p *Profile) { p.Output = 4 << 10 }},
		{"a definition", "#base: limits: pids: 16\nprofiles: p: #base\n", func(p *Profile) { p.Limits.PIDs = 16 }},
		{"computed", "import \"strings\"\n_n: \"d\"\nprofiles: p: description: strings.ToUpper(\"x\\(_n)\")\n", func(p *Profile) { p.Description = "XD" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := *profile(t, c.policy)
			got.allow, got.from = nil, nil
			want := usual
			c.change(&want)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("\n got: %+v\nwant: %+v", got, want)
			}
		})
	}
}

// Files use each other's fields, with or without a package.
func TestSeveralFiles(t *testing.T) {
	p, err := load([]source{
		{"a.cue", []byte("package policy\nprofiles: p: limits: _small\n")},
		{"b.cue", []byte("_small: pids: 16\n")},
		{"c.cue", []byte("import \"list\"\nprofiles: p: output: list.Max([2Ki, 3Ki])\n")},
		{"empty.cue", nil},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := p.Profile("p"); got.Limits.PIDs != 16 || got.Output != 3<<10 {
		t.Errorf("%+v", got)
	}
}

// A folder is the .cue files directly in it, and files keep the names that they
// were given by.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"team/a.cue": "profiles: a: {}\n", "team/b.cue": "profiles: b: outptu: 1\n",
		"team/.hidden.cue": "not CUE", "team/notes.txt": "not CUE", "team/sub/c.cue": "not CUE",
		"empty/notes.txt": "not CUE", "big.cue": "//" + strings.Repeat(" ", maxFile), "bad.cue": "profiles: a: x: 1\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const mistake = ":1:14: profiles.b.outptu: unknown field; did you mean output?"
	for _, c := range []struct{ paths, want string }{
		{"team/a.cue", ""},
		{"team/a.cue team/a.cue ./team/a.cue", ""},
		{"team", "team/b.cue" + mistake},
		{"team/", "team/b.cue" + mistake},
		{"./team", "./team/b.cue" + mistake},
		{dir + "/team", dir + "/team/b.cue" + mistake},
		{"bad.cue team", "bad.cue:1:14: profiles.a.x: unknown field; fields: audit, bytes, calls, description, discover, engine, format, image, limits, memory, mounts, output, packages, parallel, pull, python, requirements, rootful, security, servers, session, state, timeout, user\nteam/b.cue" + mistake},
		{"none.cue empty team", "none.cue: no such file or folder\nempty: no .cue file in this folder"},
		{"big.cue", "big.cue: larger than 1048576 bytes, the most a policy file may have"},
		{os.DevNull, os.DevNull + ": not a regular file"},
	} {
		got := ""
		if _, err := Load(strings.Fields(c.paths)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s:\n got: %s\nwant: %s", c.paths, got, c.want)
		}
	}
}

// FuzzLoad loads whatever there is. What is wrong with it is told at a place in
// it, and what is right makes profiles that keep the schema's bounds.
func FuzzLoad(f *testing.F) {
	for _, text := range []string{
		calls, "", "package policy\n", "profiles: p: limits: memory: 1", "profiles: [N=_]: description: \"a \\(N)\"\nprofiles: p: {}",
		"import \"strings\"\nservers: s: command: strings.MinRunes(2)", "a: {b: a}", "x: \"\\(y", "let x = 5\nprofiles: p: output: x*1Ki",
		"profiles: p: servers: s: tools: {[=~\"(\"]: {}, ...}", "_a: [...int] & [1, 2]", "@x\n", "profiles: p: {if true {output: 4Ki}}",
		"#d: {a?: int}\nprofiles: p: #d & {...}", "profiles: p: timeout: max: *10 | 20", "'\\x00'", "servers: \"\\u0000\": command: \"x\"",
		"[+_]", "profiles: [+_]", "servers: s: command: \"c\"\nprofiles: p: servers: s: tools: [+_]", // lists that CUE takes for structs
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4<<10 {
			return // what larger ones may take is bounded, which has its own test
		}
		p, err := loadAnyway([]source{{"team.cue", []byte(text)}})
		mistakes, ok := err.(Errors)
		if err != nil && !ok {
			t.Fatalf("the error is not a list of mistakes: %v", err)
		}
		lines := strings.Count(text, "\n") + 1
		for _, m := range mistakes {
			if m.Pos.File != "team.cue" || m.Pos.Line > lines || m.Message == "" || strings.Contains(m.Error(), "\n") {
				t.Errorf("%#v", m)
			}
		}
		if err != nil {
			return
		}
		for _, name := range p.Profiles() {
			profile, err := p.Profile(name)
			if err != nil || profile.Limits.Memory < 64<<20 || profile.Timeout.Default < time.Second || profile.Timeout.Default > profile.Timeout.Max ||
				profile.Limits.CPUs <= 0 || profile.Output < 1<<10 || profile.Parallel < 1 || profile.Session.Idle <= 0 {
				t.Errorf("%+v, %v", profile, err)
			}
			for _, s := range profile.Servers {
				profile.CheckCall(s.Name, "get_me", nil)
				if s.Command == "" {
					t.Errorf("no command: %+v", s)
				}
			}
		}
	})
}

// A user's folder may be called as that of the policies of the binary.
func TestFolderCalledBuiltIn(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("built-in", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("built-in/strict.cue", []byte("profiles: own: {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	all, err := Load([]string{"built-in"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"own": false, "strict": true} {
		if p, err := all.Profile(name); err != nil || p.BuiltIn() != want {
			t.Errorf("profile %s: %v, %v", name, p, err)
		}
	}
}
