package upstream

import (
	"slices"
	"strings"
	"testing"
)

func TestTelling(t *testing.T) {
	for words, want := range map[string][]string{
		"one\ntwo\nthree\nfour": {"two", "three", "four"},
		"Traceback (most recent call last):\nFile \"a.py\", line 1, in <module>\nx = 1 + (2 / 0)\n~~^~~\nZeroDivisionError: division by zero":        {"ZeroDivisionError: division by zero"},
		"File \"a.py\", line 1\nx = (\n^\nSyntaxError: '(' was never closed":                                                                         {"SyntaxError: '(' was never closed"},
		"File \"a.py\", line 1\nassert 0\n^^^^^^^^\nAssertionError":                                                                                  {"AssertionError"},
		"a.b.ValidationError: 1 error\nKEY\nField required\nFor more, see x":                                                                         {"a.b.ValidationError: 1 error", "KEY", "Field required"},
		"ValueError: first\nDuring handling of the above exception, another exception occurred:\nKeyError: 'second'":                                 {"KeyError: 'second'"},
		"| ExceptionGroup: errors (1 sub-exception)\n+-+---------------- 1 ----------------\n| ValueError: x\n+------------------------------------": {"ValueError: x"},
		"node:internal/modules/cjs/loader:1215\nthrow err;\n^\nError: Cannot find module 'x'\nat a (b.js:1:2) {\ncode: 'MODULE_NOT_FOUND',\n}\nNode.js v20.1.0": {
			"Error: Cannot find module 'x'", "code: 'MODULE_NOT_FOUND',"},
		"panic: boom\ngoroutine 1 [running]:\nmain.main()\nx.go:3": {"panic: boom", "goroutine 1 [running]:", "main.main()"},
		"ErrorHandler: ready\nlistening":                           {"ErrorHandler: ready", "listening"},
		"^":                                                        {},
	} {
		if got := telling(strings.Split(words, "\n")); !slices.Equal(got, want) {
			t.Errorf("%s\nis told as %q, not as %q", words, got, want)
		}
	}
}
