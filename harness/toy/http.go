package toy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// web is a toy that is reached over HTTP: /mcp over Streamable HTTP, and /sse
// over the transport of MCP's first version.
type web struct {
	options options
	inner   http.Handler
	login   *oauth // nil if nobody need log in

	mu    sync.Mutex
	calls map[string]int // by session
	gone  map[string]bool
}

// Handler is a toy of HTTP with these arguments of its command line.
func Handler(args ...string) (http.Handler, error) {
	o, err := parse(args)
	if err != nil {
		return nil, err
	}
	return newWeb(o), nil
}

func newWeb(o options) *web {
	srv := newServer(o)
	quiet := slog.New(slog.DiscardHandler)
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.NewStreamableHTTPServer(srv, server.WithStateful(true), server.WithStreamableHTTPLogger(quiet)))
	old := server.NewSSEServer(srv)
	mux.Handle("/sse", old)
	mux.Handle("/message", old)
	var login *oauth
	if o.login > 0 {
		login = newOAuth(o.login)
	}
	return &web{options: o, inner: mux, login: login, calls: map[string]int{}, gone: map[string]bool{}}
}

// serveHTTP listens, writes where to a file, as a policy's definition of the
// server, and serves until it is told to end.
func serveHTTP(o options) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	path := "/mcp"
	if o.sse {
		path = "/sse"
	}
	definition := fmt.Sprintf("servers: toy: url: \"http://%s%s\"\n", listener.Addr(), path)
	// Whole at once, for whoever waits for it.
	if err := os.WriteFile(o.http+".new", []byte(definition), 0o644); err != nil {
		return err
	}
	if err := os.Rename(o.http+".new", o.http); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	s := &http.Server{Handler: newWeb(o), ReadHeaderTimeout: time.Minute}
	go s.Serve(listener)
	<-ctx.Done()
	return s.Close()
}

// visit does what a browser does with a page: it goes where that sends it.
func visit(page string) error {
	res, err := http.Get(page)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

func (w *web) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	if t := w.options.token; t != "" && r.Header.Get("Authorization") != "Bearer "+t {
		out.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(out, "who are you?", http.StatusUnauthorized)
		return
	}
	if w.login != nil {
		switch {
		case r.URL.Path != "/mcp" && r.URL.Path != "/sse" && r.URL.Path != "/message":
			w.login.ServeHTTP(out, r)
			return
		case !w.login.admits(r):
			out.Header().Set("WWW-Authenticate", `Bearer resource_metadata="http://`+r.Host+`/.well-known/oauth-protected-resource", scope="toys"`)
			http.Error(out, "who are you?", http.StatusUnauthorized)
			return
		}
	}
	if w.options.sse && r.URL.Path == "/mcp" {
		http.NotFound(out, r)
		return
	}
	if r.Method != http.MethodPost {
		w.inner.ServeHTTP(out, r)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var m message
	json.Unmarshal(body, &m)
	if w.options.modern && m.Method == "initialize" {
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(http.StatusBadRequest)
		json.NewEncoder(out).Encode(refusal(m.ID, mcp.METHOD_NOT_FOUND, "initialize was removed in 2026-07-28", nil))
		return
	}
	if w.forgotten(r.Header.Get("Mcp-Session-Id"), m.Method) {
		http.NotFound(out, r)
		return
	}
	if m.Method == "tools/call" {
		record("TOY_LOG", "toy.log", m.Params.Name)
	}
	if w.options.raw && m.Method == "tools/call" && m.Params.Name == "write" {
		var args struct {
			Type string `json:"type"`
		}
		json.Unmarshal(m.Params.Arguments, &args)
		out.Header().Set("Content-Type", cmp.Or(args.Type, "application/json"))
		out.Write(written(m))
		return
	}
	if w.options.moved && !strings.HasPrefix(r.Host, "localhost:") {
		_, port, _ := net.SplitHostPort(r.Host)
		http.Redirect(out, r, "http://localhost:"+port+r.URL.Path, http.StatusTemporaryRedirect)
		return
	}
	w.inner.ServeHTTP(out, r)
}

// forgotten tells whether a session is one that the toy has forgotten, as a
// server has that was started again: after its second call, if that is asked
// for.
func (w *web) forgotten(session, method string) bool {
	if !w.options.forget || session == "" {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if method == "tools/call" {
		w.calls[session]++
	}
	if w.calls[session] > 2 {
		w.gone[session] = true
	}
	return w.gone[session]
}
