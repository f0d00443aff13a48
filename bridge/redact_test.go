package bridge

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"bridge/policy"
)

// Wherever a secret is in a result, no reading of what is left of it has it.
func TestRedactedWherever(t *testing.T) {
	rule := policy.Rule{Result: policy.ResultRule{Redact: []*regexp.Regexp{regexp.MustCompile(`SECRET|12345678`)}}}
	for i, result := range []string{
		`{"content":[{"type":"text","text":"a SECRET"}]}`,
		`{"content":[{"type":"text","text":"a \u0053ECRET"}]}`,
		`{"content":[{"type":"text","text":"{\"a\":\"\\u0053ECRET\"}"}]}`,
		`{"content":[{"type":"text","text":"[\"{\\\"a\\\":\\\"\\\\u0053ECRET\\\"}\"]"}]}`,
		`{"content":[{"type":"text","text":"ok","annotations":{"SECRET":1}}]}`,
		`{"content":[{"type":"text","text":"ok","data":"SECRET"}]}`,
		`{"content":[{"type":"SECRET","data":"SECRET"}]}`,
		`{"content":[{"type":"SECRET","data":"SECRET"}]}`,
		`{"content":[{"type":"image","data":"AAAA","mimeType":"SECRET"}]}`,
		`{"content":[{"type":"resource","resource":{"uri":"a:SECRET","text":"SECRET","blob":"AAAA","_meta":{"SECRET":["SECRET"]}}}]}`,
		`{"content":[{"type":"resource","resource":"SECRET"}]}`,
		`{"content":[{"type":"resource_link","uri":"SECRET","name":"SECRET"}]}`,
		`{"content":[],"structuredContent":{"SECRET":{"SECRET":[1,12345678,"12345678",{"a":123456789}]}},"_meta":{"a":"SECRET"}}`,
		`{"content":[],"SECRET":"ok","isError":true}`,
	} {
		rule.Result.Images = i%2 == 0
		got, err := fitted(json.RawMessage(result), "s.t", rule)
		if err != nil {
			t.Errorf("%s: %v", result, err)
			continue
		}
		if text := everything(t, got); strings.Contains(text, "SECRET") || strings.Contains(text, "12345678") {
			t.Errorf("%s: became %s", result, got)
		}
	}
}

// everything is all text of JSON, also of JSON in its texts.
func everything(t *testing.T, raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	var all strings.Builder
	var visit func(any)
	visit = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, value := range v {
				visit(name)
				visit(value)
			}
		case []any:
			for _, value := range v {
				visit(value)
			}
		case string:
			all.WriteString(v + "\n" + everything(t, json.RawMessage(v)))
		default:
			text, _ := json.Marshal(v)
			all.Write(append(text, '\n'))
		}
	}
	visit(v)
	return all.String()
}

// A text of brackets without end is no deep value to descend into.
func TestRedactedIsBounded(t *testing.T) {
	rule := policy.Rule{Result: policy.ResultRule{Redact: []*regexp.Regexp{regexp.MustCompile(`SECRET`)}}}
	text := strings.Repeat("[", 1<<20)
	result, _ := json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": text}}})
	if got, err := fitted(result, "s.t", rule); err != nil || !strings.Contains(string(got), text) {
		t.Errorf("%v", err)
	}
}

func TestRedactedKeepsTheRest(t *testing.T) {
	rule := policy.Rule{Result: policy.ResultRule{Redact: []*regexp.Regexp{regexp.MustCompile(`x*`), regexp.MustCompile(`SECRET`)}, Images: true}}
	const result = `{"content":[{"data":"SECRETA=","mimeType":"image/png","type":"image"},{"text":"a < b & é","type":"text"}],"structuredContent":{"z":9007199254740993,"a":[null,true,-0.5]}}`
	got, err := fitted(json.RawMessage(result), "s.t", rule)
	if err != nil || string(got) != result {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, result)
	}
}
