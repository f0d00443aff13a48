package policy

import (
	"fmt"
	"strconv"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// An argsRule is what the arguments of a tool have to be.
type argsRule struct {
	*loader
	value cue.Value
	tools cue.Value // that it is in,
	tool  string    // under this name
	fills bool      // whether it may have fields that are not among those sent
}

// unify is the rule with what CUE has of arguments. What a definition closes from
// further out, as in tools: #Readers, CUE only knows in its place; to look there
// takes longer.
func (r *argsRule) unify(is cue.Value) cue.Value {
	if !r.names.outer {
		return r.value.Unify(is)
	}
	in := cue.MakePath(cue.Str(r.tool), cue.Str("args"))
	return r.tools.FillPath(in, is).LookupPath(in)
}

// A mismatch is why arguments are not what a rule has them be, in one line that
// quotes the rule and nothing of the arguments but their names.
type mismatch struct {
	path []step
	pos  Pos // of what it breaks, if that has a place
	text string
}

// Error is the argument and what is wrong with it.
func (m *mismatch) Error() string { return argsPath(m.path) + ": " + m.text }

const (
	maxValues = 4096 // values in arguments that CUE is to look at
	maxSteps  = 200  // parts of a rule to look at for what is wrong
)

// check holds the rule against arguments, of which sent is the text. They are
// right if they are an instance of the rule: if they have everything that it
// has, and nothing of theirs contradicts it.
func (r *argsRule) check(args object, sent []byte) (bad *mismatch) {
	if bad := bounds(args); bad != nil {
		return bad
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() {
		if recover() != nil {
			// A check that cannot be made is a denial.
			bad = &mismatch{text: "the rule cannot be evaluated on them"}
		}
	}()
	steps := maxSteps
	c := argsCheck{r, &labels{placeholders: r.names}, &steps}
	if r.names.reads && !r.names.charge(len(sent)) {
		return &mismatch{text: fmt.Sprintf("the rules of this policy have read more than %d MiB of arguments, which CUE keeps; restart the bridge", maxKept>>20)}
	}
	if !c.labels.assign(args) {
		return &mismatch{text: fmt.Sprintf("more names than fit in %d MiB, which CUE keeps; restart the bridge", maxKept>>20)}
	}
	both := r.unify(c.encoded(args))
	if err := both.Validate(cue.Concrete(true), cue.Final()); err != nil {
		return c.diagnose(both, args)
	}
	if !r.fills && !c.labels.alike(args) {
		return nil // which is so of most rules and calls, and takes no further look
	}
	return c.added(both, args, nil)
}

// bounds refuses names that CUE would keep, before it sees them.
func bounds(args object) *mismatch {
	var look func(v any, path []step) *mismatch
	look = func(v any, path []step) *mismatch {
		switch v := v.(type) {
		case object:
			for _, m := range v {
				at := append(path, step{name: []byte(m.name), named: true})
				if len(m.name) > maxArgName {
					return &mismatch{path: at, text: fmt.Sprintf("a name of %d bytes; at most %d", len(m.name), maxArgName)}
				}
				if bad := look(m.value, at); bad != nil {
					return bad
				}
			}
		case []any:
			for i, e := range v {
				if bad := look(e, append(path, step{index: i})); bad != nil {
					return bad
				}
			}
		}
		return nil
	}
	return look(args, nil)
}

// An argsCheck is one check of a rule.
type argsCheck struct {
	*argsRule
	labels *labels
	steps  *int // that are left for finding out what is wrong
}

// encoded is what was sent, as CUE has it.
func (c argsCheck) encoded(v any) cue.Value {
	return c.ctx.Encode(c.encode(v), cue.NilIsAny(false))
}

// encode makes of arguments what CUE's Encode takes for the same.
func (c argsCheck) encode(v any) any {
	switch v := v.(type) {
	case object:
		fields := make(map[string]any, len(v))
		for _, m := range v {
			fields[c.labels.label(m.name)] = c.encode(m.value)
		}
		return fields
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = c.encode(e)
		}
		return list
	case numeral:
		return v.encode()
	}
	return v
}

// encode keeps a number what it is: a whole number is an int only if it is
// written without a fraction and an exponent, and none is rounded.
func (n numeral) encode() any {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i
	}
	if n[0] == '-' {
		return &ast.UnaryExpr{Op: token.SUB, X: n[1:].literal()}
	}
	return n.literal()
}

func (n numeral) literal() *ast.BasicLit { return &ast.BasicLit{Kind: token.FLOAT, Value: string(n)} }
