package upstream

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestOnlyMessagesArePassedOn(t *testing.T) {
	long := `{"x":"` + strings.Repeat("y", 200_000) + `"}` + "\n"
	text := "Listening on stdio\n" + `{"a":1}` + "\n\r\n  {\"b\":2}\r\n[1]\n" + strings.Repeat("z", 100_000) + "\n" + long + `{"last":3}`
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)), "halves": iotest.HalfReader(strings.NewReader(text)),
	} {
		said := &tail{redact: strings.NewReplacer(), eof: make(chan struct{})}
		got, err := io.ReadAll(newOutput(r, said))
		want := `{"a":1}` + "\n  {\"b\":2}\r\n" + long + `{"last":3}`
		if err != nil || string(got) != want {
			t.Errorf("%s: %d bytes, %v; want %d", name, len(got), err, len(want))
		}
		if words := said.last(); len(words) != 3 || words[0] != "Listening on stdio" || words[1] != "[1]" || len(words[2]) != tailWidth {
			t.Errorf("%s: %.100q", name, words)
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
	in := newInput(w)
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

func FuzzOutput(f *testing.F) {
	f.Add([]byte("{}\n{\n\n x\n{\"a\":1}"))
	f.Add([]byte("\x1b[0m{}\r\n\xff\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		said := &tail{redact: strings.NewReplacer(), eof: make(chan struct{})}
		got, err := io.ReadAll(iotest.OneByteReader(newOutput(bytes.NewReader(text), said)))
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		for line := range bytes.SplitAfterSeq(text, []byte("\n")) {
			if bytes.HasPrefix(bytes.TrimLeft(line, " \t\r\n"), []byte("{")) {
				want = append(want, line...)
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%q passes as %q, want %q", text, got, want)
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
	if _, err := s.read([]byte(`{"tools":[`+strings.Join(page, ",")+`]}`), read, map[string]bool{}); err != nil {
		t.Fatal(err)
	}
	if len(read.tools) != maxTools || strings.Count(log.String(), "\n") != maxWarnings+2 {
		t.Errorf("%d tools, and %d bytes of log", len(read.tools), log.Len())
	}
}

func FuzzCatalog(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"a","inputSchema":true},7,{"title":[]}],"nextCursor":1}`))
	f.Add([]byte(`{"tools":null,"nextCursor":"x"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := &server{log: slog.New(slog.DiscardHandler)}
		read := &catalog{}
		if _, err := s.read(raw, read, map[string]bool{}); err != nil {
			return
		}
		var entries []Entry
		for _, tool := range read.tools {
			if tool.Name == "" || len(tool.InputSchema) == 0 {
				t.Errorf("tool %+v", tool)
			}
			entries = append(entries, Entry{Tool: tool})
		}
		Search(entries, "a b", 3)
	})
}
