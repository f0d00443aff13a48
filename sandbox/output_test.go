package sandbox

import (
	"math/rand/v2"
	"regexp"
	"testing"
)

// A line that is written over comes to its last state, in whatever pieces it
// comes, and what is written over takes no room.
func TestFold(t *testing.T) {
	over := regexp.MustCompile(`[^\n]*\r([^\r\n])`)
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		text := ""
		for range random.IntN(20) {
			text += string("ab\r\r\n"[random.IntN(5)])
		}
		want := over.ReplaceAllString(text, "$1")
		for _, limit := range []int{len(want), len(want) / 2, 1} {
			c := capture{limit: max(limit, 1)}
			for rest := text; rest != ""; {
				n := 1 + random.IntN(len(rest))
				c.add(rest[:n], 0)
				rest = rest[n:]
			}
			if out := c.output(); out.Skipped == 0 && out.Text != want {
				t.Fatalf("%q at %d came to %q, want %q", text, limit, out.Text, want)
			}
		}
	}
}
