package bridge

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	// progressEvery is the time between two notifications of progress.
	progressEvery = 300 * time.Millisecond

	// progressText bounds the text of one, in bytes: the newest counts.
	progressText = 2 << 10
)

// A progress tells an agent that wants to know what a run writes while it goes
// on. What is written faster than it may be told is told together.
type progress struct {
	agent *conn
	token mcp.ProgressToken
	began time.Time
	quit  chan struct{}
	done  chan struct{}

	mu   sync.Mutex // guards text
	text string     // that has not been told
}

// newProgress begins to tell of a run; nil if the agent has not asked for it.
func newProgress(ctx context.Context, call mcp.CallToolRequest) *progress {
	agent, ok := server.ClientSessionFromContext(ctx).(*conn)
	if !ok || call.Params.Meta == nil || call.Params.Meta.ProgressToken == nil {
		return nil
	}
	p := &progress{agent: agent, token: call.Params.Meta.ProgressToken, began: time.Now(), quit: make(chan struct{}), done: make(chan struct{})}
	go p.tell()
	return p
}

// stream is the Stream of the run. It never waits for the agent.
func (p *progress) stream() Stream {
	if p == nil {
		return nil
	}
	return func(_, text string, _ int64) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.text += text
		if over := len(p.text) - progressText; over > 0 {
			for over < len(p.text) && !utf8.RuneStart(p.text[over]) {
				over++
			}
			p.text = strings.Clone(p.text[over:])
		}
	}
}

func (p *progress) tell() {
	defer close(p.done)
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-tick.C:
		}
		p.mu.Lock()
		text := p.text
		p.text = ""
		p.mu.Unlock()
		if text == "" {
			continue
		}
		p.agent.send(outgoing{JSONRPC: mcp.JSONRPC_VERSION, Method: "notifications/progress", Params: map[string]any{
			"progressToken": p.token, "progress": time.Since(p.began).Seconds(), "message": text,
		}})
	}
}

// close ends it. Nothing is told any more when it returns: the result comes
// next, which has all.
func (p *progress) close() {
	if p == nil {
		return
	}
	close(p.quit)
	<-p.done
}
