package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// sse is the transport of MCP's first version: one
// stream on which everything comes, and an address that takes messages.
type sse struct {
	conn *conn
	site *site
	post string // where messages go

	pending *pending

	mu      sync.Mutex // guards version
	version string
}

func newSSE(c *conn, s *site) *sse {
	return &sse{conn: c, site: s, pending: newPending(c)}
}

// open opens the stream and hears where messages go.
func (l *sse) open(ctx context.Context) error {
	c, s := l.conn, l.site
	// The stream outlives the start, which alone is what ctx bounds.
	life, abandon := context.WithCancel(c.life)
	stop := context.AfterFunc(ctx, abandon)
	req, err := s.request(life, http.MethodGet, s.url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := s.do(req)
	if err != nil {
		return orEnd(ctx, err)
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if res.StatusCode != http.StatusOK || kind != "text/event-stream" {
		res.Body.Close()
		status := &statusError{code: res.StatusCode}
		switch res.StatusCode {
		case http.StatusOK:
			return fmt.Errorf("answered with %q, not with a stream of events", kind)
		case http.StatusUnauthorized, http.StatusForbidden:
			return s.unauthorized(status)
		}
		return status
	}
	res.Body = c.body(res.Body, life.Done())
	src := newEvents(res.Body)
	first, err := src.next()
	if err == nil && first.kind != "endpoint" {
		err = errors.New("did not say where messages go")
	}
	if err == nil {
		l.post, err = s.sibling(string(first.data))
	}
	if err != nil {
		res.Body.Close()
		return orEnd(ctx, plain(err))
	}
	stop()
	c.spawn(func() {
		defer abandon()
		defer res.Body.Close()
		l.read(src)
	})
	return nil
}

// orEnd is the context's error if that has ended, else the other.
func orEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// sibling is an address that the site has named, which must be of the same
// host: the headers are for nobody else.
func (s *site) sibling(address string) (string, error) {
	base, err := url.Parse(s.url)
	if err != nil {
		return "", err
	}
	u, err := base.Parse(address)
	if err != nil || u.Host != base.Host || u.Scheme != base.Scheme {
		return "", errors.New("wants its messages sent to another place")
	}
	return u.String(), nil
}

// read hears what the server says until its stream ends.
func (l *sse) read(src *events) {
	for {
		ev, err := src.next()
		if err != nil {
			if errors.Is(err, errTooLong) {
				l.conn.end(err)
			}
			l.conn.end(errors.New("closed its stream"))
			return
		}
		if len(ev.data) == 0 {
			continue
		}
		m, err := parse(ev.data)
		if err != nil {
			l.pending.doubt(ev.data, unread(err))
			continue
		}
		l.pending.take(ev.data, m, func(message any) { l.conn.reply(func() { l.note(l.conn.life, message) }) })
	}
}

func (l *sse) alive() bool {
	select {
	case <-l.conn.dead:
		return false
	default:
		return true
	}
}

func (l *sse) request(ctx context.Context, id int64, method string, params any) (json.RawMessage, error) {
	w := l.pending.add(id)
	defer l.pending.remove(id)
	if err := l.send(ctx, request(id, method, params)); err != nil {
		return nil, err
	}
	return l.pending.await(ctx, w)
}

// send posts a message.
func (l *sse) send(ctx context.Context, message any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	req, err := l.site.request(ctx, http.MethodPost, l.post, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	l.mu.Lock()
	if l.version != "" {
		req.Header.Set("MCP-Protocol-Version", l.version)
	}
	l.mu.Unlock()
	res, err := l.site.do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	if res.StatusCode/100 != 2 {
		return &statusError{code: res.StatusCode}
	}
	return nil
}

// note sends a message that is not answered.
func (l *sse) note(ctx context.Context, message any) {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	_ = l.send(ctx, message) // the next request tells it better
}

func (l *sse) notify(ctx context.Context, method string, params map[string]any) {
	message := notification(method, params)
	if method == string(mcp.MethodNotificationCancelled) {
		l.conn.spawn(func() { l.note(ctx, message) })
		return
	}
	l.note(ctx, message)
}

func (l *sse) agreed(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version = version
}

// listen does nothing: notifications come by themselves.
func (l *sse) listen(context.Context) {}

func (l *sse) close() {
	l.conn.end(errors.New("was left"))
	l.conn.leave()
	l.site.close()
}
