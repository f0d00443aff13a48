package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"bridge/policy"
	"bridge/sandbox"
	"bridge/upstream"
)

// This file words the errors of servers for the code.

// shortData bounds the data of a JSON-RPC error that an exception's text shows,
// in bytes.
const shortData = 500

// serverError is an error of a server as the code gets it: its text and, of a
// JSON-RPC error, the code and the data, redacted as the rule says. Data larger
// than the rule's limit on results are left out.
func serverError(err error, rule policy.Rule) *sandbox.Error {
	e := &sandbox.Error{Kind: kind(err), Message: redacted(err.Error(), rule.Result.Redact)}
	var u *upstream.Error
	if !errors.As(err, &u) || u.Code == 0 {
		return e
	}
	more := map[string]any{"server": u.Server, "code": u.Code}
	var words []string
	if code := strconv.Itoa(u.Code); !strings.Contains(e.Message, code) {
		words = append(words, "code "+code)
	}
	data, left := errorData(u.Data, rule)
	switch {
	case left != "":
		words = append(words, left)
	case len(data) > 0:
		more["data"] = data
		if len(data) <= shortData {
			words = append(words, "data "+string(data))
		}
	}
	if len(words) > 0 {
		e.Message += " (" + strings.Join(words, ", ") + ")"
	}
	e.Data = more
	return e
}

// errorData are the data of a JSON-RPC error, redacted, or why they are left out.
func errorData(data json.RawMessage, rule policy.Rule) (kept json.RawMessage, left string) {
	if len(data) == 0 {
		return nil, ""
	}
	r := redactor{patterns: rule.Result.Redact, in: json.NewDecoder(bytes.NewReader(data))}
	kept, err := r.all()
	switch {
	case err != nil:
		return nil, "data left out: it cannot be redacted"
	case rule.Result.Max > 0 && int64(len(kept)) > rule.Result.Max:
		return nil, fmt.Sprintf("data left out: %d bytes, more than the %d that the rule allows (%s)", len(kept), rule.Result.Max, rule.Pos)
	}
	return kept, ""
}

// size is how much of a server's answer an error holds, in bytes.
func size(e *sandbox.Error) int {
	n := len(e.Message)
	if more, ok := e.Data.(map[string]any); ok {
		data, _ := more["data"].(json.RawMessage)
		n += len(data)
	}
	return n
}

func kind(err error) string {
	var u *upstream.Error
	if errors.As(err, &u) && u.Kind == upstream.KindTool {
		return "tool"
	}
	return "server"
}
