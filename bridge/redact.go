package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

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

// protocol are the names of the fields of results, of blocks of content and of
// resources. They are not the server's.
var protocol = []string{
	"_meta", "annotations", "blob", "content", "data", "description", "icons", "isError", "mimeType",
	"name", "resource", "resultType", "size", "structuredContent", "text", "title", "type", "uri",
}

// redactedFields is an object with its fields redacted, but for those that are
// to stay the same.
func redactedFields(fields map[string]json.RawMessage, patterns []*regexp.Regexp, same ...string) (json.RawMessage, error) {
	kept := map[string]json.RawMessage{}
	for _, name := range same {
		if value, ok := fields[name]; ok {
			kept[name] = value
			delete(fields, name)
		}
	}
	rest, err := encoded(fields)
	if err != nil {
		return nil, err
	}
	r := redactor{patterns: patterns, given: protocol, in: json.NewDecoder(bytes.NewReader(rest))}
	if rest, err = r.all(); err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(rest, &all); err != nil {
		return nil, err
	}
	maps.Copy(all, kept)
	return encoded(all)
}

// A redactor copies JSON, token by token, so that the order of fields stays.
type redactor struct {
	patterns []*regexp.Regexp
	given    []string // names of the outermost fields that stay
	nested   int      // in how many strings of JSON
	depth    int      // in how many values
	changed  bool
	in       *json.Decoder
	out      bytes.Buffer
}

func (r *redactor) all() (json.RawMessage, error) {
	r.in.UseNumber()
	if err := r.value(); err != nil {
		return nil, err
	}
	return r.out.Bytes(), nil
}

func (r *redactor) value() error {
	r.depth++
	defer func() { r.depth-- }()
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
	name := was
	if r.depth > 1 || !slices.Contains(r.given, was) {
		name = r.redacted(was)
	}
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
	// Valid also bounds the depth.
	if r.nested < maxNested && strings.ContainsAny(s, `{["`) && json.Valid([]byte(s)) {
		inner := redactor{patterns: r.patterns, nested: r.nested + 1, in: json.NewDecoder(strings.NewReader(s))}
		if text, err := inner.all(); err == nil && inner.changed {
			s, r.changed = string(text), true
		}
	}
	return r.redacted(s)
}

func (r *redactor) redacted(s string) string {
	text := redacted(s, r.patterns)
	r.changed = r.changed || text != s
	return text
}

func (r *redactor) write(v any) error {
	text, err := encoded(v)
	r.out.Write(text)
	return err
}
