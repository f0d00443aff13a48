package strictjson

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string and returns what it says.
func (r *reader) text() ([]byte, error) {
	start := r.at + 1
	for i := start; i < len(r.in); i++ {
		switch c := r.in[i]; {
		case c == '"':
			said := r.in[start:i]
			if !utf8.Valid(said) {
				return nil, r.refuse("not UTF-8")
			}
			r.at = i + 1
			r.out = append(append(append(r.out, '"'), said...), '"')
			return said, nil
		case c == '\\':
			return r.escaped(i)
		case c < ' ':
			r.at = i
			return nil, r.malformed()
		}
	}
	r.at = len(r.in)
	return nil, r.malformed()
}

// escaped reads a string whose first escape is at first.
func (r *reader) escaped(first int) ([]byte, error) {
	said := append([]byte(nil), r.in[r.at+1:first]...)
	r.at = first
	for r.at < len(r.in) {
		switch c := r.in[r.at]; {
		case c == '"':
			if !utf8.Valid(said) {
				return nil, r.refuse("not UTF-8")
			}
			r.at++
			r.out = quote(r.out, said)
			return said, nil
		case c < ' ':
			return nil, r.malformed()
		case c != '\\':
			said = append(said, c)
			r.at++
		default:
			char, err := r.escape()
			if err != nil {
				return nil, err
			}
			said = utf8.AppendRune(said, char)
		}
	}
	return nil, r.malformed()
}

// escape reads one escape, or the two of a pair of surrogates.
func (r *reader) escape() (rune, error) {
	if r.at+1 >= len(r.in) {
		r.at = len(r.in)
		return 0, r.malformed()
	}
	c := r.in[r.at+1]
	if i := bytes.IndexByte([]byte(`"\/bfnrt`), c); i >= 0 {
		r.at += 2
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	char, ok := r.hex(r.at)
	if !ok {
		return 0, r.malformed()
	}
	r.at += 6
	if !utf16.IsSurrogate(char) {
		return char, nil
	}
	low, _ := r.hex(r.at)
	if pair := utf16.DecodeRune(char, low); pair != utf8.RuneError {
		r.at += 6
		return pair, nil
	}
	return 0, r.refuse("half of a surrogate pair, which is not a character")
}

// hex is the code of the escape \uXXXX at i.
func (r *reader) hex(i int) (rune, bool) {
	if i+6 > len(r.in) || r.in[i] != '\\' || r.in[i+1] != 'u' {
		return 0, false
	}
	code, err := strconv.ParseUint(string(r.in[i+2:i+6]), 16, 16)
	return rune(code), err == nil
}

// quote writes a string in its shortest form.
func quote(out, said []byte) []byte {
	out = append(out, '"')
	for _, c := range said {
		if i := bytes.IndexByte([]byte("\"\\\b\f\n\r\t"), c); i >= 0 {
			out = append(out, '\\', `"\bfnrt`[i])
		} else if c < ' ' {
			out = fmt.Appendf(out, `\u%04x`, c)
		} else {
			out = append(out, c)
		}
	}
	return append(out, '"')
}

// number reads a number, which stays as it is written: as a float64, a large one
// would be another. But -0 is 0, as a whole number has no sign then.
func (r *reader) number() (any, error) {
	start := r.at
	digits := func() bool {
		from := r.at
		for c := r.peek(); c >= '0' && c <= '9'; c = r.peek() {
			r.at++
		}
		return r.at > from
	}
	if r.peek() == '-' {
		r.at++
		if bytes.HasPrefix(r.in[r.at:], []byte("Infinity")) {
			return nil, r.refuse("-Infinity is not a number in JSON")
		}
	}
	if r.peek() == '0' {
		r.at++
	} else if !digits() {
		return nil, r.malformed()
	}
	if r.peek() == '.' {
		if r.at++; !digits() {
			return nil, r.malformed()
		}
	}
	exponent := 0
	if c := r.peek(); c == 'e' || c == 'E' {
		r.at++
		from := r.at
		if c := r.peek(); c == '+' || c == '-' {
			r.at++
		}
		if !digits() {
			return nil, r.malformed()
		}
		var err error
		if exponent, err = strconv.Atoi(string(r.in[from:r.at])); err != nil {
			exponent = maxExponent + 1
		}
	}
	text := r.in[start:r.at]
	if len(text) > maxDigits || exponent > maxExponent || exponent < -maxExponent {
		return nil, r.refuse("a number of more than %d digits, or with an exponent beyond %d", maxDigits, maxExponent)
	}
	if f, err := strconv.ParseFloat(string(text), 64); err != nil || math.IsInf(f, 0) {
		return nil, r.refuse("a number beyond %.0e, the largest that servers read", math.MaxFloat64)
	}
	if string(text) == "-0" {
		text = text[1:]
	}
	r.out = append(r.out, text...)
	if !r.build {
		return nil, nil
	}
	return Number(text), nil
}

// A nameSet is the names of one object.
type nameSet struct {
	few  [8][]byte
	n    int
	many map[string]bool
}

// add reports whether the name is new.
func (s *nameSet) add(name []byte) bool {
	if s.many != nil {
		if s.many[string(name)] {
			return false
		}
		s.many[string(name)] = true
		return true
	}
	for _, other := range s.few[:s.n] {
		if bytes.Equal(other, name) {
			return false
		}
	}
	if s.n < len(s.few) {
		s.few[s.n] = name
		s.n++
		return true
	}
	s.many = map[string]bool{string(name): true}
	for _, other := range s.few {
		s.many[string(other)] = true
	}
	return true
}
