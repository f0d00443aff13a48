package policy

import (
	"math/big"
	"strconv"
	"strings"

	"bridge/policy/strictjson"
)

// Most servers read a number as a double, and see another one where the number
// has more digits than a double holds: 0.99999999999999999999 is 1 to them. So a
// rule has to hold for what is written and for what they see.

// asDoubles is a value with the nearest double for each number, and whether one
// of them is another number.
func asDoubles(v any) (read any, other bool) {
	switch v := v.(type) {
	case strictjson.Object:
		o := make(strictjson.Object, len(v))
		for i, m := range v {
			value, differs := asDoubles(m.Value)
			o[i], other = m, other || differs
			o[i].Value = value
		}
		return o, other
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			value, differs := asDoubles(e)
			list[i], other = value, other || differs
		}
		return list, other
	case strictjson.Number:
		return nearest(v)
	}
	return v, false
}

// nearest is the double nearest to a number, in as few digits as tell it from
// others: 0.1 is 0.1. It stays an int, or a float.
func nearest(n strictjson.Number) (double strictjson.Number, other bool) {
	const always = 15 // digits that a double keeps, whatever they are
	text := string(n)
	if len(text) <= always && !strings.ContainsAny(text, "eE") {
		return n, false
	}
	f, _ := strconv.ParseFloat(text, 64) // out of range it is infinite, which strictjson has refused
	form := byte('g')
	if isInt(n) {
		form = 'f'
	}
	said := strconv.FormatFloat(f, form, -1, 64)
	if form == 'g' && !strings.ContainsAny(said, ".e") {
		said += ".0"
	}
	written, ok := new(big.Rat).SetString(text)
	seen, too := new(big.Rat).SetString(said)
	if ok && too && written.Cmp(seen) == 0 {
		return n, false
	}
	return strictjson.Number(said), true
}
