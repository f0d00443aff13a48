// Package strictjson reads JSON objects that different programs would read alike,
// and refuses others: with a name given twice, half a character, or a number that
// is rounded away.
//
// It knows nothing of policies, nor what the objects are for.
package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Bounds of what is read, far beyond what any tool needs.
const (
	MaxBytes  = 8 << 20
	MaxNames  = 100_000 // in nested objects, of those with more than a few
	MaxValues = 4096    // where the values are wanted, each of which takes much more memory than its JSON

	maxNesting  = 64  // objects and lists in each other
	maxDigits   = 400 // bytes of a number
	maxExponent = 400
)

// An Object has its members in the order in which they were sent. Values are
// Object, []any, string, Number, bool or nil.
type Object []Member

// A Member is a name and its value.
type Member struct {
	Name  string
	Value any
}

// A Number is a number as written: a float64 could not hold every one.
type Number string

// A Step of a path is a name in an object, or an index of a list.
type Step struct {
	Name  []byte
	Named bool
	Index int
}

// An Error is why an object is refused, and where in it.
type Error struct {
	Path []Step // nil for the whole object
	Text string
}

func (e *Error) Error() string { return e.Text }

// Read reads an object; nothing at all is an empty one. It returns it written anew,
// without spaces and with every string in its shortest form, and, with build, its
// values. The error is an *Error.
func Read(sent json.RawMessage, build bool) (json.RawMessage, Object, error) {
	if len(sent) == 0 {
		return json.RawMessage("{}"), nil, nil
	}
	if len(sent) > MaxBytes {
		return nil, nil, &Error{Text: fmt.Sprintf("%d bytes; at most %d", len(sent), MaxBytes)}
	}
	r := reader{in: sent, out: make([]byte, 0, len(sent)), build: build}
	r.space()
	first := r.peek()
	v, err := r.value()
	if err != nil {
		return nil, nil, err
	}
	if first != '{' {
		return nil, nil, r.refuse("not an object")
	}
	r.space()
	if r.at < len(r.in) {
		return nil, nil, r.refuse("something follows them, at byte %d", r.at)
	}
	o, _ := v.(Object)
	return r.out, o, nil
}

// A reader reads JSON once, strictly, and writes it anew.
type reader struct {
	in    []byte
	at    int
	out   []byte
	build bool
	built int // values
	names int // in the objects that are being read
	path  []Step
}

func (r *reader) refuse(format string, args ...any) error {
	return &Error{r.path, fmt.Sprintf(format, args...)}
}

func (r *reader) malformed() error {
	if r.at >= len(r.in) {
		return r.refuse("malformed JSON: it ends too early")
	}
	return r.refuse("malformed JSON, at byte %d", r.at)
}

// peek is the next byte, or 0 at the end.
func (r *reader) peek() byte {
	if r.at < len(r.in) {
		return r.in[r.at]
	}
	return 0
}

func (r *reader) space() {
	for r.at < len(r.in) {
		switch r.in[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// punctuation takes the byte, if it is the next, from one end to the other.
func (r *reader) punctuation(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.at++
	r.out = append(r.out, c)
	return true
}

func (r *reader) value() (any, error) {
	if r.build {
		// Each takes much more here than in JSON.
		if r.built++; r.built > MaxValues {
			return nil, &Error{Text: fmt.Sprintf("more than %d values, too many for a rule", MaxValues)}
		}
	}
	switch c := r.peek(); {
	case c == '{' || c == '[':
		if len(r.path) >= maxNesting {
			return nil, r.refuse("nested deeper than %d", maxNesting)
		}
		if c == '[' {
			return r.list()
		}
		return r.object()
	case c == '"':
		s, err := r.text()
		if !r.build || err != nil {
			return nil, err
		}
		return string(s), nil
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	}
	for _, w := range [...]struct {
		text  string
		value any
	}{{"true", true}, {"false", false}, {"null", nil}} {
		if bytes.HasPrefix(r.in[r.at:], []byte(w.text)) {
			r.at += len(w.text)
			r.out = append(r.out, w.text...)
			return w.value, nil
		}
	}
	for _, w := range []string{"NaN", "Infinity"} {
		if bytes.HasPrefix(r.in[r.at:], []byte(w)) {
			return nil, r.refuse("%s is not a number in JSON", w)
		}
	}
	return nil, r.malformed()
}

func (r *reader) object() (any, error) {
	r.punctuation('{')
	r.space()
	var o Object
	if r.punctuation('}') {
		return o, nil
	}
	var seen nameSet
	defer func() { r.names -= len(seen.many) }()
	for {
		if r.peek() != '"' {
			return nil, r.malformed()
		}
		name, err := r.text()
		if err != nil {
			return nil, err
		}
		r.path = append(r.path, Step{Name: name, Named: true})
		if !seen.add(name) {
			return nil, r.refuse("given twice")
		}
		if seen.many != nil {
			if r.names++; r.names > MaxNames {
				return nil, &Error{Text: fmt.Sprintf("more than %d names in objects that are in each other", MaxNames)}
			}
		}
		r.space()
		if !r.punctuation(':') {
			return nil, r.malformed()
		}
		r.space()
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		r.path = r.path[:len(r.path)-1]
		if r.build {
			o = append(o, Member{string(name), v})
		}
		r.space()
		if r.punctuation('}') {
			return o, nil
		}
		if !r.punctuation(',') {
			return nil, r.malformed()
		}
		r.space()
	}
}

func (r *reader) list() (any, error) {
	r.punctuation('[')
	r.space()
	list := []any{}
	if r.punctuation(']') {
		return list, nil
	}
	for i := 0; ; i++ {
		r.path = append(r.path, Step{Index: i})
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		r.path = r.path[:len(r.path)-1]
		if r.build {
			list = append(list, v)
		}
		r.space()
		if r.punctuation(']') {
			return list, nil
		}
		if !r.punctuation(',') {
			return nil, r.malformed()
		}
		r.space()
	}
}
