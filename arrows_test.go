package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bridge/sandbox/engines"
)

// arrows says which packages of the bridge each of them may import. One that
// is not listed may import none. They follow the path of a call: what comes
// later on it knows nothing of what comes before.
var arrows = map[string][]string{
	".":      {"cli"},
	"cli":    {"bridge", "definition", "harness", "harness/standin", "policy", "sandbox", "sandbox/container", "sandbox/engines", "sandbox/native", "store", "upstream", "upstream/clients"},
	"bridge": {"bridge/toon", "definition", "policy", "sandbox", "store", "upstream"},
	"policy": {"definition", "policies", "policy/strictjson"},
	// Writes docs/policy.md, and is in no binary of ours.
	"policy/manual": {"policy"},
	// What the engines that run containers share; an engine with arrows of its own;
	// the list of them, which may import each.
	"sandbox/container": {"sandbox", "sandbox/reaper"},
	"sandbox/native":    {"sandbox", "sandbox/native/stage"},
	"sandbox/engines":   {"sandbox", "sandbox/container"},
	"upstream":          {"definition", "upstream/keeper"},
	// Where servers are found; what starts them does not know it.
	"upstream/clients": {"definition", "upstream"},
	// Test and measure them, and are in no binary of ours.
	"sandbox/enginetest": {"sandbox", "sandbox/reaper"},
	"harness/project":    {"harness"},
	// Makes what users install, of the commands' help among other things.
	"packaging":     {"cli"},
	"harness/bench": {"policy", "sandbox", "sandbox/container", "sandbox/engines", "sandbox/native"},
}

// ofEngine are the arrows of an engine that is not listed.
var ofEngine = []string{"sandbox", "sandbox/container", "sandbox/reaper"}

// mayImport says whether a package may import another.
func mayImport(dir, inner string) bool {
	isEngine := func(dir string) bool {
		name, below := strings.CutPrefix(dir, "sandbox/")
		return below && slices.Contains(engines.Names(), name)
	}
	allowed, listed := arrows[dir]
	if !listed && isEngine(dir) {
		allowed = ofEngine
	}
	return slices.Contains(allowed, inner) || dir == "sandbox/engines" && isEngine(inner)
}

// confined says in which parts of the bridge a library may be known.
var confined = map[string][]string{
	"cuelang.org/go":                    {"policy", "harness/standin"},
	"github.com/mark3labs/mcp-go":       {"bridge", "upstream", "harness"},
	"github.com/spf13/cobra":            {"cli", "packaging"},
	"github.com/rogpeppe/go-internal":   {"harness", "store"},
	"github.com/elastic/go-seccomp-bpf": {"sandbox"},
	"github.com/moby/moby":              {"sandbox/docker"},
	"github.com/moby/profiles":          {"sandbox"},
	"github.com/godbus/dbus":            {"sandbox"},
	"github.com/containers":             {"sandbox/podman"},
	"go.podman.io":                      {"sandbox/podman"},
	"github.com/tailscale/hujson":       {"upstream/clients"},
	"github.com/pelletier/go-toml":      {"upstream/clients"},
}

// TestArrows holds the directions of imports. Tests may import what they like.
func TestArrows(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() != "." && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			seen++
			checkImport(t, path, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen == 0 {
		t.Fatal("no imports were found")
	}
}

func checkImport(t *testing.T, file, name string) {
	dir := filepath.ToSlash(filepath.Dir(file))
	if inner, ok := strings.CutPrefix(name, "bridge/"); ok && !mayImport(dir, inner) {
		t.Errorf("%s imports %s, against the arrows", file, inner)
	}
	for library, parts := range confined {
		if name != library && !strings.HasPrefix(name, library+"/") {
			continue
		}
		if !slices.ContainsFunc(parts, func(p string) bool { return dir == p || strings.HasPrefix(dir, p+"/") }) {
			t.Errorf("%s imports %s, which is confined to %s", file, library, strings.Join(parts, ", "))
		}
	}
	// The stages run before any other package is initialised.
	stages := []string{"sandbox/native/stage", "sandbox/reaper", "upstream/keeper"}
	if slices.Contains(stages, dir) && strings.Contains(name, ".") {
		t.Errorf("%s imports %s; a stage may import the standard library alone", file, name)
	}
}
