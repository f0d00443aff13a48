package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bridge/harness/project"
	"bridge/sandbox"
	"bridge/sandbox/native"
)

// Eight bridges that count up one memory side by side lose no update.
func TestNoUpdateIsLost(t *testing.T) {
	const bridges, each = 8, 1000
	if only := strings.Fields(os.Getenv(Engines)); len(only) > 0 && !slices.Contains(only, native.Name) {
		t.Skip("the engine native is not among " + Engines)
	}
	engine := native.New()
	t.Cleanup(engine.Close)
	if err := engine.Ready(t.Context(), sandbox.Spec{}); err != nil {
		project.Skip(t, err)
	}
	state := t.TempDir()
	policy := filepath.Join(state, "policy.cue")
	text := fmt.Sprintf("profiles: counter: {engine: %q, state: %q, timeout: {default: 600, max: 600}}\n", native.Name, state)
	if err := os.WriteFile(policy, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	code := fmt.Sprintf("for _ in range(%d):\n    update_memory('n', lambda n: (n or 0) + 1)", each)
	var all sync.WaitGroup
	for range bridges {
		all.Go(func() {
			// The bridge is this program, by another name.
			cmd := exec.CommandContext(t.Context(), "bridge", "run", "--policies", policy, "--profile", "counter", "-c", code)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	all.Wait()
	data, err := os.ReadFile(filepath.Join(state, "projects", "counter", "memory", "n.json"))
	if err != nil {
		t.Fatal(err)
	}
	var memory struct{ Value int }
	if err := json.Unmarshal(data, &memory); err != nil {
		t.Fatal(err)
	}
	if memory.Value != bridges*each {
		t.Errorf("%d updates gave %d", bridges*each, memory.Value)
	}
}
