package cli

import (
	"bytes"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every line of a log is written or counted, whichever of its loggers it is of,
// and a flood of one level leaves room for another.
func TestLogIsPaced(t *testing.T) {
	const flood = 10_000
	var b bytes.Buffer
	p := newPaced(slog.NewTextHandler(&b, nil))
	log := slog.New(p)
	other := log.With("server", "s").WithGroup("g")
	for range flood / 2 {
		log.Info("line")
		other.Info("line", "n", 1)
	}
	log.Error("a mistake")
	p.flush()
	text := b.String()
	if !strings.Contains(text, "level=ERROR msg=\"a mistake\"") {
		t.Error("the error is not in the log")
	}
	written, left := strings.Count(text, "msg=line"), 0
	for _, m := range regexp.MustCompile(`level=INFO msg="lines of the log were left out: there were too many" lines=(\d+) perSecond=100`).FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		left += n
	}
	if written+left != flood || left == 0 {
		t.Errorf("%d lines are written and %d are counted, of %d", written, left, flood)
	}
}
