package toon

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// primitive is a value that is neither an object nor an array.
func primitive(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(v)
	case json.Number:
		return number(v.String())
	case string:
		return text(v)
	}
	panic(fmt.Sprintf("toon: %T is not a primitive", v))
}

// number is one in canonical form: no exponent where there need be none, no
// zeros at the end of a fraction. One that is very large or very small stays as
// it is, but for the spelling of its exponent.
func number(text string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	size, err := strconv.Atoi(cmp.Or(exponent, "0"))
	r, ok := new(big.Rat), false
	if err == nil && -1000 < size && size < 1000 {
		r, ok = r.SetString(text)
	}
	abs := new(big.Rat).Abs(r)
	switch {
	case ok && r.Sign() == 0:
		return "0"
	case !ok || abs.Cmp(least) < 0 || abs.Cmp(most) >= 0:
		if exponent == "" || err != nil {
			return text
		}
		return fmt.Sprintf("%se%+d", mantissa, size)
	}
	_, fraction, _ := strings.Cut(mantissa, ".")
	s := r.FloatString(max(len(fraction)-size, 0))
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Between these, the specification wants numbers without an exponent.
var (
	least = big.NewRat(1, 1_000_000)
	most  = new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(21), nil))
)

var (
	plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)
	numeric  = regexp.MustCompile(`(?i)^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$`)
)

func key(name string) string {
	if plainKey.MatchString(name) {
		return name
	}
	return quote(name)
}

// text is a string, in quotes where it could be taken for something else.
func text(s string) string {
	switch {
	case s == "", s == "true", s == "false", s == "null",
		strings.HasPrefix(s, "-"),
		strings.TrimFunc(s, unicode.IsSpace) != s,
		strings.ContainsAny(s, ",:\"\\[]{}"),
		strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 }),
		numeric.MatchString(s):
		return quote(s)
	}
	return s
}

func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
