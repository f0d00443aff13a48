package policy

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// argsPolicy is a rule of each kind.
const argsPolicy = `
import ("strings", "list", "time", "net", "math", "struct")
#Repo: {repo!: =~"^acme/"}
_common: {args: {token?: _|_}}
servers: s: command: "s"
profiles: p: servers: s: tools: {
	issue: args: {repo!: =~"^acme/", title!: strings.MaxRunes(80), state?: "open" | "closed", n?: int & <=100, labels?: [...string] & list.MaxItems(2)}
	closed: args: close({repo!: =~"^acme/", title?: string})
	def: args: #Repo
	none: args: close({})
	alt: args: {kind!: "a", x!: int} | {kind!: "b", y!: string}
	fixed: args: {draft: true, nested: {a: >=1 & <=3, b?: [...{c!: number}]}}
	usual: args: {limit: *10 | <=100}
	when: args: {at!: time.Format("2006-01-02"), ip?: net.IPv4, m?: math.MultipleOf(5), o?: struct.MaxFields(1)}
	pair: args: {from!: int, to!: int & >=from, tup?: [int, string]}
	pats: args: {[=~"^x_"]: int, [!~"^x_"]: string}
	forbid: _common & {args: {a?: int}}
	num: args: {a?: number, i?: int, f?: float, z?: null, b?: bool, u?: !=""  & !~"^-", s?: int | "all"}
	[=~"^get_"]: args: {id!: int, ...}
	[=~"_x$"]: args: {id!: >0, q?: string}
	get_me: args: {id: <10}
	both: args: {a!: int, ...} | {b!: int, ...}
	near: args: {a?: <1, b?: !=5, c?: >0, d?: !=9007199254740992, e?: <=0.1, f?: [...<1], g?: {h?: <1}, i?: int & <10000000000000000}
	dyn: args: {kind: string, if kind == "x" {must: 1}}
}
`

