package policy

import (
	"slices"
	"testing"

	"bridge/sandbox/engines"
)

// TestEngines holds the schema's engines to those that there are, in the order
// in which they are tried.
func TestEngines(t *testing.T) {
	if got, want := Engines(), engines.Names(); !slices.Equal(got, want) {
		t.Errorf("the schema has the engines %q, and the list has %q", got, want)
	}
	for _, f := range schemaEngines().fields {
		for _, name := range f.engines {
			if !slices.Contains(Engines(), name) {
				t.Errorf("%s: @engines names %q, which is no engine", f.name, name)
			}
		}
	}
}
