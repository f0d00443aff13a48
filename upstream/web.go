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
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// web is the transport of Streamable HTTP: each message is a POST, and
// what is answered is the answer or a stream that ends with it.
type web struct {
	conn *conn
	site *site

	mu      sync.Mutex // guards what follows
	session string
	version string
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
	body, err := json.Marshal(request(id, method, params))
	if err != nil {
		return nil, err
	}
	// It ends with the server, but not with the session: that others have lost
	// it need not keep this one from its answer.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.conn.server.life, cancel)()
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
		m, err := parse(text)
		if err != nil {
			return nil, w.conn.unreadable(text, unread(err))
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
		w.label(req.Header, method, params)
	}
	res, err := w.site.do(req)
	switch {
	case err == nil:
		res.Body = w.conn.body(res.Body, ctx.Done())
	case errors.As(err, new(*lost)) && ctx.Err() == nil:
		w.conn.end(err) // it cannot be reached: the next use connects anew
	}
	return res, session, err
}

// label says in the headers what a message asks for, as 2026-07-28 wants it:
// the method, the tool, and those of the arguments that the tool's schema names.
func (w *web) label(header http.Header, method string, params any) {
	raw, _ := json.Marshal(params)
	for name, value := range mcp.StandardHeaders(mcp.ProtocolVersion20260728, mcp.MCPMethod(method), raw) {
		header.Set(name, value)
	}
	call, ok := params.(callParams)
	if !ok {
		return
	}
	if schema := w.conn.server.schema(call.Name); bytes.Contains(schema, []byte("x-mcp-header")) {
		for name, value := range mcp.GenerateParamHeaders(&mcp.Tool{Name: call.Name, RawInputSchema: schema}, raw) {
			header.Set(name, value)
		}
	}
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
	refusal := &rpcError{}
	m, err := parse(text)
	isRefusal := kind == "application/json" && err == nil && m.Error != nil && errors.As(second(m.answer()), &refusal)
	status := &statusError{code: res.StatusCode}
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
	message := notification(method, params)
	if method == string(mcp.MethodNotificationCancelled) {
		// Whoever gives a request up does not wait for the server to know.
		w.conn.spawn(func() { w.send(ctx, method, message) })
		return
	}
	w.send(ctx, method, message)
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
