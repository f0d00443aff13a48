package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"bridge/bridge"
)

// While a question is open, nothing of what the code prints is shown, and what is
// kept of it is bounded; then it is shown in order, and what was too much is
// counted.
func TestOutputWaitsForAnswer(t *testing.T) {
	var out, err bytes.Buffer
	term := &terminal{out: &out, err: &err}
	term.write("stdout", "before\n", 0)
	line := strings.Repeat("x", 1023) + "\n"
	answer, _ := term.holding(func(context.Context, bridge.Question) (bridge.Answer, error) {
		for range 3000 {
			term.write("stdout", line, 0)
			term.write("stderr", "y", 2)
		}
		if out.String() != "before\n" || err.Len() > 0 {
			t.Errorf("shown while the question is open: %.80q, %.80q", out.String(), err.String())
		}
		if len(term.kept) > 2048+1 {
			t.Errorf("%d pieces are kept", len(term.kept))
		}
		return bridge.Once, nil
	})(t.Context(), bridge.Question{})
	if answer != bridge.Once {
		t.Errorf("the answer is %v", answer)
	}
	term.write("stdout", "after\n", 0)
	shown := strings.Count(out.String(), line)
	if shown < 1000 || shown > 1024 || !strings.HasSuffix(out.String(), " bytes left out]\nafter\n") {
		t.Errorf("%d lines are shown, and at the end %q", shown, out.String()[out.Len()-40:])
	}
}
