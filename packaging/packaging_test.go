package main

import (
	"bytes"
	"os"
	"testing"
)

// TestCommands holds docs/commands.md against the help.
func TestCommands(t *testing.T) {
	text, err := os.ReadFile("../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, commands()) {
		t.Error("docs/commands.md is not what the help says; run: make docs")
	}
}

// TestPythonVersion writes versions as PyPI does.
func TestPythonVersion(t *testing.T) {
	for version, want := range map[string]string{
		"1.2.3":                   "1.2.3",
		"1.2.3-rc.1":              "1.2.3rc1",
		"1.2.3-beta.2":            "1.2.3b2",
		"0.0.0-20260131.gabc1234": "0.0.0.dev20260131+gabc1234",
		"1.2.3-what":              "",
	} {
		if got, err := pythonVersion(version); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", version, got, err, want)
		}
	}
}

// TestServerJSON refuses what the registry would.
func TestServerJSON(t *testing.T) {
	if err := valid([]byte(`{"name": "no namespace", "description": "x", "version": "1"}`)); err == nil {
		t.Error("a name without a namespace is taken")
	}
}
