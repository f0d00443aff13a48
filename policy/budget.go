package policy

import (
	"math"

	"cuelang.org/go/cue"
)

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
// run and of a session: +Inf is no limit.
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
func (l *loader) budget(s setting) Budget {
	calls, bytes := s.field("calls"), s.field("bytes")
	b := Budget{
		PerRun: int(calls.field("perRun").limit()), PerSession: int(calls.field("perSession").limit()), Parallel: int(calls.field("parallel").limit()),
		BytesPerRun: bytes.field("perRun").limit(), BytesPerSession: bytes.field("perSession").limit(),
	}
	for _, f := range []setting{calls, bytes} {
		if at := l.posOf(f.written); f.written.Exists() && (b.Pos.Line == 0 || l.compare(at, b.Pos) < 0) {
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
	return s.number() // 0 for what is no number: none
}

// sums are those of a rule, by argument.
func (l *loader) sums(rule cue.Value) []Sum {
	var list []Sum
	for argument, v := range fields(rule, "sum") {
		s := setting{written: v}
		list = append(list, Sum{argument, s.field("perRun").most(), s.field("perSession").most(), l.posOf(v)})
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
