package policy

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

// A shape is the fields that the schema lets a struct have.
type shape struct {
	named    map[string]cue.Value
	required map[string]bool
	patterns []shapePattern
}

type shapePattern struct {
	names, body cue.Value
	all         bool // names is string
}

func newShape(schema cue.Value) *shape {
	s := &shape{named: map[string]cue.Value{}, required: map[string]bool{}}
	it, err := schema.Fields(cue.Optional(true), cue.Patterns(true))
	if err != nil {
		return s
	}
	for it.Next() {
		switch sel := it.Selector(); sel.ConstraintType() {
		case cue.PatternConstraint:
			op, _ := sel.Pattern().Expr()
			s.patterns = append(s.patterns, shapePattern{sel.Pattern(), it.Value(), op == cue.NoOp && !sel.Pattern().IsConcrete()})
		case cue.RequiredConstraint:
			s.required[sel.Unquoted()] = true
			fallthrough
		default:
			s.named[sel.Unquoted()] = it.Value()
		}
	}
	return s
}

// find is what the schema says of the field of that name.
func (s *shape) find(name string) (cue.Value, bool) {
	if v, ok := s.named[name]; ok {
		return v, true
	}
	for _, p := range s.patterns {
		if p.all || p.names.Unify(cuecontext.New().Encode(name)).Validate(cue.Concrete(true)) == nil {
			return p.body, true
		}
	}
	return cue.Value{}, false
}

// any is what the schema says of fields whose names the policy chooses.
func (s *shape) any() (cue.Value, bool) {
	if len(s.patterns) == 0 {
		return cue.Value{}, false
	}
	return s.patterns[0].body, true
}
