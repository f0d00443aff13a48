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
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// web is the link to a server over Streamable HTTP: each message is a POST, and
// what is answered is the answer or a stream that ends with it.
type web struct {
	conn *conn
	site *site

	mu      sync.Mutex // guards what follows
	session string
	version string
}

// envelope is any message of a server.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func newWeb(c *conn, s *site) *web { return &web{conn: c, site: s} }

// open does nothing: each request makes its own connection, if it must.
func (w *web) open(context.Context) error { return nil }

func (w *web) alive() bool {
	select {
	case <-w.conn.dead:
		return false
	default:
		return true
	}
}

func (w *web) agreed(version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version = version
}

// errSession is that the server does not know the session any more.
var errSession = errors.New("has ended the session")

func (w *web) request(ctx context.Context, id int64, method string, params any) (json.RawMessage, error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	res, session, err := w.post(ctx, method, params, body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode/100 != 2:
		return nil, w.refused(res, kind, session)
	case method == string(mcp.MethodInitialize):
		w.mu.Lock()
		w.session = res.Header.Get("Mcp-Session-Id")
		w.mu.Unlock()
	}
	switch kind {
	case "application/json":
		text, err := bounded(res.Body)
		if err != nil {
			return nil, err
		}
		var m envelope
		if json.Unmarshal(text, &m) != nil {
			return nil, errors.New("answered with what is no JSON")
		}
		return m.answer()
	case "text/event-stream":
		return w.stream(ctx, res.Body, id)
	}
	return nil, fmt.Errorf("answered with neither JSON nor a stream of events, but %q", kind)
}

// post sends a message, and tells in which session.
func (w *web) post(ctx context.Context, method string, params any, body []byte) (*http.Response, string, error) {
	req, session, err := w.prepare(ctx, http.MethodPost, bytes.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if w.modern() && method != "" {
		raw, _ := json.Marshal(params)
		for name, value := range mcp.StandardHeaders(mcp.ProtocolVersion20260728, mcp.MCPMethod(method), raw) {
			req.Header.Set(name, value)
		}
	}
	res, err := w.site.do(req)
	if err != nil && errors.As(err, new(*lost)) && ctx.Err() == nil {
		w.conn.end(err) // it cannot be reached: the next use connects anew
	}
	return res, session, err
}

func (w *web) modern() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.version == mcp.ProtocolVersion20260728
}

func (w *web) prepare(ctx context.Context, method string, body io.Reader) (*http.Request, string, error) {
	req, err := w.site.request(ctx, method, w.site.url, body)
	if err != nil {
		return nil, "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.version != "" {
		req.Header.Set("MCP-Protocol-Version", w.version)
	}
	if w.session != "" {
		req.Header.Set("Mcp-Session-Id", w.session)
	}
	return req, w.session, nil
}

// noSession is how servers say that they do not know a session which do not
// use the status for it.
var noSession = regexp.MustCompile(`(?i)\bsession\b`)

// refused reads an answer whose status is none of success.
func (w *web) refused(res *http.Response, kind, session string) error {
	text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	var m envelope
	refusal := &rpcError{}
	isRefusal := kind == "application/json" && json.Unmarshal(text, &m) == nil && m.Error != nil && errors.As(second(m.answer()), &refusal)
	status := &statusError{code: res.StatusCode, method: res.Request.Method}
	switch {
	case session != "" && (res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusBadRequest && isRefusal && noSession.MatchString(refusal.message)):
		w.conn.end(errSession)
		return &lost{errSession}
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
		return w.site.unauthorized(status)
	case isRefusal:
		return refusal
	}
	return status
}

func second[T any](_ T, err error) error { return err }

// answer is what a message says to the request that it answers.
func (m *envelope) answer() (json.RawMessage, error) {
	switch {
	case m.Error != nil:
		return nil, &rpcError{code: m.Error.Code, message: m.Error.Message, data: value(m.Error.Data)}
	case len(m.Result) == 0:
		return nil, errors.New("answered with neither a result nor an error")
	}
	return m.Result, nil
}

// is tells whether a message is the answer to the request with this number.
func (m *envelope) is(id int64) bool {
	number := strconv.FormatInt(id, 10)
	return m.Method == "" && (string(m.ID) == number || string(m.ID) == `"`+number+`"`)
}

const (
	// resumeWait is how long to wait before a stream is gone on with, unless the
	// server says.
	resumeWait = time.Second
	leastWait  = 10 * time.Millisecond
)

