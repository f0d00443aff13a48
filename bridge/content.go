package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"bridge/policy"
)

// This file fits the result of a call to its rule, before code sees it.

// fitted leaves out images if the rule wants none, redacts what it wants
// redacted, and then holds the result against the rule's limit.
func fitted(result json.RawMessage, name string, rule policy.Rule) (json.RawMessage, error) {
	r := rule.Result
	if !r.Images || len(r.Redact) > 0 {
		changed, err := rewritten(result, rule)
		if err != nil {
			return nil, refuse("policy", "%s: the result cannot be redacted (%s): %v; the call was made", name, rule.Pos, err)
		}
		result = changed
	}
	if r.Max > 0 && int64(len(result)) > r.Max {
		return nil, refuse("policy", "%s: the result has %d bytes, more than the %d that the rule allows (%s); the call was made", name, len(result), r.Max, rule.Pos)
	}
	return result, nil
}

// rewritten is a result with its content as the rule wants it.
func rewritten(result json.RawMessage, rule policy.Rule) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	var content []json.RawMessage
	if err := json.Unmarshal(result, &fields); err != nil {
		return nil, err
	}
	for key, value := range fields {
		var err error
		switch key {
		case "isError", "resultType":
		case "content":
			if err = json.Unmarshal(value, &content); err != nil {
				return nil, err
			}
			for i, block := range content {
				if content[i], err = rewrittenBlock(block, rule); err != nil {
					return nil, err
				}
			}
			fields[key], err = encoded(content)
		default:
			fields[key], err = redactedJSON(value, rule.Result.Redact)
		}
		if err != nil {
			return nil, err
		}
	}
	return encoded(fields)
}

// rewrittenBlock is one block of content. What is in base64, as images are, is
// no text and is not redacted: it stays, or is left out.
func rewrittenBlock(block json.RawMessage, rule policy.Rule) (json.RawMessage, error) {
	var fields, resource map[string]json.RawMessage
	if err := json.Unmarshal(block, &fields); err != nil {
		return nil, err
	}
	var kind string
	json.Unmarshal(fields["type"], &kind)
	if size := len(fields["data"]); kind == "image" || kind == "audio" || size > 0 {
		if !rule.Result.Images {
			return leftOut(kind, size, rule)
		}
	}
	same := []string{"type"}
	if kind == "image" || kind == "audio" {
		same = append(same, "data")
	}
	if json.Unmarshal(fields["resource"], &resource) == nil && resource != nil {
		if size := len(resource["blob"]); size > 0 && !rule.Result.Images {
			return leftOut(kind, size, rule)
		}
		var err error
		if fields["resource"], err = redactedFields(resource, rule.Result.Redact, "blob"); err != nil {
			return nil, err
		}
		same = append(same, "resource")
	}
	return redactedFields(fields, rule.Result.Redact, same...)
}

// leftOut stands where a block was.
func leftOut(kind string, size int, rule policy.Rule) (json.RawMessage, error) {
	return encoded(map[string]string{"type": "text", "text": fmt.Sprintf(
		"[%s of %d bytes in base64, left out: the rule (%s) allows no images]", clip(shown(kind)), max(size-len(`""`), 0), rule.Pos)})
}

// redactedFields is an object with its fields redacted, but for those that are
// to stay the same.
func redactedFields(fields map[string]json.RawMessage, patterns []*regexp.Regexp, same ...string) (json.RawMessage, error) {
	for key, value := range fields {
		if slices.Contains(same, key) {
			continue
		}
		var err error
		if fields[key], err = redactedJSON(value, patterns); err != nil {
			return nil, err
		}
	}
	return encoded(fields)
}

const redaction = "[redacted]"

func redacted(text string, patterns []*regexp.Regexp) string {
	for _, p := range patterns {
		text = p.ReplaceAllStringFunc(text, func(match string) string {
			if match == "" {
				return ""
			}
			return redaction
		})
	}
	return text
}

// maxNested bounds how deep JSON in strings of JSON is looked into.
const maxNested = 4

// redactedJSON is a value of JSON with every text in it redacted: strings, also
// those that are JSON themselves, names of fields, and numbers.
func redactedJSON(value json.RawMessage, patterns []*regexp.Regexp) (json.RawMessage, error) {
	if len(patterns) == 0 {
		return value, nil
	}
	r := redactor{patterns: patterns, in: json.NewDecoder(bytes.NewReader(value))}
	r.in.UseNumber()
	if err := r.value(); err != nil {
		return nil, err
	}
	return r.out.Bytes(), nil
}

// A redactor copies JSON, token by token, so that the order of fields stays.
type redactor struct {
	patterns []*regexp.Regexp
	nested   int
	changed  bool
	in       *json.Decoder
	out      bytes.Buffer
}

func (r *redactor) value() error {
	token, err := r.in.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case json.Delim:
		r.out.WriteString(t.String())
		names := map[string]bool{}
		for first := true; r.in.More(); first = false {
			if !first {
				r.out.WriteByte(',')
			}
			if t == '{' {
				if err := r.name(names); err != nil {
					return err
				}
			}
			if err := r.value(); err != nil {
				return err
			}
		}
		end, err := r.in.Token()
		if err != nil {
			return err
		}
		r.out.WriteString(end.(json.Delim).String())
		return nil
	case string:
		return r.write(r.text(t))
	case json.Number:
		if text := r.redacted(t.String()); text != t.String() {
			return r.write(text)
		}
	}
	return r.write(token)
}

// name copies the name of a field. Names that are redacted to the same text
// are numbered, so that no field is lost.
func (r *redactor) name(taken map[string]bool) error {
	token, err := r.in.Token()
	if err != nil {
		return err
	}
	was := token.(string)
	name := r.redacted(was)
	for n, base := 2, name; name != was && taken[name]; n++ {
		name = fmt.Sprintf("%s %d", base, n)
	}
	taken[name] = true
	if err := r.write(name); err != nil {
		return err
	}
	r.out.WriteByte(':')
	return nil
}

// text redacts a string. In one that is JSON the strings may be written with
// escapes, behind which a pattern would see nothing.
func (r *redactor) text(s string) string {
	if trimmed := strings.TrimSpace(s); r.nested < maxNested && trimmed != "" && strings.ContainsRune(`{["`, rune(trimmed[0])) {
		inner := redactor{patterns: r.patterns, nested: r.nested + 1, in: json.NewDecoder(strings.NewReader(s))}
		inner.in.UseNumber()
		if inner.value() == nil && inner.ended() && inner.changed {
			s, r.changed = inner.out.String(), true
		}
	}
	return r.redacted(s)
}

func (r *redactor) redacted(s string) string {
	text := redacted(s, r.patterns)
	r.changed = r.changed || text != s
	return text
}

func (r *redactor) ended() bool {
	_, err := r.in.Token()
	return err == io.EOF
}

func (r *redactor) write(v any) error {
	text, err := encoded(v)
	r.out.Write(text)
	return err
}

// encoded is JSON without the escapes that only HTML needs.
func encoded(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
