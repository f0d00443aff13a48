package policy

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
)

// A Rule is the part of a policy that allows a tool, and what it says of the
// tool's calls.
type Rule struct {
	Pos     Pos    // of the tool's name, or of the bracket of the pattern of names
	ID      string // which rule it is, for counting: the same for all tools of a pattern
	Budget  Budget
	Sums    []Sum
	Confirm bool // whether a person is asked before each call

	// What the server's annotations of the tool must say, if anything.
	ReadOnly, Destructive, Idempotent, OpenWorld *bool

	SHA256  string // what the tool's definition must have, in hexadecimal digits, or ""
	Result  ResultRule
	Timeout time.Duration // of one call, or 0 for that of the server
}

// A ResultRule is what code sees of a tool's answers.
type ResultRule struct {
	Max    int64 // bytes of one, or 0 for any
	Redact []*regexp.Regexp
	Images bool
}

// A ruling is a rule, or why there can be none: its parts contradict each other.
type ruling struct {
	Rule
	args  *argsRule // what the arguments have to be, or nil for any
	value cue.Value // what the policy says
	bad   string
}

// in is the rule as that of the tool, among the tools of its server.
func (r ruling) in(tools cue.Value, tool string) ruling {
	if r.args != nil {
		r.args.tools, r.args.tool = tools, tool
	}
	return r
}

// ruling reads a rule: v is what it says, and id what it is of its server's.
func (e *evaluator) ruling(server, id string, at Pos, v cue.Value) ruling {
	r := ruling{Rule: Rule{Pos: at, ID: server + "\x00" + id}, value: v}
	s := setting{v, e.usualRule()}
	if r.bad = e.unfit(s); r.bad != "" {
		return r
	}
	if args := lookup(v, "args"); args.Exists() {
		r.args = &argsRule{evaluator: e, value: args, fills: e.fills(args)}
	}
	result := s.field("result")
	r.Budget = e.budget(s)
	r.Sums = e.sums(v)
	r.Confirm = s.field("confirm").truth()
	r.ReadOnly, r.Destructive = s.field("readOnly").demand(), s.field("destructive").demand()
	r.Idempotent, r.OpenWorld = s.field("idempotent").demand(), s.field("openWorld").demand()
	r.SHA256 = s.field("sha256").text()
	r.Result = ResultRule{Max: result.field("max").number(), Images: result.field("images").truth()}
	r.Timeout = s.field("timeout").seconds()
	for _, expr := range result.field("redact").texts() {
		re, err := regexp.Compile(expr)
		if err != nil {
			r.bad = err.Error()
			return r
		}
		r.Result.Redact = append(r.Result.Redact, re)
	}
	return r
}

// usualRule is what holds where a rule does not say otherwise.
func (e *evaluator) usualRule() cue.Value {
	v := e.defaults
	for _, name := range []string{"profiles", "_", "servers", "_", "tools", "_"} {
		v = of(v, name)
	}
	return v
}

// demand is a truth that may be left out.
func (s setting) demand() *bool {
	if !s.value().Exists() {
		return nil
	}
	b := s.truth()
	return &b
}

// unfit says why a rule cannot hold: it contradicts itself, or leaves open what
// a call would have to be held against. Such a rule allows nothing.
func (e *evaluator) unfit(s setting) string {
	if err := s.written.Validate(); err != nil {
		for _, one := range errors.Errors(err) {
			if line, _ := e.say(one, e.userPositions(one)); line != "" {
				return line
			}
		}
		return clip(oneLine(err.Error()))
	}
	return open("", s)
}

// open says which field of s has no value, if any.
func open(path string, s setting) string {
	if s.value().IncompleteKind() != cue.StructKind {
		if err := s.value().Validate(cue.Concrete(true), cue.Final()); err != nil {
			return fmt.Sprintf("%s: %s is not a concrete value", path, short(s.written))
		}
		return ""
	}
	for name := range fields(s.written) {
		if path == "" && name == "args" {
			continue // which is what calls have to be, and they are concrete
		}
		if bad := open(strings.TrimPrefix(path+"."+name, "."), s.field(name)); bad != "" {
			return bad
		}
	}
	return ""
}

// unlimited is a budget without end.
const unlimited = -1

// A Budget is how many calls there may be, and how many bytes of answers. A
// limit of 0 allows none, and one of -1 is no limit.
type Budget struct {
	PerRun, PerSession           int // calls
	Parallel                     int // calls under way at once
	BytesPerRun, BytesPerSession int64
	Pos                          Pos // of the first of its fields
}

// A Sum is how much the values of an argument may come to, over the calls of a
// run and of a session: +Inf is not a limit.
type Sum struct {
	Argument           string
	PerRun, PerSession float64
	Pos                Pos
}

// MountBudget is what all calls of a server may come to.
func (p *Profile) MountBudget(server string) Budget {
	if m, ok := p.allow[server]; ok {
		return m.budget
	}
	return Budget{} // of a server that is not mounted: nothing
}

// budget is that of a profile, of a mounted server, or of a rule.
func (e *evaluator) budget(s setting) Budget {
	calls, bytes := s.field("calls"), s.field("bytes")
	b := Budget{
		PerRun: int(calls.field("perRun").limit()), PerSession: int(calls.field("perSession").limit()), Parallel: int(calls.field("parallel").limit()),
		BytesPerRun: bytes.field("perRun").limit(), BytesPerSession: bytes.field("perSession").limit(),
	}
	for _, f := range []setting{calls, bytes} {
		if at := e.posOf(f.written); f.written.Exists() && (b.Pos.Line == 0 || e.compare(at, b.Pos) < 0) {
			b.Pos = at
		}
	}
	return b
}

// limit is a number that may be left out.
func (s setting) limit() int64 {
	if !s.value().Exists() {
		return unlimited
	}
	return s.number() // 0 for what is not a number: none
}

// sums are those of a rule, by argument.
func (e *evaluator) sums(rule cue.Value) []Sum {
	var list []Sum
	for argument, v := range fields(rule, "sum") {
		s := setting{written: v}
		list = append(list, Sum{argument, s.field("perRun").most(), s.field("perSession").most(), e.posOf(v)})
	}
	return list
}

// most is a number that may be left out.
func (s setting) most() float64 {
	if !s.value().Exists() {
		return math.Inf(1)
	}
	return s.fraction()
}
