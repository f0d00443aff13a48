package bridge

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Visible is a text with what a person would not see, or would see elsewhere
// than it stands, as escapes of JSON: control characters and so the sequences
// that steer a terminal, marks of direction, characters without width. Whoever
// writes to a person, in a question or on a terminal, writes what it returns,
// since code and servers may want their text to pass for another's.
func Visible(text string) string { return withEscapes(text, "") }

// VisibleLines is Visible for a text of several lines, and with any spaces. What
// returns to the beginning of a line, as a progress bar does, is on a new one.
func VisibleLines(text string) string {
	return withEscapes(ends.Replace(text), "\n\t\u00a0\u3000")
}

var ends = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// withEscapes writes as escapes what is not visible and not among those to keep.
func withEscapes(text, keep string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case strconv.IsPrint(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), strings.ContainsRune(keep, r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// shown is a name as it stands in a line: one that could be taken for more
// than a name is quoted.
func shown(name string) string {
	if strings.ContainsAny(name, ` "`) || Visible(name) != name {
		return Visible(strconv.Quote(name))
	}
	return name
}
