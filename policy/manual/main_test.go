package main

import (
	"os"
	"path/filepath"
	"testing"

	"cuelang.org/go/cue/format"

	"bridge/policy"
)

// docs/policy.md is what the schema says.
func TestManualIsFresh(t *testing.T) {
	want, err := manual()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/policy.md is not what policy/schema.cue and policy/defaults.cue say: make docs")
	}
}

// The examples of the manual are right, mean what they say, and are formatted.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("examples/*.cue")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	for _, name := range files {
		p, err := policy.Load([]string{name})
		if err != nil {
			t.Error(err)
			continue
		}
		for _, w := range p.Warnings() {
			t.Error(w.Warning())
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := format.Source(text); err != nil || string(want) != string(text) {
			t.Errorf("%s: not as cue fmt has it: %v\n%s", name, err, want)
		}
	}
}
