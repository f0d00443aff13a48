package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"bridge/policy"
)

// Request is one run_python, checked.
type Request struct {
	Code    string
	Servers []string // names or aliases; none: every server of the profile
	Timeout *int     // seconds; nil: the profile's default
	Last    bool     // whether the session ends with it
}

// Stream is given the output of a run as it comes. The stream is "stdout",
// "stderr" or "background"; skipped bytes were left out before text. What servers
// say of calls, a line each, is a stream of its own, which is not output.
type Stream func(stream, text string, skipped int64)

// CallStream is the stream of what servers say of calls.
const CallStream = "calls"

// parseRequest decodes the arguments of a tools/call strictly. Its errors are
// for the agent: they say what would have been right.
func parseRequest(raw json.RawMessage, p *policy.Profile) (Request, error) {
	var args map[string]json.RawMessage
	if len(bytes.TrimSpace(raw)) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return Request{}, fmt.Errorf("the arguments must be an object with code, and optionally servers and timeout")
	}
	for name := range args {
		switch name {
		case "code", "servers", "timeout":
		default:
			return Request{}, fmt.Errorf("unknown argument %q; arguments: code, servers, timeout", name)
		}
	}
	var r Request
	if err := json.Unmarshal(args["code"], &r.Code); err != nil || isNull(args["code"]) {
		return Request{}, fmt.Errorf("code must be a string of Python source")
	}
	if strings.TrimSpace(r.Code) == "" {
		return Request{}, fmt.Errorf("code is blank; it must be Python source")
	}
	if raw, ok := args["servers"]; ok {
		var names []*string
		if err := json.Unmarshal(raw, &names); err != nil || isNull(raw) {
			return Request{}, fmt.Errorf(`servers must be a list of strings, such as ["github"]; leave it out for all`)
		}
		for _, n := range names {
			if n == nil {
				return Request{}, fmt.Errorf(`servers must be a list of strings, such as ["github"]; leave it out for all`)
			}
			r.Servers = append(r.Servers, *n)
		}
	}
	raw, ok := args["timeout"]
	if !ok {
		return r, nil
	}
	var seconds float64
	if err := json.Unmarshal(raw, &seconds); err != nil || isNull(raw) || seconds != math.Trunc(seconds) {
		return Request{}, fmt.Errorf("timeout must be a whole number of seconds from 1 to %d", int(p.Timeout.Max.Seconds()))
	}
	// What is too large for an int is too large for every profile.
	n := int(max(min(seconds, math.MaxInt32), math.MinInt32))
	r.Timeout = &n
	return r, nil
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }
