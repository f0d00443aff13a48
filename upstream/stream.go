package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// resumeWait is how long to wait before a stream is gone on with, unless the
	// server says.
	resumeWait = time.Second
	leastWait  = 10 * time.Millisecond
)

// is tells whether a message is the answer to the request with this number.
func (m *envelope) is(id int64) bool {
	number := strconv.FormatInt(id, 10)
	return m.Method == "" && (string(m.ID) == number || string(m.ID) == `"`+number+`"`)
}

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
		w.conn.reply(m.ID, func() { w.reply(m) })
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
