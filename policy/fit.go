package policy

import (
	"fmt"

	"bridge/definition"
)

// NeedsDefinition reports whether the rule depends on how the server defines the
// tool now.
func (r Rule) NeedsDefinition() bool {
	return r.SHA256 != "" || r.ReadOnly != nil || r.Destructive != nil || r.Idempotent != nil || r.OpenWorld != nil
}

// A Misfit is why a rule does not allow a tool as its server defines it.
type Misfit struct {
	Field string // of the rule; "execution" if the tool cannot be called at all
	Why   string
}

// Fits compares a tool, as its server defines it, with the rule: its pin, and the
// annotations that it must have. It returns nil if the tool fits.
func (r Rule) Fits(t definition.Tool) *Misfit {
	if t.TaskOnly {
		return &Misfit{"execution", "its server runs it only as a task, which the bridge does not support"}
	}
	if r.SHA256 != "" {
		if sum := t.SHA256(); sum != r.SHA256 {
			return &Misfit{"sha256", fmt.Sprintf("the server defines the tool otherwise than when it was pinned: sha256 is %s, the rule has %s", sum, r.SHA256)}
		}
	}
	return r.fitsHints(t.Hints())
}

// fitsHints uses the defaults of MCP's ToolAnnotations (2025-11-25) for hints that
// the server does not give.
func (r Rule) fitsHints(h definition.Hints) *Misfit {
	// "This property is meaningful only when readOnlyHint == false": a tool
	// that only reads is not destructive, and is idempotent.
	reads := h.ReadOnly != nil && *h.ReadOnly
	for _, a := range []struct {
		name         string
		wanted, said *bool
		usual        bool
	}{
		{"readOnly", r.ReadOnly, h.ReadOnly, false},
		{"destructive", r.Destructive, h.Destructive, !reads},
		{"idempotent", r.Idempotent, h.Idempotent, reads},
		{"openWorld", r.OpenWorld, h.OpenWorld, true},
	} {
		switch {
		case a.wanted == nil:
		case a.said == nil && *a.wanted != a.usual:
			return &Misfit{a.name, fmt.Sprintf("the rule requires %s: %t; the server does not say, which counts as %t", a.name, *a.wanted, a.usual)}
		case a.said != nil && *a.wanted != *a.said:
			return &Misfit{a.name, fmt.Sprintf("the rule requires %s: %t, and the server says %t", a.name, *a.wanted, *a.said)}
		}
	}
	return nil
}
