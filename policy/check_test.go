package policy

import (
	"errors"
	"fmt"
	"math/rand"
	"runtime"
	"strings"
	"sync"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

// profile is profile p of a policy of one file.
func profile(t testing.TB, text string) *Profile {
	t.Helper()
	policy, err := load([]source{{"team.cue", []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Profile("p")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const calls = `
_writers: {merge: {}, [=~"^put_"]: {}}
#readers: {[=~"^get_"]: {}, [=~"(?i)^SHOW"]: {}}
servers: {github: command: "gh", linear: command: "ln", wiki: command: "w", none: command: "n", many: command: "m"}
profiles: p: servers: {
	github: tools: {
		list_issues: {description: "what is open"}
		[=~"^get_"]: {}
		get_secret: {}
		[=~"_read$"]: {}
		[=~"^a.*z$"]: {}
		"odd name": {}
		maybe?: {}
	}
	linear: tools: #readers
	wiki: tools: {_writers, [!~"_" & !="x"]: {}}
	none: {}
	many: tools: {a: {}, b: {}, c: {}, d: {}, e: {}, f: {}, g: {}, h: {}, i: {}, j: {}}
}
profiles: all: servers: github: tools: [_]: {}
`

// A call is allowed by the rule with its name, else by the first pattern that
// has it, and the rule's place is known.
func TestCheckCall(t *testing.T) {
	p := profile(t, calls)
	for _, c := range []struct{ server, tool, want string }{
		{"github", "list_issues", "team.cue:7:3"},
		{"github", "get_me", "team.cue:8:3"},
		{"github", "get_secret", "team.cue:9:3"}, // its name goes before a pattern
		{"github", "get_read", "team.cue:8:3"},   // the first of two patterns
		{"github", "a_read", "team.cue:10:3"},
		{"github", "abz", "team.cue:11:3"},
		{"github", "odd name", "team.cue:12:3"},
		{"github", "maybe", "team.cue:13:3"},
		{"github", "delete_repo", `github.delete_repo: denied by profile "p" (team.cue:6:10); it allows list_issues, =~"^get_", get_secret, =~"_read$", =~"^a.*z$", odd name, maybe`},
		{"github", "Get_me", `github.Get_me: denied by profile "p" (team.cue:6:10); it allows list_issues, =~"^get_", get_secret, =~"_read$", =~"^a.*z$", odd name, maybe`},
		{"github", "", `github.: denied by profile "p" (team.cue:6:10); it allows list_issues, =~"^get_", get_secret, =~"_read$", =~"^a.*z$", odd name, maybe`},
		{"linear", "get_issue", "team.cue:3:12"},
		{"linear", "shown", "team.cue:3:29"},
		{"linear", "set_issue", `linear.set_issue: denied by profile "p" (team.cue:15:10); it allows =~"^get_", =~"(?i)^SHOW"`},
		{"wiki", "merge", "team.cue:2:12"},
		{"wiki", "put_page", "team.cue:2:23"},
		{"wiki", "page", "team.cue:16:26"},
		{"wiki", "x", `wiki.x: denied by profile "p" (team.cue:16:8); it allows merge, =~"^put_", !~"_" & !="x"`},
		{"none", "get", `none.get: denied by profile "p" (team.cue:17:2); it allows nothing`},
		{"many", "z", `many.z: denied by profile "p" (team.cue:18:8); it allows a, b, c, d, e, f, g, h, +2 more`},
		{"githb", "get", `unknown server "githb" in profile "p"; servers: github, linear, many, none, wiki; did you mean github?`},
		{"quite-other", "get", `unknown server "quite-other" in profile "p"; servers: github, linear, many, none, wiki`},
	} {
		rule, err := p.CheckCall(c.server, c.tool, []byte(`{}`))
		got := rule.Pos.String()
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
	var denial *Denial
	_, err := p.CheckCall("many", "z", nil)
	if !errors.As(err, &denial) || len(denial.Allows) != 10 {
		t.Errorf("%#v is not a denial with all that is allowed", err)
	}
	var unknown *UnknownServer
	if _, err := p.CheckCall("other", "z", nil); !errors.As(err, &unknown) {
		t.Errorf("%#v is not an unknown server", err)
	}
}

// What the sandbox sends is bounded before it is matched, kept or printed.
func TestCheckCallOfLongNames(t *testing.T) {
	p := profile(t, "servers: s: command: \"s\"\nprofiles: p: servers: s: tools: [_]: {}\n")
	long := strings.Repeat("é", 1<<20)
	_, err := p.CheckCall("s", long, nil)
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("a long name of a tool: %.400v", err)
	}
	_, err = p.CheckCall(long, "x", nil)
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("a long name of a server: %.400v", err)
	}
}

// The zero profile allows nothing.
func TestZeroProfile(t *testing.T) {
	var p Profile
	if _, err := p.CheckCall("s", "t", nil); err == nil || err.Error() != `unknown server "s" in profile ""; it mounts none` {
		t.Errorf("a call: %v", err)
	}
	if p.CheckRun([]string{"s"}, nil) == nil || p.AllowsTool("s", "t") {
		t.Error("a server can be used")
	}
}

func TestCheckRun(t *testing.T) {
	p := profile(t, calls)
	seconds := func(n int) *int { return &n }
	for _, c := range []struct {
		servers []string
		timeout *int
		want    string
	}{
		{nil, nil, "<nil>"},
		{[]string{"github", "linear"}, seconds(120), "<nil>"},
		{nil, seconds(1), "<nil>"},
		{[]string{"github", "lineer"}, nil, `unknown server "lineer" in profile "p"; servers: github, linear, many, none, wiki; did you mean linear?`},
		{nil, seconds(121), `timeout 121: at most 120, the maximum of profile "p"`},
		{nil, seconds(0), `timeout 0: at least 1 second`},
		{nil, seconds(-5), `timeout -5: at least 1 second`},
	} {
		if got := fmt.Sprint(p.CheckRun(c.servers, c.timeout)); got != c.want {
			t.Errorf("%v:\n got: %s\nwant: %s", c.servers, got, c.want)
		}
	}
}

// Deciding by our own look-up is deciding as CUE does: a tool is allowed if it
// is a field that the tools, closed, let be.
func TestDecisionsAreCUEs(t *testing.T) {
	parts := []string{`a: {}`, `ab: {}`, `b?: {}`, `[=~"^a"]: {}`, `[=~"b$"]: {}`, `[=~"^c" & !~"a"]: {}`, `[!="b"]: {}`, `["abc" | "cab"]: {}`, `[string]: {}`}
	combine := []string{`{%s, %s}`, `{%s} & {%s}`, `close({%s}) & {%s}`, `{close({%s}), %s}`, `close({%s}) & close({%s})`, `#a & {_x: 1, %[2]s}`, `#a & #b`}
	names := []string{"", "a", "b", "c", "aa", "ab", "ac", "ba", "bb", "ca", "cb", "abc", "cab", "bab"}
	decided := 0
	for _, c := range combine {
		for _, a := range parts {
			for _, b := range parts {
				text := fmt.Sprintf("#a: {%s}\n#b: {%s}\n_t: ", a, b)
				if strings.Contains(c, "#") {
					text += strings.ReplaceAll(c, "%[2]s", b)
				} else {
					text += fmt.Sprintf(c, a, b)
				}
				policy, err := one(t, text+"\nservers: s: command: \"s\"\nprofiles: p: servers: s: tools: _t\n")
				if err != nil {
					continue // one does not allow what the other has
				}
				p, _ := policy.Profile("p")
				v := cuecontext.New().CompileString(text + "\nout: close(_t)").LookupPath(cue.ParsePath("out"))
				if v.Err() != nil {
					t.Fatalf("%s: %v", text, v.Err())
				}
				for _, name := range names {
					decided++
					if got, want := p.AllowsTool("s", name), v.Allows(cue.Str(name)) && possible(v, name); got != want {
						t.Errorf("%s\n%q: %v, and CUE %v", text, name, got, want)
					}
				}
			}
		}
	}
	t.Logf("%d decisions", decided)
}

// possible reports whether the struct can have the field. Allows does not look at
// all that closes it.
func possible(v cue.Value, name string) bool {
	at := cue.MakePath(cue.Str(name))
	return v.FillPath(at, map[string]any{}).LookupPath(at).Validate() == nil
}

// Any number of goroutines may ask, and nothing that they ask is kept for good.
func TestCheckCallAtOnce(t *testing.T) {
	p := profile(t, calls)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			random := rand.New(rand.NewSource(int64(g)))
			for range 5000 {
				name := fmt.Sprintf("get_%d", random.Int63())
				for _, server := range []string{"github", "linear", "wiki"} {
					if _, err := p.CheckCall(server, name, nil); (err == nil) != (server != "wiki") {
						t.Errorf("%s.%s: %v", server, name, err)
					}
				}
			}
		}()
	}
	wg.Wait()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("the heap grew by %d bytes over 40,000 names", grown)
	}
	runtime.KeepAlive(p)
}

func TestDidYouMean(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"githb", "; did you mean github?"}, {"GitHub", "; did you mean github?"}, {"gihtub", "; did you mean github?"},
		{"gitlab", "; did you mean github?"}, {"linear", ""}, {"g", ""}, {"", ""}, {"x", ""},
	} {
		if got := DidYouMean(c.name, []string{"github", "wiki", "a"}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func BenchmarkCheckCall(b *testing.B) {
	p := profile(b, calls)
	for _, c := range []struct{ name, server, tool string }{
		{"name", "github", "list_issues"},
		{"pattern", "github", "get_me"},
		{"denied", "github", "delete_repo"},
		{"definition", "linear", "get_issue"},
		{"constraint", "wiki", "page"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.CheckCall(c.server, c.tool, nil)
			}
		})
	}
	b.Run("ask", func(b *testing.B) { // CUE, without what it said before
		b.ReportAllocs()
		a := p.allow["linear"].asker
		for b.Loop() {
			a.ask("get_issue")
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := Load(nil); err != nil {
			b.Fatal(err)
		}
	}
}

// Names without end cost no memory without end: CUE keeps what it is asked.
func TestCheckCallWithoutEnd(t *testing.T) {
	p := profile(t, calls)
	tail := strings.Repeat("x", 400)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for i := range 3 * maxAsked {
		if _, err := p.CheckCall("wiki", fmt.Sprint("no_", i, tail), nil); err == nil {
			t.Fatal("allowed")
		}
	}
	if grown := heap() - before; grown > 64<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	for tool, allowed := range map[string]bool{"merge": true, "put_a": false, "x": false} {
		if got := p.AllowsTool("wiki", tool); got != allowed {
			t.Errorf("%s: allowed is %v", tool, got)
		}
	}
}

// AllowsTool reports whether some call of the tool would be allowed.
func (p *Profile) AllowsTool(server, tool string) bool {
	m, ok := p.allow[server]
	if !ok {
		return false
	}
	rule, ok := m.rule(tool)
	return ok && rule.bad == ""
}
