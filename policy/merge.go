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

// merge is the rule of tools that match those patterns, such as this one.
func (m *merger) merge(matched patternSet, tool string) ruling {
	if r, ok := m.merged[matched]; ok {
		return r
	}
	if len(m.merged) == maxKnown {
		return ruling{bad: fmt.Sprintf("more than %d sets of patterns have names in common", maxKnown)}
	}
	r := m.byName(matched, tool)
	m.merged[matched] = r
	return r
}

// byName is the rule of a tool as CUE has it once there is a field of that name.
// The patterns' own values would not tell what definitions close.
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
	return m.ruling(m.server, id, at, m.field(tool)).in(m.tools, tool)
}

// field is the tool's, were there one.
func (m *merger) field(tool string) cue.Value {
	return lookup(m.tools.FillPath(cue.MakePath(cue.Str(tool)), m.ctx.CompileString("{}")), tool)
}
