package upstream

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
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

// A line may end with \n, \r\n or \r, whatever part of it a read brings, and a
// stream may begin with a byte order mark.
func TestEventsHaveLinesOfThreeKinds(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		text := "\ufeffid: 1" + end + "data: one" + end + "data: \ufefftwo" + end + end + ": x" + end + "data" + end + end + "data: three" + end + end
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text))} {
			src := newEvents(r)
			for _, want := range []string{"one\n\ufefftwo", "", "three"} {
				if ev, err := src.next(); err != nil || string(ev.data) != want || src.last != "1" {
					t.Errorf("%q, %s: %q, %q, %v; want %q", end, name, ev.data, src.last, err, want)
				}
			}
			if _, err := src.next(); !errors.Is(err, io.EOF) {
				t.Errorf("%q, %s: at the end: %v", end, name, err)
			}
		}
	}
}

// An event is whole with the \r of its empty line. Whoever waits for a \n to
// follow waits for ever, if the server waits for an answer.
func TestAnEventDoesNotWaitForTheNext(t *testing.T) {
	r, w := io.Pipe()
	defer time.AfterFunc(10*time.Second, func() { w.Close() }).Stop()
	go io.WriteString(w, "data: one\r\r")
	if ev, err := newEvents(r).next(); err != nil || string(ev.data) != "one" {
		t.Errorf("%q, %v", ev.data, err)
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
