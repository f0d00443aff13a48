package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// pending are the requests of a transport on which all answers come among other
// messages.
type pending struct {
	conn *conn

	mu   sync.Mutex
	list map[int64]*waiter
}

// waiter is who waits for one answer. Both channels hold one.
type waiter struct {
	answer chan *envelope
	doubt  chan *unreadable
}

func newPending(c *conn) *pending { return &pending{conn: c, list: map[int64]*waiter{}} }

func (p *pending) add(id int64) *waiter {
	w := &waiter{answer: make(chan *envelope, 1), doubt: make(chan *unreadable, 1)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list[id] = w
	return w
}

func (p *pending) remove(id int64) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.list[id]
	delete(p.list, id)
	return w
}

// doubtTime is how long the right answer may follow a line that looks like it
// and cannot be read: some servers write what they send to their log as well,
// and some of those have the log on stdout.
const doubtTime = 500 * time.Millisecond

// await waits for an answer.
func (p *pending) await(ctx context.Context, w *waiter) (json.RawMessage, error) {
	var doubt *unreadable
	var over <-chan time.Time
	for {
		select {
		case m := <-w.answer:
			return m.answer()
		case doubt = <-w.doubt:
			over = time.After(doubtTime)
		case <-over:
			return nil, doubt
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-p.conn.dead:
			select {
			case m := <-w.answer:
				return m.answer()
			case doubt = <-w.doubt:
			default:
			}
			if doubt != nil {
				return nil, doubt
			}
			return nil, p.conn.cause
		}
	}
}

// take hands a message to who waits for it, or deals with it.
func (p *pending) take(text []byte, m *envelope, send func(message any)) {
	if !m.isAnswer() {
		p.conn.heard(m, send)
		return
	}
	if id, ok := m.number(); ok {
		if w := p.remove(id); w != nil {
			w.answer <- m
			return
		}
	}
	p.doubt(text, "no request has its id")
}

// unreadable is a text of a server in the place of an answer.
type unreadable struct{ text, why string }

func (u *unreadable) Error() string { return "wrote what cannot be read" }

// of says to which request it was the answer.
func (u *unreadable) of(subject string) string {
	return fmt.Sprintf("its answer to %s cannot be read: %s: %#q", subject, u.why, u.text)
}

// shownText bounds what is quoted, in bytes.
const shownText = 200

func (c *conn) unreadable(text []byte, why string) *unreadable {
	shown := c.stderr.redact.Replace(string(bytes.ToValidUTF8(text[:min(len(text), shownText)], nil)))
	if len(text) > shownText {
		shown += "…"
	}
	return &unreadable{text: shown, why: why}
}

var (
	answering = regexp.MustCompile(`"(?:result|error)"\s*:`)
	numbered  = regexp.MustCompile(`"id"\s*:\s*"?(\d{1,15})\b`)
)

// answers tells whether a text looks like an answer, and with which ids. A
// server's log and a message that it repeats do not.
func answers(text []byte) (ids []int64, ok bool) {
	found := answering.FindIndex(text)
	if found == nil || !bytes.Contains(text, []byte(`"jsonrpc"`)) || bytes.Contains(text[:found[0]], []byte(`"method"`)) {
		return nil, false
	}
	for _, match := range numbered.FindAllSubmatch(text, 100) {
		id, _ := strconv.ParseInt(string(match[1]), 10, 64)
		ids = append(ids, id)
	}
	return ids, true
}

// doubt tells who waits for an answer that a text looks like it, but cannot be
// read. If the text has the id of no request, and one alone waits, it is that one.
func (p *pending) doubt(text []byte, why string) {
	ids, ok := answers(text)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var of *waiter
	late := false
	for _, id := range ids {
		if of = p.list[id]; of != nil {
			break
		}
		late = late || 1 <= id && id <= p.conn.ids.Load()
	}
	if of == nil && !late && len(p.list) == 1 {
		for _, of = range p.list {
		}
	}
	if of == nil {
		return
	}
	select {
	case of.doubt <- p.conn.unreadable(text, why):
	default:
	}
}
