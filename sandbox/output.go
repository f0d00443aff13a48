package sandbox

import "unicode/utf8"

// defaultOutput is how much of each stream is kept if a run does not say.
const defaultOutput = 24 << 10

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
		n := cut(text, c.limit-len(c.head))
		c.head = append(c.head, text[:n]...)
		if text = text[n:]; text == "" {
			return
		}
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
	c.tail = append(c.tail, text...)
	if len(c.tail) > 2*c.limit {
		c.trim()
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
	out := Output{Text: string(c.head) + string(c.tail), Skipped: c.skipped}
	if c.skipped > 0 {
		out.Gap = len(c.head)
	}
	return out
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
