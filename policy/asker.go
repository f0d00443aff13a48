package policy

import (
	"strings"

	"cuelang.org/go/cue"
)

// An asker has CUE decide on names, where patterns are more than a regular
// expression each, or where definitions close what they are combined with.
type asker struct {
	*merger
	tools cue.Value
	known map[string]verdict // bounded: the names come from the sandbox
	asked int
}

type verdict struct {
	rule    ruling
	allowed bool
}

const (
	maxKnown = 4096

	// maxAsked bounds the questions to CUE, which keeps about a kilobyte of
	// every name for good. Beyond them what is not known is denied.
	maxAsked = 32_768
)

func (a *asker) rule(tool string) (ruling, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	v, ok := a.known[tool]
	if !ok && a.asked < maxAsked {
		a.asked++
		v = a.ask(tool)
		if len(a.known) >= maxKnown {
			clear(a.known)
		}
		a.known[strings.Clone(tool)] = v
	}
	return v.rule, v.allowed
}

// ask has CUE decide on a name.
func (a *asker) ask(tool string) (v verdict) {
	defer func() {
		if recover() != nil {
			v = verdict{} // a check that cannot be made is a denial
		}
	}()
	if !a.tools.Allows(cue.Str(tool)) {
		return verdict{}
	}
	var matched patternSet
	own := false
	for i := range a.patterns {
		if a.patterns[i].matches(tool) {
			matched.add(i)
			own = own || a.patterns[i].own
		}
	}
	if matched == (patternSet{}) {
		return verdict{}
	}
	if own {
		return verdict{a.byName(matched, tool), true}
	}
	return verdict{a.merge(matched, tool), true}
}
