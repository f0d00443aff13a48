package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"
)

// testPipe is a link to a server that is not there, with requests that wait.
func testPipe(t testing.TB, ids ...int64) (*pipe, map[int64]*waiter) {
	c := newConn(&server{life: t.Context()}, strings.NewReplacer())
	p := &pipe{conn: c, pending: newPending(c)}
	waiters := map[int64]*waiter{}
	for _, id := range ids {
		waiters[id] = p.pending.add(id)
		c.ids.Store(id)
	}
	return p, waiters
}

func TestOnlyMessagesAreHeard(t *testing.T) {
	answer := func(id, result string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`
	}
	long := `"` + strings.Repeat("y", 200_000) + `"`
	text := "Listening on stdio\n" + answer("1", "1") + "\n\r\n  " + answer(`"2"`, "2") + "\r\n[1]\n" + strings.Repeat("z", 100_000) + "\n" +
		answer("3.0", long) + "\n\ufeff" + answer("4", "4") + "\n" + answer("5", "5")
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)), "halves": iotest.HalfReader(strings.NewReader(text)),
	} {
		p, waiters := testPipe(t, 1, 2, 3, 4, 5)
		p.out = testOutput(r)
		p.read()
		for id, want := range map[int64]string{1: "1", 2: "2", 3: long, 4: "4", 5: "5"} {
			select {
			case m := <-waiters[id].answer:
				if string(m.Result) != want {
					t.Errorf("%s: answer %d has %d bytes, want %d", name, id, len(m.Result), len(want))
				}
			default:
				t.Errorf("%s: answer %d was not heard", name, id)
			}
			if len(waiters[id].doubt) > 0 {
				t.Errorf("%s: answer %d is in doubt", name, id)
			}
		}
		if words := p.conn.stderr.last(); len(words) != 3 || words[0] != "Listening on stdio" || words[1] != "[1]" || len(words[2]) != tailWidth {
			t.Errorf("%s: %.100q", name, words)
		}
	}
}

// A line that cannot be read is an error only of the call that waits for it.
func TestDoubtIsOfOneRequest(t *testing.T) {
	for _, test := range []struct {
		text string
		of   int64 // 0 is nobody
	}{
		{`x {"jsonrpc":"2.0","id":2,"result":{}}`, 2},
		{`x {"jsonrpc":"2.0","id":"3","error":{}}`, 3},
		{`{"result":{"id":7},"jsonrpc":"2.0","id": 3`, 3},
		{`x {"jsonrpc":"2.0","id":1,"result":{}}`, 0},         // given up before
		{`x {"jsonrpc":"2.0","id":"abc","result":{}}`, 0},     // one of two
		{`{"jsonrpc":"2.0","id":9,"result":{}}`, 0},           // one of two
		{`x {"id":2,"result":{}}`, 0},                         // a log
		{`x {"jsonrpc":"2.0","id":2,"params":{}}`, 0},         // no answer
		{`x {"jsonrpc":"2.0","id":2,"method":"ping"}`, 0},     // no answer
		{`{"jsonrpc":"2.0","id":2,"method":"x","result":`, 0}, // no answer
	} {
		p, waiters := testPipe(t, 1, 2, 3)
		p.pending.remove(1)
		p.out = testOutput(strings.NewReader(test.text + "\n"))
		p.read()
		for id, w := range waiters {
			if (len(w.doubt) > 0) != (id == test.of) {
				t.Errorf("%s: doubt of %d: %v", test.text, id, len(w.doubt) > 0)
			}
		}
	}
}

func TestTextIsMended(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`{"a":"é 😀"}`, `{"a":"é 😀"}`},
		{"\ufeff{}", "{}"},
		{"{\"\xe9\xe9\":\"\xf0\x9f\"}", `{"\uFFFD\uFFFD":"\uFFFD\uFFFD"}`},
		{`"\ud800 \uDFFF \ud83d\ude00 \ud83d\u0041"`, `"\ufffd \ufffd \ud83d\ude00 \ufffd\u0041"`},
		{`"\\ud800 \\\ud800 \"\ude00"`, `"\\ud800 \\\ufffd \"\ufffd"`},
		{`"\ud8`, `"\ud8`},
	} {
		want := strings.ReplaceAll(test.want, `\uFFFD`, "\ufffd")
		if got := string(mended([]byte(test.text))); got != want {
			t.Errorf("%q becomes %q, want %q", test.text, got, want)
		}
	}
}

func TestLastWordsAreFewShortAndPlain(t *testing.T) {
	said := &tail{redact: strings.NewReplacer("hunter2", "${SECRET}"), eof: make(chan struct{})}
	var text bytes.Buffer
	for range 100 {
		text.WriteString("gone\n")
	}
	text.WriteString("\x1b[31mred\x1b[0m\talert\x07\n\n   \n\xff\xfe bytes\n" + strings.Repeat("long", 100_000) + "\nkey hunter2!\nno end of line")
	said.follow(&text)
	<-said.eof
	words := said.last()
	if len(words) != tailLines {
		t.Fatalf("%d lines", len(words))
	}
	words = words[tailLines-5:]
	words[2] = words[2][:8]
	if want := []string{"red alert", "? bytes", "longlong", "key ${SECRET}!", "no end of line"}; !slices.Equal(words, want) {
		t.Errorf("words = %q, want %q", words, want)
	}
}

func TestInputNeverWaits(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	in := newInput(w, new(atomic.Int64))
	drained := make(chan struct{})
	go func() {
		in.drain()
		close(drained)
	}()
	half := make([]byte, maxQueued/2)
	for i, want := range []error{nil, nil, errQueueFull} {
		if _, err := in.Write(half); err != want {
			t.Errorf("write %d: %v, want %v", i, err, want)
		}
	}
	in.Close()
	in.Close()
	<-drained
	if _, err := in.Write(half); err != os.ErrClosed {
		t.Errorf("write after close: %v", err)
	}
}

// FuzzMended tells that JSON stays the JSON that it was, and that all of it is
// text afterwards.
func FuzzMended(f *testing.F) {
	f.Add([]byte(`{"\\ud800":"\ud83d\ude00 \udfff"}`))
	f.Add([]byte("\ufeff\"\xe9\\\xff\""))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := mended(text)
		before, after := any(nil), any(nil)
		failed := json.Unmarshal(bytes.TrimPrefix(text, byteOrderMark), &before)
		if err := json.Unmarshal(got, &after); (err != nil) != (failed != nil) || err == nil && !reflect.DeepEqual(before, after) {
			t.Errorf("%q becomes %q", text, got)
		}
		if !utf8.Valid(got) || !bytes.Equal(mended(got), got) && !bytes.HasPrefix(got, byteOrderMark) {
			t.Errorf("%q is not mended: %q", text, got)
		}
	})
}

// FuzzOutput tells that what a server writes is heard to its end, and that
// lines which are answers are answers whatever lies around them.
func FuzzOutput(f *testing.F) {
	f.Add([]byte("{}\n{\n\n x\n{\"a\":1}\n}"))
	f.Add([]byte("\x1b[0m{}\r\n\xff\n"))
	f.Add([]byte("x {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, waiters := testPipe(t, 1, 2)
		answer := []byte("\n{\"id\":2,\"result\":{}}\n")
		p.in = newInput(nil, new(atomic.Int64))
		p.out = testOutput(iotest.OneByteReader(io.MultiReader(bytes.NewReader(text), bytes.NewReader(answer))))
		p.read()
		if len(waiters[2].answer) != 1 {
			t.Errorf("%q hides an answer", text)
		}
	})
}

// A page of any length is read as far as a catalog goes, and what is wrong with
// its entries does not fill the log.
func TestPagesAreBounded(t *testing.T) {
	var log bytes.Buffer
	s := &server{log: slog.New(slog.NewTextHandler(&log, nil))}
	var page []string
	for i := range maxTools + 10 {
		page = append(page, fmt.Sprintf(`{"name":"t%d"},{}`, i))
	}
	read := &catalog{}
	if _, _, err := s.read([]byte(`{"tools":[`+strings.Join(page, ",")+`]}`), read, map[string]bool{}, maxCatalog); err != nil {
		t.Fatal(err)
	}
	if len(read.tools) != maxTools || strings.Count(log.String(), "\n") != maxWarnings+2 {
		t.Errorf("%d tools, and %d bytes of log", len(read.tools), log.Len())
	}
}

// What a catalog takes is bounded: texts are cut off, and a tool that is larger
// than any costs itself alone.
func TestCatalogIsBounded(t *testing.T) {
	s := &server{log: slog.New(slog.DiscardHandler)}
	long := strings.Repeat("x", maxSchema)
	page := fmt.Sprintf(`{"tools":[{"name":%q},{"name":"a","description":%[1]q,"title":%[1]q,"unknown":[%s1]},{"name":"b","inputSchema":[%[1]q]},{"name":"c"}]}`,
		long, strings.Repeat("{},", 100_000))
	read := &catalog{}
	if _, full, err := s.read([]byte(page), read, map[string]bool{}, maxCatalog); err != nil || full {
		t.Fatal(full, err)
	}
	if len(read.tools) != 2 || read.tools[0].Name != "a" || read.tools[1].Name != "c" {
		t.Fatalf("%d tools", len(read.tools))
	}
	if a := read.tools[0]; len(a.Description) != maxDescription+len("…") || len(a.Title) != maxTitle+len("…") {
		t.Errorf("a description of %d bytes, a title of %d", len(a.Description), len(a.Title))
	}
	some := &catalog{}
	if _, full, err := s.read([]byte(page), some, map[string]bool{}, read.bytes-1); err != nil || !full || len(some.tools) != 1 {
		t.Errorf("%d tools, %v, %v", len(some.tools), full, err)
	}
}

// Large messages are read one at a time, and none while too much is kept.
func TestLargeMessagesTakeTurns(t *testing.T) {
	all := newLargeMessages()
	ended := make(chan struct{})
	close(ended)
	if !all.enter(nil) || all.enter(ended) {
		t.Error("two turns at once")
	}
	all.leave()
	kept, end := context.WithCancel(t.Context())
	all.keep(kept, maxLarge)
	if all.enter(ended) {
		t.Error("a turn while too much is kept")
	}
	came := make(chan bool)
	go func() { came <- all.enter(nil) }()
	end()
	if !<-came {
		t.Error("no turn")
	}
	all.leave()

	// Of a stream it is each message that is large or not.
	body := func(text string) *largeBody {
		return &largeBody{ReadCloser: io.NopCloser(strings.NewReader(text)), all: all, done: ended}
	}
	all.turn <- struct{}{}
	event := "data: " + strings.Repeat("x", largeSize/2)
	for _, end := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		if _, err := io.ReadAll(body(strings.Repeat(event+end, 10))); err != nil {
			t.Errorf("%q: %v", end, err)
		}
		if _, err := io.ReadAll(body(strings.Repeat(event+end[:len(end)/2], 10))); err != errSlow {
			t.Errorf("%q: %v", end, err)
		}
	}
}

func FuzzCatalog(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"a","inputSchema":true},7,{"title":[]}],"nextCursor":1}`))
	f.Add([]byte(`{"tools":null,"nextCursor":"x"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := &server{log: slog.New(slog.DiscardHandler)}
		read := &catalog{}
		if _, _, err := s.read(raw, read, map[string]bool{}, maxCatalog); err != nil {
			return
		}
		var entries []Entry
		for _, tool := range read.tools {
			if tool.Name == "" || len(tool.InputSchema) == 0 {
				t.Errorf("tool %+v", tool)
			}
			entries = append(entries, Entry{Tool: tool})
		}
		search(t, indexed(t, entries), "a b", 3)
	})
}

func testOutput(r io.Reader) *output {
	return newOutput(r, newLargeMessages(), nil, func(time.Time) {})
}
