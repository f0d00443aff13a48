package bridge

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"bridge/sandbox"
)

// piece is a text that may have a gap: bytes that were left out between its
// head and its tail.
type piece struct {
	head, tail string
	skipped    int64
}

func pieceOf(o sandbox.Output) piece {
	if o.Skipped == 0 {
		return piece{head: o.Text}
	}
	return piece{head: o.Text[:o.Gap], tail: o.Text[o.Gap:], skipped: o.Skipped}
}

func (p *piece) size() int { return len(p.head) + len(p.tail) }

func (p *piece) String() string {
	if p.skipped == 0 {
		return p.head + p.tail
	}
	head := p.head
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	return fmt.Sprintf("%s[%d bytes left out]\n%s", head, p.skipped, p.tail)
}

// fit cuts the pieces to a budget of bytes in all, and tells whether anything
// is missing from any of them. Short pieces keep all they have; the long ones
// share what is left.
func fit(pieces []piece, budget int) bool {
	order := make([]*piece, len(pieces))
	for i := range pieces {
		order[i] = &pieces[i]
	}
	slices.SortStableFunc(order, func(a, b *piece) int { return a.size() - b.size() })
	for i, p := range order {
		share := budget / (len(order) - i)
		p.cut(share)
		budget -= p.size()
	}
	return slices.ContainsFunc(pieces, func(p piece) bool { return p.skipped > 0 })
}

// cut shortens a piece in its middle to at most n bytes, at line ends where
// there are some near.
func (p *piece) cut(n int) {
	if p.size() <= n {
		return
	}
	if p.skipped == 0 {
		p.head, p.tail = p.head+p.tail, p.head+p.tail
	}
	before := p.size()
	if p.skipped == 0 {
		before = len(p.head)
	}
	half := n / 2
	p.head = first(p.head, half)
	p.tail = last(p.tail, n-half)
	p.skipped += int64(before - p.size())
}

// first is the beginning of s, at most n bytes, to the end of a line if one
// ends in its second half.
func first(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	s = s[:n]
	if i := strings.LastIndexByte(s, '\n'); i >= n/2 {
		return s[:i+1]
	}
	return s
}

// last is the end of s, at most n bytes, from the beginning of a line if one
// begins in its first half.
func last(s string, n int) string {
	if len(s) <= n {
		return s
	}
	from := len(s) - n
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	s = s[from:]
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < n/2 {
		return s[i+1:]
	}
	return s
}
