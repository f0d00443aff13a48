package harness

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// Agent plays an agent outside of a scenario, where many runs share a session.
type Agent struct{ a *agent }

// Dial starts a bridge and greets it. It ends with the test.
func Dial(t testing.TB, cmd *exec.Cmd) *Agent {
	t.Helper()
	a := &agent{work: t.TempDir()}
	if err := a.connect(cmd, false, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.end)
	return &Agent{a}
}

// RunPython runs code in the session and gives the text of the result. Other
// content is a line that names its type, in brackets.
func (g *Agent) RunPython(code string) (string, error) {
	raw, err := g.a.call("tools/call", map[string]any{"name": "run_python", "arguments": map[string]any{"code": code}})
	if err != nil {
		return "", err
	}
	var r struct {
		Content []struct{ Type, Text string }
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return "", err
	}
	var text strings.Builder
	for _, c := range r.Content {
		if c.Type != "text" {
			c.Text = "[" + c.Type + "]"
		}
		text.WriteString(strings.TrimRight(c.Text, "\n") + "\n")
	}
	return text.String(), nil
}
