// Package policy knows what an agent may do. It loads policies, which are CUE
// files, reports their mistakes where they are, and decides on runs and tool
// calls. It knows nothing of MCP, of sandboxes, or of the time.
//
// A policy is a type and a tool call a value: a call is allowed if it is an
// instance of what the profile says of its server. What that comes to for each
// name of a tool is worked out when a policy is loaded, so that deciding is a
// look-up.
package policy

import (
	_ "embed"
	"fmt"
	"sync"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
)

//go:embed schema.cue
var schemaSource string

//go:embed defaults.cue
var defaultsSource string

// The names under which CUE reports positions in our own files. No user's file
// can have them.
const (
	schemaFile   = "\x00schema.cue"
	defaultsFile = "\x00defaults.cue"
)

// Schema is the schema of policies, in CUE: the reference manual.
func Schema() string { return schemaSource }

// Defaults are what holds where a policy does not say otherwise, in CUE.
func Defaults() string { return defaultsSource }

// Load reads a policy from files, and from the .cue files that lie directly in
// folders. With no paths it is the policies embedded in the binary, whose profiles
// any other policy has beside its own. It reads nothing else. What is wrong with
// the policy is reported as Errors.
func Load(paths []string) (*Policy, error) {
	if len(paths) == 0 {
		return builtIn()
	}
	sources, errs := read(paths)
	if len(errs) > 0 {
		return nil, errs
	}
	p, err := load(sources)
	if err == nil {
		p.builtIn = sync.OnceValues(builtIn)
	}
	return p, err
}

// builtIn is the policy embedded in the binary.
func builtIn() (*Policy, error) {
	sources, err := embedded()
	if err != nil {
		return nil, fmt.Errorf("reading the embedded policies: %w", err)
	}
	return load(sources)
}

// load makes a policy of sources, if that takes no more than it may.
func load(sources []source) (*Policy, error) {
	var p *Policy
	var err error
	if mistake := bounded(func() { p, err = loadAnyway(sources) }); mistake != "" {
		return nil, Errors{{Pos: Pos{File: sources[0].name}, Message: mistake}}
	}
	if err != nil {
		return nil, err
	}
	p.sources = sources
	return p, nil
}

func loadAnyway(sources []source) (*Policy, error) {
	syn, errs := parse(sources)
	if len(errs) > 0 {
		// CUE's errors about the rest could come from what is missing.
		return nil, errs.sorted(syn.order).err()
	}
	return evaluate(syn)
}

// An evaluator is a policy as CUE has evaluated it. It lives as long as the policy:
// calls are decided with its values.
type evaluator struct {
	*syntax
	ctx      *cue.Context
	user     cue.Value       // the policy by itself
	defaults cue.Value       // defaults.cue
	defined  map[string]bool // the policy's servers, and whether they are not disabled
	mu       sync.Mutex      // guards ctx, its values and names once the policy is loaded: they are not for concurrent use
	names    *placeholders   // of arguments
}

// A loader compares what was evaluated with the schema, and collects mistakes.
type loader struct {
	*evaluator
	errs     Errors
	abstract bool // vet is in a pattern
}

// sorted is the mistakes, in the order of the files.
func (l *loader) sorted() error { return l.errs.sorted(l.order).err() }

// evaluate makes a policy of parsed files. Its error is Errors, but for
// mistakes in our own files.
func evaluate(syn *syntax) (*Policy, error) {
	// The settings of the cue command's environment variables are not for us.
	ctx := cuecontext.New(cuecontext.EvaluatorVersion(cuecontext.EvalStable), cuecontext.CUE_DEBUG(""))
	schema := ctx.CompileString(schemaSource, cue.Filename(schemaFile))
	if err := schema.Err(); err != nil {
		return nil, fmt.Errorf("compiling schema.cue: %w", err)
	}
	defaults := ctx.CompileString(defaultsSource, cue.Filename(defaultsFile))
	if err := defaults.Err(); err != nil {
		return nil, fmt.Errorf("compiling defaults.cue: %w", err)
	}

	inst := build.NewContext().NewInstance("", nil)
	for _, f := range syn.files {
		inst.AddSyntax(f) // its errors are those of inst
	}
	l := &loader{evaluator: &evaluator{
		syntax: syn, ctx: ctx, user: ctx.BuildInstance(inst), defaults: defaults, defined: map[string]bool{},
		names: &placeholders{vocabulary: syn.terms, byClass: map[string][]string{}, given: map[string]bool{}, folded: syn.terms.fold()},
	}}
	if inst.Err != nil {
		l.report(inst.Err, nil)
		return nil, l.sorted()
	}

	if err := l.user.Validate(); err != nil {
		l.report(err, nil) // what contradicts itself
	}
	form := schema.LookupPath(cue.ParsePath("#Policy"))
	l.vet(l.user, form, defaults, nil)
	l.cross()
	if len(l.errs) > 0 {
		// What is wrong can be of any size once CUE has unified it.
		return nil, l.sorted()
	}

	if err := l.user.Unify(form).Validate(); err != nil {
		l.report(err, nil) // what we have not found, CUE has
		return nil, l.sorted()
	}
	p := l.policy()
	p.eval = l.evaluator
	return p, nil
}

// fields are the regular fields of the struct at path in v, if it is there.
func fields(v cue.Value, path ...string) func(yield func(string, cue.Value) bool) {
	return func(yield func(string, cue.Value) bool) {
		if v = lookup(v, path...); !v.Exists() {
			return
		}
		// With patterns, fields are listed though there are mistakes in them.
		it, err := v.Fields(cue.Patterns(true))
		if err != nil {
			return
		}
		for it.Next() {
			if sel := it.Selector(); sel.ConstraintType() == cue.PatternConstraint || !sel.IsString() {
				continue
			}
			if !yield(it.Selector().Unquoted(), it.Value()) {
				return
			}
		}
	}
}

// patterns are those of the struct v, each with what it says of its fields.
func patterns(v cue.Value) func(yield func(names, body cue.Value) bool) {
	return func(yield func(cue.Value, cue.Value) bool) {
		if !v.Exists() {
			return
		}
		it, err := v.Fields(cue.Patterns(true))
		if err != nil {
			return
		}
		for it.Next() {
			if sel := it.Selector(); sel.ConstraintType() == cue.PatternConstraint && !yield(sel.Pattern(), it.Value()) {
				return
			}
		}
	}
}

func lookup(v cue.Value, path ...string) cue.Value {
	selectors := make([]cue.Selector, len(path))
	for i, p := range path {
		selectors[i] = cue.Str(p)
	}
	return v.LookupPath(cue.MakePath(selectors...))
}
