package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"cuelang.org/go/cue/literal"
)

// What the arguments of a call may be, whatever the rule. The bounds are far
// beyond what any tool wants; servers read what is within them alike.
const (
	maxArgs     = 8 << 20 // bytes
	maxNames    = 100_000 // in objects of more than a few, that are in each other
	maxNesting  = 64      // objects and lists in each other
	maxDigits   = 400     // bytes of a number
	maxExponent = 400
)

// An object is the arguments of a call, or one of them, in the order in which
// they were sent. Values are object, []any, string, numeral, bool or nil.
type object []member

type member struct {
	name  string
	value any
}

// A numeral is a number as it is written in JSON: a float64 could not hold it.
type numeral string

// A step is one of a path into arguments: a name, or an index of a list.
type step struct {
	name  []byte
	named bool
	index int
}

// argsPath is the path as CUE writes it. The names come from the sandbox.
func argsPath(path []step) string {
	var b strings.Builder
	b.WriteString("args")
	for i, s := range path {
		if i == 8 && len(path) > 12 {
			b.WriteString("…")
		}
		if i >= 8 && i < len(path)-4 {
			continue
		}
		switch name := shorten(string(s.name)); {
		case !s.named:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case plain(name):
			b.WriteString("." + name)
		default:
			b.WriteString("." + literal.Label.Quote(name))
		}
	}
	return b.String()
}

// arguments reads the arguments of a call, of which servers could make
// different things if it did not refuse what they read differently. It returns
// them as they are sent: without spaces, every text in its shortest form. With
// build it also returns what they are.
func arguments(sent json.RawMessage, build bool) (json.RawMessage, object, error) {
	if len(sent) == 0 {
		return json.RawMessage("{}"), nil, nil
	}
	if len(sent) > maxArgs {
		return nil, nil, fmt.Errorf("args: %d bytes; at most %d", len(sent), maxArgs)
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
	o, _ := v.(object)
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
	path  []step
}

func (r *reader) refuse(format string, args ...any) error {
	return fmt.Errorf("%s: %s", argsPath(r.path), fmt.Sprintf(format, args...))
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
		if r.built++; r.built > maxValues {
			return nil, fmt.Errorf("args: more than %d values, too many for a rule", maxValues)
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
			return nil, r.refuse("%s is no number in JSON", w)
		}
	}
	return nil, r.malformed()
}

func (r *reader) object() (any, error) {
	r.punctuation('{')
	r.space()
	var o object
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
		r.path = append(r.path, step{name: name, named: true})
		if !seen.add(name) {
			return nil, r.refuse("given twice")
		}
		if seen.many != nil {
			if r.names++; r.names > maxNames {
				return nil, fmt.Errorf("args: more than %d names in objects that are in each other", maxNames)
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
			o = append(o, member{string(name), v})
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
		r.path = append(r.path, step{index: i})
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