// A denial names the argument, what is wrong with it and where that is written;
// what is allowed is what is sent.
func TestCheckArgs(t *testing.T) {
	p := profile(t, argsPolicy)
	for _, c := range []struct{ tool, args, want string }{
		{"issue", `{"repo": "acme/x", "title": "t"}`, `{"repo":"acme/x","title":"t"}`},
		{"issue", `{"repo": "evil/x", "title": "t"}`, `7:16 args.repo: does not match =~"^acme/"`},
		{"issue", `{"repo": "acme/x"}`, `7:35 args.title: missing; the rule wants strings.MaxRunes(80)`},
		{"issue", `{"repo": "acme/x", "title": 1}`, `7:35 args.title: an int, and the rule wants string`},
		{"issue", `{"repo": "acme/x", "title": "t", "state": "opn"}`, `7:65 args.state: none of "open", "closed"`},
		{"issue", `{"repo": "acme/x", "title": "t", "n": 101}`, `7:102 args.n: is not <=100`},
		{"issue", `{"repo": "acme/x", "title": "t", "n": 1.0}`, `7:92 args.n: a float, as it has a fraction or an exponent, and the rule wants int`},
		{"issue", `{"repo": "acme/x", "title": "t", "labels": ["a","b","c"]}`, `7:132 args.labels: does not satisfy list.MaxItems(2)`},
		{"issue", `{"repo": "acme/x", "title": "t", "labels": ["a",1]}`, `7:122 args.labels[1]: an int, and the rule wants string`},
		{"issue", `{"repo": "acme/x", "title": "t", "REPO": "evil/x"}`, `7:2 args.REPO: some servers would take it for repo: they differ in upper and lower case alone`},
		{"issue", `{"repo": "acme/x", "title": "t", "State": "evil/x"}`, `7:2 args.State: some servers would take it for state: they differ in upper and lower case alone`},
		{"issue", `{"repo": "acme/x", "title": "t", "other": {"a": [1, 2.50, -0, 12345678901234567890123]}}`, `{"repo":"acme/x","title":"t","other":{"a":[1,2.50,0,12345678901234567890123]}}`},
		// What a double does not hold is another number to a server.
		{"near", `{"a": 0.99999999999999999999}`, `23:15 args.a: is not <1, as servers read it, which round it to a double`},
		{"near", `{"b": 5.00000000000000000000000000001}`, `23:23 args.b: is not !=5, as servers read it, which round it to a double`},
		{"near", `{"c": 1e-399}`, `23:32 args.c: is not >0, as servers read it, which round it to a double`},
		{"near", `{"d": 9007199254740993}`, `23:40 args.d: is not !=9007199254740992, as servers read it, which round it to a double`},
		{"near", `{"f": [0.5, 0.99999999999999999999]}`, `23:83 args.f[1]: is not <1, as servers read it, which round it to a double`},
		{"near", `{"g": {"h": 0.99999999999999999999}}`, `23:93 args.g.h: is not <1, as servers read it, which round it to a double`},
		{"near", `{"i": 9999999999999999}`, `23:112 args.i: is not <10000000000000000, as servers read it, which round it to a double`},
		{"near", `{"a": 0.99999999999999, "d": 9007199254740991, "e": 0.1, "i": 123456789012345}`, `{"a":0.99999999999999,"d":9007199254740991,"e":0.1,"i":123456789012345}`},
		{"near", `{"e": 0.1000000000000000055511151231257827}`, `23:64 args.e: is not <=0.1`},
		{"near", `{"a": 1e-20}`, `{"a":1e-20}`},
		{"closed", `{"repo": "acme/x", "titel": "t"}`, `8:10 args.titel: not allowed; did you mean title?`},
		{"closed", `{"repo": "acme/x", "z": "t"}`, `8:10 args.z: not allowed; the rule has repo, title`},
		{"def", `{"repo": "acme/x", "z": "t"}`, `9:7 args.z: not allowed; the rule has repo`},
		{"none", `{"a": 1}`, `10:8 args.a: not allowed; the rule has no arguments`},
		{"none", `{}`, `{}`},
		{"alt", `{"kind": "b", "y": "t"}`, `{"kind":"b","y":"t"}`},
		{"alt", `{"kind": "b", "y": 1}`, `11:50 args.y: an int, and the rule wants string`},
		{"alt", `{"kind": "c", "y": 1}`, `11:14 args.kind: none of "a", "b"`},
		{"alt", `{}`, `11:14 args.kind: missing; the rule wants "a"`},
		{"fixed", `{}`, `12:16 args.draft: missing; the rule wants true`},
		{"fixed", `{"draft": true}`, `12:29 args.nested: missing`},
		{"fixed", `{"draft": false, "nested": {"a": 1}}`, `12:16 args.draft: is not true`},
		{"fixed", `{"draft": true, "nested": {"a": 4}}`, `12:47 args.nested.a: is not <=3`},
		{"fixed", `{"draft": true, "nested": {"a": 2, "b": [{"c": 1}, {}]}}`, `12:61 args.nested.b[1].c: missing; the rule wants number`},
		{"fixed", `{"draft": true, "nested": {"a": 2, "b": [{"c": 1}]}}`, `{"draft":true,"nested":{"a":2,"b":[{"c":1}]}}`},
		{"usual", `{}`, `13:16 args.limit: missing; a rule adds nothing to what is sent`},
		{"usual", `{"limit": 20}`, `{"limit":20}`},
		{"usual", `{"limit": 200}`, `13:16 args.limit: is not *10 | <=100`},
		{"when", `{"at": "2020-01-02", "ip": "1.2.3.4", "m": 10, "o": {"a": 1}}`, `{"at":"2020-01-02","ip":"1.2.3.4","m":10,"o":{"a":1}}`},
		{"when", `{"at": "2020-01"}`, `14:15 args.at: does not satisfy time.Format("2006-01-02")`},
		{"when", `{"at": "2020-01-02", "ip": "1.2.3"}`, `14:47 args.ip: does not satisfy net.IPv4`},
		{"when", `{"at": "2020-01-02", "m": 11}`, `14:62 args.m: does not satisfy math.MultipleOf(5)`},
		{"when", `{"at": "2020-01-02", "o": {"a": 1, "b": 2}}`, `14:86 args.o: does not satisfy struct.MaxFields(1)`},
		{"pair", `{"from": 1, "to": 2, "tup": [1, "a"]}`, `{"from":1,"to":2,"tup":[1,"a"]}`},
		{"pair", `{"from": 3, "to": 2}`, `15:38 args.to: is not >=from`},
		{"pair", `{"from": 3, "to": 4, "tup": [1]}`, `15:46 args.tup: 1 elements, and the rule wants 2`},
		{"pats", `{"x_a": 1, "b": "c"}`, `{"x_a":1,"b":"c"}`},
		{"pats", `{"x_a": "1", "b": "c"}`, `16:15 args.x_a: a string, and the rule wants int`},
		{"forbid", `{"token": 1}`, `4:18 args.token: not allowed`},
		{"forbid", `{"a": 1}`, `{"a":1}`},
		{"num", `{"a": 1e300, "i": 9007199254740993, "f": 1.0, "z": null, "b": true, "u": "x"}`, `{"a":1e300,"i":9007199254740993,"f":1.0,"z":null,"b":true,"u":"x"}`},
		{"num", `{"i": 1e3}`, `18:26 args.i: a float, as it has a fraction or an exponent, and the rule wants int`},
		{"num", `{"f": 1}`, `18:35 args.f: an int, and the rule wants float`},
		{"num", `{"u": ""}`, `18:70 args.u: is not !=""`},
		{"num", `{"u": "-x"}`, `18:78 args.u: must not match =~"^-"`},
		{"num", `{"s": "some"}`, `18:86 args.s: none of int, "all"`},
		{"num", `{"z": 1}`, `18:46 args.z: an int, and the rule wants null`},
		{"num", `{"b": null}`, `18:56 args.b: null, and the rule wants bool`},
		{"get_a", `{"id": 1}`, `{"id":1}`},
		{"get_x", `{"id": 0}`, `20:20 args.id: is not >0`},
		{"get_x", `{"id": 1.5}`, `19:22 args.id: a float, as it has a fraction or an exponent, and the rule wants int`},
		{"get_me", `{"id": 11}`, `21:17 args.id: is not <10`},
		{"get_me", `{"id": "11"}`, `19:22 args.id: a string, and the rule wants int`},
		{"both", `{"a": 1, "b": 2}`, `{"a":1,"b":2}`},
		{"dyn", `{"kind": "y"}`, `{"kind":"y"}`},
		{"dyn", `{"kind": "x"}`, `24:44 args.must: missing; a rule adds nothing to what is sent`},
		{"dyn", `{"kind": "x", "must": 1}`, `{"kind":"x","must":1}`},
		{"both", `{"a": 1}`, `22:2 args: fits one of the rule's alternatives without ruling out the others, which need close(), or a field that tells them apart`},
	} {
		d, err := p.CheckCall("s", c.tool, []byte(c.args))
		got := string(d.Args)
		if err != nil {
			got = err.Error()
			for _, common := range []string{"s." + c.tool + `: denied by profile "p" (team.cue:`, ")"} {
				before, after, _ := strings.Cut(got, common)
				got = before + after
			}
			got = strings.Replace(got, ": args", " args", 1)
		}
		if got != c.want {
			t.Errorf("%s %s\n got: %s\nwant: %s", c.tool, c.args, got, c.want)
		}
	}
}