// stream reads a stream up to the answer to a request. If the server ends it
// before, and has given an id to go on from, another is asked for.
func (w *web) stream(ctx context.Context, body io.Reader, id int64) (json.RawMessage, error) {
	src := newEvents(body)
	for {
		m, err := w.until(src, id)
		if m != nil {
			return m.answer()
		}
		if ctx.Err() != nil || errors.Is(err, errTooLong) {
			return nil, err
		}
		if src.last == "" || w.modern() {
			return nil, errors.New("ended its answer early")
		}
		wait := src.wait
		if wait == 0 {
			wait = resumeWait
		}
		if !w.conn.pause(ctx, max(wait, leastWait)) {
			return nil, errors.New("ended its answer early")
		}
		more, err := w.get(ctx, src.last)
		if err != nil {
			return nil, err
		}
		defer more.Close()
		src = &events{src: newEvents(more).src, last: src.last, wait: src.wait}
	}
}

// until reads a stream until the answer to a request, or its end.
func (w *web) until(src *events, id int64) (*envelope, error) {
	for {
		ev, err := src.next()
		if err != nil {
			return nil, err
		}
		var m envelope
		if len(ev.data) == 0 || ev.kind != "" && ev.kind != "message" || json.Unmarshal(ev.data, &m) != nil {
			continue
		}
		if m.is(id) {
			return &m, nil
		}
		w.heard(&m)
	}
}

// heard deals with a message that answers nothing.
func (w *web) heard(m *envelope) {
	switch {
	case m.Method == "":
	case len(m.ID) == 0:
		w.conn.notified(m.Method)
	default:
		w.conn.over.Go(func() { w.reply(m) })
	}
}

// reply answers a request of the server. The bridge declares no capability, so
// that a ping is all that a server may ask for.
func (w *web) reply(m *envelope) {
	answer := map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": m.ID}
	if m.Method == string(mcp.MethodPing) {
		answer["result"] = struct{}{}
	} else {
		answer["error"] = map[string]any{"code": mcp.METHOD_NOT_FOUND, "message": "bridge does not offer " + m.Method}
	}
	w.send(w.conn.life, "", answer)
}

// noteTimeout bounds what nobody waits for.
const noteTimeout = 5 * time.Second

// send sends a message that is not answered.
func (w *web) send(ctx context.Context, method string, message any) {
	body, err := json.Marshal(message)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	if res, _, err := w.post(ctx, method, struct{}{}, body); err == nil {
		io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
		res.Body.Close()
	}
}

// notify sends a notification. Since 2026-07-28 a request is given up by the
// end of its connection, and there is nothing else to notify of.
func (w *web) notify(ctx context.Context, method string, params map[string]any) {
	if w.modern() {
		return
	}
	message := map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "method": method}
	if params != nil {
		message["params"] = params
	}
	if method == string(mcp.MethodNotificationCancelled) {
		// Whoever gives a request up does not wait for the server to know.
		w.conn.over.Go(func() { w.send(ctx, method, message) })
		return
	}
	w.send(ctx, method, message)
}

// get asks for a stream of messages that answer no request, or for the rest of
// one that was ended.
func (w *web) get(ctx context.Context, last string) (io.ReadCloser, error) {
	req, session, err := w.prepare(ctx, http.MethodGet, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := w.site.do(req)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if res.StatusCode == http.StatusOK && kind == "text/event-stream" {
		return res.Body, nil
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNotFound && last == "" {
		session = "" // it may only be that there is no such stream
	}
	return nil, w.refused(res, kind, session)
}

// listen keeps a stream open, on which the server tells of changes. Not every
// server has one.
func (w *web) listen(ctx context.Context) {
	last := ""
	for wait := resumeWait; ; wait = min(2*wait, time.Minute) {
		body, err := w.get(ctx, last)
		var status *statusError
		if errors.As(err, &status) && status.code/100 == 4 {
			return
		}
		if err == nil {
			src := newEvents(body)
			w.until(src, -1)
			body.Close()
			last = src.last
		}
		if !w.conn.pause(ctx, wait) {
			return
		}
		if err == nil && last == "" {
			w.conn.changes.Add(1) // what was said meanwhile is not known
		}
	}
}

// close ends the session, if the server can be told.
func (w *web) close() {
	w.conn.end(errors.New("was left"))
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if req, session, err := w.prepare(ctx, http.MethodDelete, nil); err == nil && session != "" && !errors.Is(w.conn.cause, errSession) {
		if res, err := w.site.do(req); err == nil {
			res.Body.Close()
		}
	}
	w.conn.leave()
	w.site.close()
}

// bounded reads a body that is one message.
func bounded(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxLine+1))
	if err != nil {
		return nil, plain(err)
	}
	if len(text) > maxLine {
		return nil, errTooLong
	}
	return text, nil
}
