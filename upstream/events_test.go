package upstream

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestEventsAreReadAsTheStandardHasThem(t *testing.T) {
	src := newEvents(strings.NewReader(": a comment\n\nid: 1\nretry: 250\ndata:\n\n" +
		"event: message\r\ndata: one\r\ndata:two\r\nid: 2\r\n\r\ndata: three\n\nunknown: x\nid: 3\ndata: not whole"))
	for _, want := range []struct{ kind, data, last string }{
		{"", "", "1"}, {"message", "one\ntwo", "2"}, {"", "three", "2"},
	} {
		ev, err := src.next()
		if err != nil || ev.kind != want.kind || string(ev.data) != want.data || src.last != want.last {
			t.Errorf("%+v %q, %v, want %+v", ev, src.last, err, want)
		}
	}
	if _, err := src.next(); !errors.Is(err, io.EOF) || src.last != "2" {
		t.Errorf("at the end: %v, %q", err, src.last)
	}
	if src.wait != 250*time.Millisecond {
		t.Errorf("wait = %v", src.wait)
	}
}

// FuzzEvents tells that any stream comes to its end.
func FuzzEvents(f *testing.F) {
	f.Add("data: {}\n\n")
	f.Add("id\ndata\n\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		src := newEvents(strings.NewReader(text))
		for range len(text) + 1 {
			if _, err := src.next(); err != nil {
				return
			}
		}
		t.Error("more events than bytes")
	})
}
