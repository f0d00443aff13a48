package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

// A dice makes choices from bytes, so that a fuzzer can make them.
type dice struct{ bytes []byte }

func (d *dice) roll(n int) int {
	if len(d.bytes) == 0 {
		return 0
	}
	b := d.bytes[0]
	d.bytes = d.bytes[1:]
	return int(b) % n
}

func (d *dice) pick(from ...string) string { return from[d.roll(len(from))] }

// rule is a rule for a value, as CUE.
func (d *dice) rule(depth int) string {
	if depth == 0 || d.roll(3) > 0 {
		return d.pick(`int`, `string`, `"a" | "b"`, `>=1 & <=3`, `=~"^a"`, `!~"^a"`, `bool`, `null`, `number`, `float`, `strings.MaxRunes(2)`, `_`,
			`*1 | int`, `1`, `1.0`, `int | "all"`, `!="b"`, `<2`, `_|_`, `#S`, `_k`, `number & >0`)
	}
	switch d.roll(6) {
	case 0:
		return "[..." + d.rule(depth-1) + "]"
	case 1:
		return "[" + d.rule(depth-1) + ", " + d.rule(depth-1) + "]"
	case 2:
		return "[..." + d.rule(depth-1) + "] & " + d.pick("list.MaxItems(1)", "list.UniqueItems", "list.MinItems(1)")
	case 3:
		return d.fields(depth-1) + " | " + d.fields(depth-1)
	}
	return d.fields(depth - 1)
}

// fields is a rule for an object.
func (d *dice) fields(depth int) string {
	var list []string
	for range d.roll(4) {
		name := d.pick("a", "b", "c", "ab", `"x y"`, `[=~"^a"]`, `[string]`, `[!="b"]`, `["a" | "b"]`)
		if !strings.HasPrefix(name, "[") {
			name += d.pick("!", "?", "")
		}
		list = append(list, name+": "+d.rule(depth))
	}
	text := "{" + strings.Join(list, ", ") + d.pick("", ", ...") + "}"
	switch d.roll(10) {
	case 0:
		return "close(" + text + ")"
	case 1:
		return "#D & " + text
	case 2:
		return "struct.MaxFields(1) & " + text
	case 3:
		return "_k & " + text
	}
	return text
}

// policy is a policy of one profile and one server.
func (d *dice) policy() string {
	tools := "{"
	for range 1 + d.roll(3) {
		tools += d.pick("t", "u", `[=~"^t"]`, `[=~"u$"]`, `[_]`, `tu?`, `[!="t"]`) + ": " + d.pick("", "", "_o & ", "#O & ") + "{args: " + d.fields(2) + "}, "
	}
	tools += "}"
	return fmt.Sprintf(`package policy
import ("list", "strings", "struct")
_uses: [list.MinItems, strings.MinRunes, struct.MinFields]
#S: {a!: int, b?: string}
#D: {a?: _, b?: _}
_k: {a?: int | string}
_o: {args: {b?: _}}
#O: {args: {a?: _, b?: int}}
#Tools: %s
servers: s: command: "s"
profiles: p: servers: s: tools: %s
`, tools, d.pick(tools, "#Tools"))
}

// value is a value, as JSON.
func (d *dice) value(depth int) string {
	if depth == 0 || d.roll(3) > 0 {
		return d.pick(`1`, `2`, `5`, `-1`, `1.0`, `2.5`, `"a"`, `"b"`, `"abc"`, `""`, `true`, `null`, `-0`, `9007199254740993`, `"all"`)
	}
	if d.roll(2) == 0 {
		var list []string
		for range d.roll(3) {
			list = append(list, d.value(depth-1))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	return d.object(depth - 1)
}

func (d *dice) object(depth int) string {
	var list []string
	names := []string{"a", "b", "c", "ab", "x y", "zz", "abz"}
	for range d.roll(4) {
		i := d.roll(len(names))
		list = append(list, fmt.Sprintf("%q:%s", names[i], d.value(depth)))
		names = append(names[:i:i], names[i+1:]...)
	}
	return "{" + strings.Join(list, ",") + "}"
}

// instance reports whether CUE, asked by itself, takes the arguments for an
// instance of what the policy says of the tool.
func instance(t *testing.T, text, tool, args string) bool {
	const at = "profiles: p: servers: s: tools: "
	ctx := cuecontext.New()
	closed := ctx.CompileString(text + "\nclosed: close(profiles.p.servers.s.tools)").LookupPath(cue.ParsePath("closed"))
	rule := ctx.CompileString(fmt.Sprintf("%s\n%s%q: _", text, at, tool)).LookupPath(cue.ParsePath("profiles.p.servers.s.tools." + tool))
	both := ctx.CompileString(fmt.Sprintf("%s\n%s%q: args: %s", text, at, tool, args)).LookupPath(cue.ParsePath("profiles.p.servers.s.tools." + tool + ".args"))
	if !closed.Allows(cue.Str(tool)) || rule.Validate() != nil || both.Validate(cue.Concrete(true), cue.Final()) != nil {
		return false
	}
	out, err := both.MarshalJSON()
	if err != nil {
		return false
	}
	return reflect.DeepEqual(shapeOf(t, out), shapeOf(t, []byte(args)))
}

// shapeOf is what is in JSON, without the values of its numbers, which CUE writes
// in its own way.
func shapeOf(t *testing.T, text []byte) any {
	var v any
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// FuzzCheckCall holds decisions against CUE's own.
func FuzzCheckCall(f *testing.F) {
	for i := range 64 {
		seed := make([]byte, 64)
		for j := range seed {
			seed[j] = byte(i*j*7 + j + i)
		}
		f.Add(seed)
	}
	f.Fuzz(decide)
}

// TestCheckCallAtRandom is the same, where a fuzzer's instruments cost too much.
func TestCheckCallAtRandom(t *testing.T) {
	random := rand.New(rand.NewSource(*seed))
	for range *howMany {
		bytes := make([]byte, 100)
		random.Read(bytes)
		decide(t, bytes)
	}
}

var (
	seed    = flag.Int64("seed", 1, "of random policies and arguments")
	howMany = flag.Int("policies", 200, "how many random policies to try")
)

// decide holds the decisions of a policy against CUE's.
func decide(t *testing.T, seed []byte) {
	d := &dice{seed}
	text := d.policy()
	policy, err := load([]source{{"team.cue", []byte(text)}})
	if err != nil {
		return // a rule that nothing matches
	}
	p, err := policy.Profile("p")
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		tool, args := d.pick("t", "u", "tu", "x"), d.object(2)
		if list, _, err := p.RulesFor("s", tool); (err == nil) != p.AllowsTool("s", tool) || err == nil && len(list) == 0 {
			t.Errorf("%s\ns.%s has the rules %v, %v", text, tool, list, err)
		}
		decision, err := p.CheckCall("s", tool, []byte(args))
		if want := instance(t, text, tool, args); (err == nil) != want {
			t.Errorf("%s\ns.%s %s\ndecided: %v\nCUE would allow it: %v", text, tool, args, err, want)
		}
		var denial *Denial
		if err != nil && (!errors.As(err, &denial) || denial.Pos.Line == 0 || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s\n%s: %v", text, args, err)
		}
		if err == nil && !reflect.DeepEqual(shapeOf(t, decision.Args), shapeOf(t, []byte(args))) {
			t.Errorf("%s becomes %s", args, decision.Args)
		}
	}
}
