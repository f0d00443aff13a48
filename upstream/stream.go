package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"
)

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
		if ctx.Err() != nil || errors.Is(err, errTooLong) || errors.As(err, new(*unreadable)) {
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
		if len(ev.data) == 0 || ev.kind != "" && ev.kind != "message" {
			continue
		}
		m, err := parse(ev.data)
		switch {
		case err == nil && m.is(id):
			return m, nil
		case err == nil:
			w.conn.heard(m, func(message any) { w.conn.reply(func() { w.send(w.conn.life, "", message) }) })
		default:
			if ids, ok := answers(ev.data); ok && slices.Contains(ids, id) {
				return nil, w.conn.unreadable(ev.data, unread(err))
			}
		}
	}
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
		return w.conn.body(res.Body, ctx.Done()), nil
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
