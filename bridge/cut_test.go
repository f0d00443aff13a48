package bridge

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzCut(f *testing.F) {
	f.Add("one\ntwo\nthree\n", "", int64(0), 8)
	f.Add("héad\n", "täil\n", int64(17), 5)
	f.Add(strings.Repeat("x", 100), "", int64(0), 10)
	f.Fuzz(func(t *testing.T, head, tail string, skipped int64, budget int) {
		if skipped < 0 || skipped > 1<<40 || budget < 0 || !utf8.ValidString(head) || !utf8.ValidString(tail) {
			t.Skip()
		}
		p := piece{head: head, tail: tail, skipped: skipped}
		p.cut(budget)
		if len(head)+len(tail) > budget && p.size() > budget {
			t.Errorf("%d bytes, budget %d", p.size(), budget)
		}
		if got, want := int64(p.size())+p.skipped, int64(len(head)+len(tail))+skipped; got != want {
			t.Errorf("%d bytes shown or left out, want %d", got, want)
		}
		if !strings.HasPrefix(head+tail, p.head) || !strings.HasSuffix(head+tail, p.tail) {
			t.Errorf("the ends are not those of the text")
		}
		if !utf8.ValidString(p.head) || !utf8.ValidString(p.tail) {
			t.Errorf("a character is cut: %q %q", p.head, p.tail)
		}
	})
}

func TestFit(t *testing.T) {
	long := strings.Repeat("0123456789\n", 100)
	for _, c := range []struct {
		name   string
		pieces []piece
		budget int
		want   []string
		cut    bool
	}{
		{"all of it", []piece{{head: "a\n"}, {head: "b"}}, 10, []string{"a\n", "b"}, false},
		{"short ones are kept", []piece{{head: "short"}, {head: long}}, 60, []string{"short", "0123456789\n0123456789\n[1056 bytes left out]\n0123456789\n0123456789\n"}, true},
		{"a gap stays a gap", []piece{{head: "a\n", tail: "z\n", skipped: 5}}, 10, []string{"a\n[5 bytes left out]\nz\n"}, true},
		{"a gap grows", []piece{{head: "aa\nbb\n", tail: "yy\nzz\n", skipped: 5}}, 6, []string{"aa\n[11 bytes left out]\nzz\n"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if cut := fit(c.pieces, c.budget); cut != c.cut {
				t.Errorf("cut is %v", cut)
			}
			for i := range c.pieces {
				if got := c.pieces[i].String(); got != c.want[i] {
					t.Errorf("piece %d is %q, want %q", i, got, c.want[i])
				}
			}
		})
	}
}
