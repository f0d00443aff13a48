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

// sse is the link to a server over the transport of MCP's first version: one
// stream on which everything comes, and an address that takes messages.
type sse struct {
	conn *conn
	site *site
	post string // where messages go

	mu      sync.Mutex // guards what follows
	version string
	waiting map[string]chan *envelope // by the id that is waited for
}

func newSSE(c *conn, s *site) *sse {
	return &sse{conn: c, site: s, waiting: map[string]chan *envelope{}}
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
			return fmt.Errorf("answered with no stream of events, but %q", kind)
		case http.StatusUnauthorized, http.StatusForbidden:
			return s.unauthorized(status)
		}
		return status
	}
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
		var m envelope
		if len(ev.data) == 0 || json.Unmarshal(ev.data, &m) != nil {
			continue
		}
		switch {
		case m.Method == "":
			id := string(bytes.Trim(m.ID, `"`))
			l.mu.Lock()
			answer := l.waiting[id]
			delete(l.waiting, id)
			l.mu.Unlock()
			if answer != nil {
				answer <- &m
			}
		case len(m.ID) == 0:
			l.conn.notified(m.Method)
		default:
			reply := map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": m.ID, "result": struct{}{}}
			if m.Method != string(mcp.MethodPing) {
				delete(reply, "result")
				reply["error"] = map[string]any{"code": mcp.METHOD_NOT_FOUND, "message": "bridge does not offer " + m.Method}
			}
			l.conn.reply(m.ID, func() { l.note(l.conn.life, reply) })
		}
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
	answer := make(chan *envelope, 1)
	key := fmt.Sprint(id)
	l.mu.Lock()
	l.waiting[key] = answer
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.waiting, key)
		l.mu.Unlock()
	}()
	if err := l.send(ctx, map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	select {
	case m := <-answer:
		return m.answer()
	case <-l.conn.dead:
		return nil, l.conn.cause
	case <-ctx.Done():
		return nil, ctx.Err()
	}
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
	message := map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "method": method}
	if params != nil {
		message["params"] = params
	}
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
