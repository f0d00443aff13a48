package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"bridge/policy"
	"bridge/upstream"
)

const (
	// progressEvery is the time between two notifications of progress.
	progressEvery = 300 * time.Millisecond

	// heartbeat is how long a run may say nothing before the agent is told that
	// it goes on. Many clients give up after a minute without a word.
	heartbeat = 10 * time.Second

	// progressText bounds the text of one, in bytes: the newest counts.
	progressText = 2 << 10

	// progressMessage bounds what a server says of a call, in bytes.
	progressMessage = 200
)

// A progress tells an agent that wants to know what a run writes while it goes
// on, what servers say of its calls, and that it goes on. What is written faster
// than it may be told is told together.
type progress struct {
	agent *conn
	token json.RawMessage
	beat  time.Duration
	began time.Time
	quit  chan struct{}
	done  chan struct{}

	ending sync.Once
	mu     sync.Mutex // guards what follows
	text   string     // that has not been told
	queued bool       // the run waits for its turn
}

// newProgress begins to tell of a request; nil if the agent has not asked for it
// by a token, as JSON.
func newProgress(agent *conn, meta json.RawMessage, beat time.Duration) *progress {
	var asked struct {
		Token json.RawMessage `json:"progressToken"`
	}
	if json.Unmarshal(meta, &asked) != nil || len(asked.Token) == 0 || !strings.ContainsRune("\"-0123456789", rune(asked.Token[0])) {
		return nil
	}
	p := &progress{agent: agent, token: asked.Token, beat: beat, began: time.Now(), queued: true, quit: make(chan struct{}), done: make(chan struct{})}
	go p.tell()
	return p
}

// agentRequest is the library's session in one request, with its progress.
type agentRequest struct {
	*conn
	progress *progress
}

// progressOf is the progress of a request, whose run begins.
func progressOf(ctx context.Context) *progress {
	t, ok := server.ClientSessionFromContext(ctx).(*agentRequest)
	if !ok || t.progress == nil {
		return nil
	}
	t.progress.mu.Lock()
	defer t.progress.mu.Unlock()
	t.progress.queued = false
	return t.progress
}

// stream is the Stream of the run. It never waits for the agent.
func (p *progress) stream() Stream {
	if p == nil {
		return nil
	}
	return func(stream, text string, _ int64) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if stream == CallStream && p.text != "" && !strings.HasSuffix(p.text, "\n") {
			p.text += "\n"
		}
		p.text += text
		if over := len(p.text) - progressText; over > 0 {
			for over < len(p.text) && !utf8.RuneStart(p.text[over]) {
				over++
			}
			p.text = strings.Clone(p.text[over:])
		}
	}
}

// said is what a server says of a call, as a line.
func said(name string, p upstream.Progress, rule policy.Rule) string {
	text := name + ":"
	switch {
	case p.Total > 0:
		text += fmt.Sprintf(" %v of %v", p.Progress, p.Total)
	case p.Message == "":
		text += fmt.Sprintf(" %v", p.Progress)
	}
	message := Visible(redacted(p.Message, rule.Result.Redact))
	if len(message) > progressMessage {
		message = strings.ToValidUTF8(message[:progressMessage], "") + "…"
	}
	if message != "" {
		text += " " + message
	}
	return text + "\n"
}

// unsaid is the text that has not been told. After a time without one it is that
// the run goes on.
func (p *progress) unsaid(last time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.text
	p.text = ""
	if text != "" || time.Since(last) < p.beat {
		return text
	}
	what := "running"
	if p.queued {
		what = "waiting for another run to end"
	}
	return fmt.Sprintf("%s, for %v so far\n", what, time.Since(p.began).Round(time.Second))
}

func (p *progress) tell() {
	defer close(p.done)
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	last := p.began
	for {
		select {
		case <-p.quit:
			return
		case <-tick.C:
		}
		text := p.unsaid(last)
		if text == "" {
			continue
		}
		last = time.Now()
		p.agent.send(outgoing{JSONRPC: mcp.JSONRPC_VERSION, Method: "notifications/progress", Params: map[string]any{
			"progressToken": p.token, "progress": last.Sub(p.began).Seconds(), "message": text,
		}})
	}
}

// close ends it. Nothing is told any more when it returns: the result comes
// next, which has all.
func (p *progress) close() {
	if p == nil {
		return
	}
	p.ending.Do(func() { close(p.quit) })
	<-p.done
}
