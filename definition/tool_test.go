package definition

import (
	"encoding/json"
	"testing"
)

// The sum is in users' policies: it must not change from one version of the
// bridge to the next.
func TestToolHashIsAsItWas(t *testing.T) {
	tool := Tool{
		Name: "echo", Title: "Echo", Description: "Give back <text>.",
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"n":{"maximum":9007199254740993}}}`),
		OutputSchema: json.RawMessage(`true`), Annotations: json.RawMessage(`{"readOnlyHint":true}`),
	}
	const want = "3a41e6ec580568456840f32e73478077b8cd44279018d2e1361544c4b633a89b"
	if got := tool.SHA256(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// What is written otherwise is not another definition.
	tool.InputSchema = json.RawMessage("{\n \"properties\": {\"n\": {\"maximum\": 9007199254740993}, \"text\": {\"type\": \"str\\u0069ng\"}},\n \"type\": \"object\" }")
	if got := tool.SHA256(); got != want {
		t.Errorf("written otherwise: %s", got)
	}
}

func TestToolHashSeesEveryChange(t *testing.T) {
	was := Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"object"}`)}
	seen := map[string]string{was.SHA256(): "nothing"}
	for what, change := range map[string]func(*Tool){
		"name":         func(t *Tool) { t.Name = "b" },
		"title":        func(t *Tool) { t.Title = "b" },
		"description":  func(t *Tool) { t.Description = "b" },
		"inputSchema":  func(t *Tool) { t.InputSchema = json.RawMessage(`{"type":"object","x":1}`) },
		"a number":     func(t *Tool) { t.InputSchema = json.RawMessage(`{"type":"object","x":9007199254740992}`) },
		"its last bit": func(t *Tool) { t.InputSchema = json.RawMessage(`{"type":"object","x":9007199254740993}`) },
		"outputSchema": func(t *Tool) { t.OutputSchema = json.RawMessage(`{}`) },
		"annotations":  func(t *Tool) { t.Annotations = json.RawMessage(`{}`) },
	} {
		now := was
		change(&now)
		sum := now.SHA256()
		if other, ok := seen[sum]; ok {
			t.Errorf("a change of %s has the sum of %s", what, other)
		}
		seen[sum] = what
	}
}
