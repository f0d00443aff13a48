package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"

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
	if raw, ok := fields["content"]; ok {
		if err := json.Unmarshal(raw, &content); err != nil {
			return nil, err
		}
		var err error
		for i, block := range content {
			if content[i], err = rewrittenBlock(block, rule); err != nil {
				return nil, err
			}
		}
		if fields["content"], err = encoded(content); err != nil {
			return nil, err
		}
	}
	if raw, ok := fields["contents"]; ok { // of a resource
		if err := json.Unmarshal(raw, &content); err != nil {
			return nil, err
		}
		var err error
		for i, part := range content {
			if content[i], err = rewrittenPart(part, rule); err != nil {
				return nil, err
			}
		}
		if fields["contents"], err = encoded(content); err != nil {
			return nil, err
		}
	}
	if raw, ok := fields["structuredContent"]; ok && !rule.Result.Images {
		var err error
		if fields["structuredContent"], err = withoutImages(raw, rule); err != nil {
			return nil, err
		}
	}
	return redactedFields(fields, rule.Result.Redact, "content", "contents", "isError", "resultType")
}

// rewrittenPart is one of the contents of a resource.
func rewrittenPart(part json.RawMessage, rule policy.Rule) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(part, &fields); err != nil {
		return nil, err
	}
	if size := len(fields["blob"]); size > 0 && !rule.Result.Images {
		return encoded(leftOut("resource", size-len(`""`), rule))
	}
	return redactedFields(fields, rule.Result.Redact, "blob")
}

// withoutImages leaves out the blocks of images and sounds in data, which code
// would be given as such.
func withoutImages(data json.RawMessage, rule policy.Rule) (json.RawMessage, error) {
	var value any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	var left func(value any) any
	left = func(value any) any {
		switch v := value.(type) {
		case []any:
			for i := range v {
				v[i] = left(v[i])
			}
		case map[string]any:
			inner, _ := v["resource"].(map[string]any)
			text, isData := v["data"].(string)
			blob, isBlob := inner["blob"].(string)
			if kind, _ := v["type"].(string); isData && (kind == "image" || kind == "audio") || isBlob && kind == "resource" {
				return leftOut(kind, len(text+blob), rule)
			}
			for name := range v {
				v[name] = left(v[name])
			}
		}
		return value
	}
	return encoded(left(value))
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
			return encoded(leftOut(kind, max(size-len(`""`), 0), rule))
		}
	}
	var same []string
	switch kind {
	case "image", "audio":
		same = []string{"type", "data"}
	case "text", "resource", "resource_link":
		same = []string{"type"}
	}
	if json.Unmarshal(fields["resource"], &resource) == nil && resource != nil {
		if size := len(resource["blob"]); size > 0 && !rule.Result.Images {
			return encoded(leftOut(kind, size-len(`""`), rule))
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
func leftOut(kind string, size int, rule policy.Rule) map[string]string {
	if kind != "image" && kind != "audio" && kind != "resource" {
		kind = "content"
	}
	return map[string]string{"type": "text", "text": fmt.Sprintf(
		"[%s of %d bytes in base64, left out: the rule (%s) allows no images]", kind, size, rule.Pos)}
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
