package bridge

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
)

// A run that says nothing tells an agent that gave a token, now and then, that
// it goes on. Clients that give up without a word used to end it. What it says
// comes in between, and the numbers grow.
func TestARunThatSaysNothingIsToldOf(t *testing.T) {
	r, w := io.Pipe()
	defer time.AfterFunc(30*time.Second, func() { w.Close() }).Stop()
	p := newProgress(&conn{out: w}, json.RawMessage(`{"progressToken":12345678901234567890}`), time.Millisecond)
	lines := bufio.NewScanner(r)
	last := 0.0
	for i, want := range []string{"waiting for another run to end, for 0s so far\n", "running, for ", "out\nserver: 1\n", "running, for "} {
		for message := ""; !strings.HasPrefix(message, want); { // one more may have been on its way
			if !lines.Scan() {
				t.Fatalf("no %q", want)
			}
			var note struct {
				Method string
				Params struct {
					ProgressToken json.RawMessage
					Progress      float64
					Message       string
				}
			}
			if err := json.Unmarshal(lines.Bytes(), &note); err != nil {
				t.Fatal(err)
			}
			if note.Method != "notifications/progress" || string(note.Params.ProgressToken) != "12345678901234567890" || note.Params.Progress <= last {
				t.Errorf("%s after %v", lines.Bytes(), last)
			}
			message, last = note.Params.Message, note.Params.Progress
		}
		switch i {
		case 0:
			p.mu.Lock()
			p.queued = false
			p.mu.Unlock()
		case 1:
			p.stream()("stdout", "out", 0)
			p.stream()(CallStream, "server: 1\n", 0)
		}
	}
	go io.Copy(io.Discard, r)
	p.close()
	p.close()
}

func TestWhoGivesNoTokenIsToldNothing(t *testing.T) {
	for _, meta := range []string{``, `null`, `{}`, `[]`, `{"progressToken":null}`, `{"progressToken":{}}`, `{"progressToken":true}`} {
		if p := newProgress(&conn{}, json.RawMessage(meta), heartbeat); p != nil {
			t.Errorf("%s: told", meta)
			p.close()
		}
	}
	if heartbeat != 10*time.Second {
		t.Errorf("heartbeat = %v", heartbeat)
	}
}
