package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonText is JSON with comments, which keeps them and its spaces.
type jsonText struct {
	root hujson.Value
	mark bool   // whether it begins with a byte order mark
	unit string // one step of indentation
	end  string // of a line
}

func readJSON(text []byte) (*jsonText, error) {
	t := &jsonText{unit: "  ", end: "\n"}
	if rest, ok := bytes.CutPrefix(text, []byte("\ufeff")); ok {
		t.mark, text = true, rest
	}
	if bytes.Contains(text, []byte("\r\n")) {
		t.end = "\r\n"
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{" + t.end + "}" + t.end)
	}
	if _, bad := parseJSON(text); bad != nil {
		return nil, fmt.Errorf("%d:%d: %s", bad.line, bad.col, bad.message)
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, err
	}
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New("not an object")
	}
	if len(object.Members) > 0 {
		before := string(object.Members[0].Name.BeforeExtra)
		if i := strings.LastIndexByte(before, '\n'); i >= 0 && strings.TrimSpace(before[i:]) == "" && len(before) > i+1 {
			t.unit = before[i+1:]
		}
	}
	t.root = root
	return t, nil
}

func (t *jsonText) bytes() []byte {
	text := t.root.Pack()
	if t.mark {
		text = append([]byte("\ufeff"), text...)
	}
	return text
}

// section is the object at a path, which is made if need be.
func (t *jsonText) section(path []string) (*hujson.Object, error) {
	object := t.root.Value.(*hujson.Object)
	for depth, name := range path {
		i := index(object, name)
		if i < 0 {
			t.add(object, depth, name, hujson.Value{Value: &hujson.Object{}})
			i = len(object.Members) - 1
		}
		inner, ok := object.Members[i].Value.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%s is not an object", strings.Join(path[:depth+1], "."))
		}
		object = inner
	}
	return object, nil
}

func index(object *hujson.Object, name string) int {
	return slices.IndexFunc(object.Members, func(m hujson.ObjectMember) bool { return literal(m.Name.Value) == name })
}

// add puts a member at the end of an object that is so deep.
func (t *jsonText) add(object *hujson.Object, depth int, name string, value hujson.Value) {
	before := hujson.Extra(t.end + strings.Repeat(t.unit, depth+1))
	closing := object.AfterExtra
	if strings.TrimSpace(string(closing)) != "" {
		// A comment at the end, which is about what is there.
		before = append(bytes.TrimRight(closing, " \t\r\n"), before...)
		closing = nil
	}
	if !bytes.Contains(closing, []byte("\n")) {
		closing = hujson.Extra(t.end + strings.Repeat(t.unit, depth))
	}
	value.BeforeExtra = hujson.Extra(" ")
	if n := len(object.Members); n > 0 && object.Members[n-1].Value.AfterExtra != nil {
		value.AfterExtra = hujson.Extra{} // which hujson writes as a comma at the end
	}
	object.AfterExtra = closing
	object.Members = append(object.Members, hujson.ObjectMember{Name: hujson.Value{BeforeExtra: before, Value: hujson.String(name)}, Value: value})
}

// remove takes a member out, with the comment before it.
func remove(object *hujson.Object, i int) {
	comma := object.Members[len(object.Members)-1].Value.AfterExtra != nil
	// A comment on the line of the member before is about that one.
	if line, _, more := bytes.Cut(object.Members[i].Name.BeforeExtra, []byte("\n")); more && i > 0 && len(bytes.TrimSpace(line)) > 0 {
		next := &object.AfterExtra
		if i+1 < len(object.Members) {
			next = &object.Members[i+1].Name.BeforeExtra
		}
		*next = append(slices.Clone(line), *next...)
	}
	object.Members = slices.Delete(object.Members, i, i+1)
	n := len(object.Members)
	switch {
	case n == 0 && strings.TrimSpace(string(object.AfterExtra)) == "":
		object.AfterExtra = nil
	case n == 0:
	case !comma:
		object.Members[n-1].Value.AfterExtra = nil
	case object.Members[n-1].Value.AfterExtra == nil:
		object.Members[n-1].Value.AfterExtra = hujson.Extra{}
	}
}

// editJSON puts the bridge into a section, and takes out of it what goes.
func editJSON(text []byte, section []string, entry any, goes func(string) bool) (after []byte, shown string, out []string, err error) {
	t, err := readJSON(text)
	if err != nil {
		return nil, "", nil, err
	}
	servers, err := t.section(section)
	if err != nil {
		return nil, "", nil, err
	}
	for i := len(servers.Members) - 1; i >= 0; i-- {
		if name := literal(servers.Members[i].Name.Value); name != ownEntry && goes(name) {
			out = append(out, name)
			remove(servers, i)
		}
	}
	slices.Reverse(out)
	written := strings.ReplaceAll(indented(entry, strings.Repeat(t.unit, len(section)+1), t.unit), "\n", t.end)
	value, err := hujson.Parse([]byte(written))
	if err != nil {
		return nil, "", nil, err
	}
	shown = fmt.Sprintf("%q: %s", ownEntry, indented(entry, "", "  "))
	if i := index(servers, ownEntry); i >= 0 {
		was := &servers.Members[i].Value
		if sameJSON(*was, value) {
			if len(out) == 0 {
				return text, shown, nil, nil
			}
		} else {
			was.Value = value.Value
		}
	} else {
		t.add(servers, len(section), ownEntry, value)
	}
	return t.bytes(), shown, out, nil
}

// indented is an entry as JSON.
func indented(entry any, prefix, unit string) string {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, unit)
	enc.Encode(entry) // of strings, numbers and lists of them
	return strings.TrimSpace(text.String())
}

// sameJSON reports whether two values are the same, whatever their spaces.
func sameJSON(a, b hujson.Value) bool {
	plain := func(v hujson.Value) (value any) {
		v = v.Clone()
		v.Standardize()
		json.Unmarshal(v.Pack(), &value)
		return value
	}
	return reflect.DeepEqual(plain(a), plain(b))
}

// restoreJSON takes the bridge out of a section, and puts back what it had.
func restoreJSON(text, old []byte, section []string) ([]byte, error) {
	t, err := readJSON(text)
	if err != nil {
		return nil, err
	}
	now, err := t.section(section)
	if err != nil {
		return nil, err
	}
	if i := index(now, ownEntry); i >= 0 {
		remove(now, i)
	}
	was, err := readJSON(old)
	if err != nil {
		return nil, err
	}
	then, err := was.section(section)
	if err != nil {
		return nil, err
	}
	for _, m := range then.Members {
		if name := literal(m.Name.Value); index(now, name) < 0 {
			value := m.Value.Clone()
			value.AfterExtra = nil
			t.add(now, len(section), name, value)
		}
	}
	return t.bytes(), nil
}
