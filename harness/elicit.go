package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// capabilities are those that the agent declares.
func (a *Agent) capabilities() map[string]any {
	if a.elicit == "" {
		return map[string]any{}
	}
	return map[string]any{"elicitation": map[string]any{}}
}

// elicited shows a question to the agent's person: its text goes to the end of
// the file asked.txt.
func (a *Agent) elicited(params json.RawMessage) any {
	var q struct {
		Message string `json:"message"`
	}
	json.Unmarshal(params, &q)
	f, err := os.OpenFile(filepath.Join(a.work, "asked.txt"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err == nil {
		fmt.Fprintln(f, q.Message)
		f.Close()
	}
	answer, delay, _ := strings.Cut(a.elicit, ",")
	if d, err := time.ParseDuration(delay); err == nil {
		time.Sleep(d)
	}
	switch answer {
	case "accept":
		return map[string]any{"action": "accept", "content": map[string]string{"answer": "once"}}
	case "always":
		return map[string]any{"action": "accept", "content": map[string]string{"answer": "run"}}
	}
	return map[string]any{"action": answer}
}

// finish gives the result of a tools/call, which the agent makes again with an
// answer as often as the result is a question.
func (a *Agent) finish(c chan answer, params map[string]any) (json.RawMessage, error) {
	for {
		raw, err := a.await(c)
		if err != nil {
			return nil, err
		}
		var r struct {
			ResultType    string `json:"resultType"`
			RequestState  string `json:"requestState"`
			InputRequests map[string]struct {
				Params json.RawMessage `json:"params"`
			} `json:"inputRequests"`
		}
		if json.Unmarshal(raw, &r) != nil || r.ResultType != "input_required" {
			return raw, nil
		}
		answers := map[string]any{}
		for id, q := range r.InputRequests {
			answers[id] = a.elicited(q.Params)
		}
		params["requestState"], params["inputResponses"] = r.RequestState, answers
		if _, c, err = a.begin("tools/call", params); err != nil {
			return nil, err
		}
	}
}
