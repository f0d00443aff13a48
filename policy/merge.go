package policy

import (
	"fmt"
	"math/bits"
	"strings"

	"cuelang.org/go/cue"
)

// maxPatterns bounds the patterns of one server's tools.
const maxPatterns = 256

// A patternSet is which of a server's patterns a name matches.
type patternSet [maxPatterns / 64]uint64

func (s *patternSet) add(i int) { s[i/64] |= 1 << (i % 64) }

// all are the members, in order.
func (s *patternSet) all(yield func(int) bool) {
	for word, set := range s {
		for ; set != 0; set &= set - 1 {
			if !yield(word*64 + bits.TrailingZeros64(set)) {
				return
			}
		}
	}
}

// A merger works out the rules of tools that several patterns match: their
// unification, as CUE would have it for a field with such a name. There are as
// many as the policy has sets of patterns with a name in common, however many
// names the sandbox asks for.
type merger struct {
	*loader  // its mu is held by whoever asks
	server   string
	tools    cue.Value
	patterns []pattern
	merged   map[patternSet]ruling
}

// merge is the rule of tools that match those patterns.
func (m *merger) merge(matched patternSet) ruling {
	if r, ok := m.merged[matched]; ok {
		return r
	}
	if len(m.merged) == maxKnown {
		return ruling{bad: fmt.Sprintf("more than %d sets of patterns have names in common", maxKnown)}
	}
	v, id, at := cue.Value{}, "", Pos{}
	for i := range matched.all {
		p := &m.patterns[i]
		if id == "" {
			v, id, at = p.body, p.written, p.Pos
			continue
		}
		v, id = v.Unify(p.body), id+p.written
	}
	r := m.ruling(m.server, id, at, v)
	m.merged[matched] = r
	return r
}

// byName is the rule of a tool whose patterns refer to its name.
func (m *merger) byName(matched patternSet, tool string) ruling {
	id := ""
	at := Pos{}
	for i := range matched.all {
		if id == "" {
			at = m.patterns[i].Pos
		}
		id += m.patterns[i].written
	}
	tool = strings.Clone(tool)
	v := lookup(m.tools.FillPath(cue.MakePath(cue.Str(tool)), m.ctx.CompileString("{}")), tool)
	return m.ruling(m.server, id, at, v)
}
