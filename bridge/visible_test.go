package bridge

import "testing"

func TestVisible(t *testing.T) {
	for _, c := range []struct{ text, one, lines string }{
		{"plain é 漢字 👍", "plain é 漢字 👍", "plain é 漢字 👍"},
		{"a\tb\nc\r\nd\re", `a\u0009b\u000ac\u000d\u000ad\u000de`, "a\tb\nc\nd\ne"},
		{"\x1b[2J\x07\x00\x7f", `\u001b[2J\u0007\u0000\u007f`, `\u001b[2J\u0007\u0000\u007f`},
		{"\u009b31m\u0085", `\u009b31m\u0085`, `\u009b31m\u0085`},
		{"\u061c\u200e\u200f\u202a\u202e\u2066\u2069", `\u061c\u200e\u200f\u202a\u202e\u2066\u2069`, `\u061c\u200e\u200f\u202a\u202e\u2066\u2069`},
		{"\u200b\u200d\u2060\ufeff\u00ad\u3164\u115f", `\u200b\u200d\u2060\ufeff\u00ad\u3164\u115f`, `\u200b\u200d\u2060\ufeff\u00ad\u3164\u115f`},
		{"\u2028\u2029\U000e0041", `\u2028\u2029\udb40\udc41`, `\u2028\u2029\udb40\udc41`},
		{"a\u00a0b\u3000", `a\u00a0b\u3000`, "a\u00a0b\u3000"},
		{"\xff", "\ufffd", "\ufffd"},
	} {
		if got := Visible(c.text); got != c.one {
			t.Errorf("Visible(%q) = %q, want %q", c.text, got, c.one)
		}
		if got := VisibleLines(c.text); got != c.lines {
			t.Errorf("VisibleLines(%q) = %q, want %q", c.text, got, c.lines)
		}
	}
	for name, want := range map[string]string{"list_items": "list_items", "a b": `"a b"`, `a"`: `"a\""`, "a\x1b[8m": `"a\x1b[8m"`, "a\u3164": `"a\u3164"`} {
		if got := shown(name); got != want {
			t.Errorf("shown(%q) = %s, want %s", name, got, want)
		}
	}
}