var howManyCalls = flag.Int("calls", 50_000, "how many calls to make with names of their own")

// Calls with names of their own take no memory, however many there are: CUE
// keeps every name that it is given.
func TestCheckArgsWithoutEnd(t *testing.T) {
	p := profile(t, `
servers: s: command: "s"
profiles: p: servers: s: tools: {
	open: args: {repo!: =~"^acme/"}
	patterns: args: {[=~"^x_"]: int, [!~"^x_"]: string}
}
`)
	var before int64
	for i := range *howManyCalls {
		if i == 10_000 {
			runtime.GC()
			before = heap()
		}
		tool, args := "open", fmt.Sprintf(`{"repo":"acme/%d","name%d":%d,"n":{"other%d":1}}`, i, i, i, i)
		if i%10 == 0 {
			tool, args = "patterns", fmt.Sprintf(`{"x_%d":%d,"y_%d":"%d"}`, i, i, i, i)
		}
		if _, err := p.CheckCall("s", tool, []byte(args)); err != nil {
			t.Fatal(args, err)
		}
	}
	runtime.GC()
	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	runtime.KeepAlive(p)
}

func BenchmarkCheckArgs(b *testing.B) {
	p := profile(b, argsPolicy)
	for _, c := range []struct{ name, tool, args string }{
		{"two", "closed", `{"repo": "acme/x", "title": "t"}`},
		{"four", "issue", `{"repo": "acme/x", "title": "t", "labels": ["a", "b"], "state": "open"}`},
		{"denied", "closed", `{"repo": "evil/x", "title": "t"}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.CheckCall("s", c.tool, []byte(c.args))
			}
		})
	}
}
