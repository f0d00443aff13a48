package sandbox

import (
	"bytes"
	"unicode/utf8"
)

// DefaultOutput is how many bytes of each stream are kept if a run does not say.
// A profile's default is the same.
const DefaultOutput = 24 << 10

// maxSkipped bounds the bytes that a guest can say it has left out of a stream.
const maxSkipped = 1 << 50

// Output is what one stream of a run brought: all of it, or its head and its
// tail.
type Output struct {
	Text    string
	Skipped int64 // bytes left out of the middle
	Gap     int   // where in Text they were
}

// capture keeps the first and the last limit bytes of a stream, so that a
// guest that prints for ever costs the host nothing.
type capture struct {
	limit   int
	head    []byte
	tail    []byte
	skipped int64
	full    bool // the head has ended
}

// add takes text before which skipped bytes were left out by the guest.
func (c *capture) add(text string, skipped int64) {
	if skipped > 0 {
		// What was kept as tail until now lies before the gap. It stays
		// only if it belongs to the head.
		c.skipped += skipped + int64(len(c.tail))
		c.tail = c.tail[:0]
		c.full = true
	}
	if !c.full {
		from := len(c.head)
		c.head = fold(append(c.head, text...), from, false)
		if len(c.head) <= c.limit {
			return
		}
		n := cut(string(c.head), c.limit)
		text = string(c.head[n:])
		c.head = c.head[:n:n]
		c.full = true
	}
	if len(text) > c.limit {
		n := len(text) - c.limit
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		c.skipped += int64(len(c.tail)) + int64(n)
		c.tail = c.tail[:0]
		text = text[n:]
	}
	from := len(c.tail)
	c.tail = fold(append(c.tail, text...), from, true)
	if len(c.tail) > 2*c.limit {
		c.trim()
	}
}

// fold takes away what is written over by a carriage return, as progress bars
// do, from the line on that holds the byte before from: a terminal would not
// show it. If the first line has begun elsewhere, its return is kept.
func fold(b []byte, from int, begun bool) []byte {
	start := bytes.LastIndexByte(b[:from], '\n') + 1
	if bytes.IndexByte(b[start:], '\r') < 0 {
		return b
	}
	begun = begun && start == 0
	out, rest := b[:start], b[start:]
	for len(rest) > 0 {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			end = len(rest)
		}
		line := rest[:end]
		rest = rest[end:]
		n := over(line)
		if begun && n > 0 {
			n--
		}
		begun = false
		out = append(out, line[n:]...)
		if len(rest) > 0 {
			out, rest = append(out, '\n'), rest[1:]
		}
	}
	return out
}

// over is how much of a line is written over by its rest. A return at the end
// of a line writes over nothing yet.
func over(line []byte) int {
	for end := len(line); ; {
		i := bytes.LastIndexByte(line[:end], '\r')
		if i < 0 {
			return 0
		}
		if i+1 < len(line) && line[i+1] != '\r' {
			return i + 1
		}
		end = i
	}
}

// trim leaves limit bytes of tail.
func (c *capture) trim() {
	n := len(c.tail) - c.limit
	if n <= 0 {
		return
	}
	for n < len(c.tail) && !utf8.RuneStart(c.tail[n]) {
		n++
	}
	c.skipped += int64(n)
	c.tail = append(c.tail[:0], c.tail[n:]...)
}

func (c *capture) output() Output {
	c.trim()
	if c.skipped == 0 {
		return Output{Text: string(fold(append(c.head, c.tail...), len(c.head), false))}
	}
	c.tail = fold(c.tail, 0, false)
	return Output{Text: string(c.head) + string(c.tail), Skipped: c.skipped, Gap: len(c.head)}
}

// cut returns how many of a text's bytes fit into room, whole characters only.
func cut(text string, room int) int {
	if len(text) <= room {
		return len(text)
	}
	n := max(room, 0)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// clip bounds a text that has no tail worth keeping.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return text[:cut(text, limit)] + "…"
}
