package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"bridge/definition"

	"github.com/mark3labs/mcp-go/client/transport"
)

// site is where a server of HTTP is, and what is sent with each request to it.
type site struct {
	name    string // of the server
	url     string
	headers http.Header
	client  *http.Client
	redact  *strings.Replacer
	tokens  string // the file in which a login is kept, "" for none

	mu       sync.Mutex // guards oauth
	oauth    *transport.OAuthHandler
	renewing sync.Mutex // one renewal at a time
}

// newSite makes a definition into a site, with the environment env of the
// bridge, and logins from the folder of the state, "" for none. Its errors name
// variables, never their values.
func newSite(def definition.Server, env []string, state string) (*site, error) {
	x := newExpansion(env)
	s := &site{name: def.Name, headers: http.Header{}}
	address := x.expand(def.URL)
	for name, value := range def.Headers {
		s.headers.Set(name, x.secret(value, def.Headers[name]))
	}
	if err := x.incomplete(); err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("its url %q does not begin with http:// or https://", def.URL)
	}
	s.url = u.String()
	s.redact = redactor(x.secrets)
	if state != "" {
		s.tokens = tokenPath(state, s.url)
	}
	own := http.DefaultTransport.(*http.Transport).Clone()
	own.MaxIdleConnsPerHost = 64
	own.DialContext = (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	s.client = &http.Client{Transport: own, CheckRedirect: stay}
	return s, nil
}

// stay follows redirections to the same host only: the headers are for it, and
// nobody else.
func stay(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if req.URL.Host != first.Host || req.URL.Scheme != first.Scheme && req.URL.Scheme != "https" {
		return errors.New("redirects to another place")
	}
	if len(via) >= 5 {
		return errors.New("redirects for ever")
	}
	return nil
}

// request is one to the site, or to an address that the site has named, of
// whoever has logged in.
func (s *site) request(ctx context.Context, method, address string, body io.Reader) (*http.Request, error) {
	who, err := s.authorization(ctx)
	if err != nil {
		return nil, err
	}
	req, err := s.plainRequest(ctx, method, address, body)
	if err == nil && who != "" {
		req.Header.Set("Authorization", who)
	}
	return req, err
}

// plainRequest is one of nobody in particular.
func (s *site) plainRequest(ctx context.Context, method, address string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, err
	}
	for name, values := range s.headers {
		req.Header[name] = values
	}
	if host := s.headers.Get("Host"); host != "" {
		req.Host = host
	}
	return req, nil
}

// do sends a request, a second time if the login that it bears was refused and
// could be renewed. Its error is a *lost if there is no connection to send it
// over.
func (s *site) do(req *http.Request) (*http.Response, error) {
	res, err := s.client.Do(req)
	if who := req.Header.Get("Authorization"); err == nil && res.StatusCode == http.StatusUnauthorized && who != "" && who != s.headers.Get("Authorization") {
		again := req.Clone(req.Context())
		if req.GetBody != nil {
			again.Body, _ = req.GetBody()
		}
		if s.renew(req.Context(), who) {
			if who, failed := s.authorization(req.Context()); failed == nil {
				res.Body.Close()
				again.Header.Set("Authorization", who)
				res, err = s.client.Do(again)
			}
		}
	}
	if err == nil {
		return res, nil
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return nil, &lost{fmt.Errorf("no connection to %s: %w", req.URL.Host, plain(dial.Err))}
	}
	return nil, plain(err)
}

// plain is an error without the address that it is about, which may hold
// secrets.
func plain(err error) error {
	var about *url.Error
	if errors.As(err, &about) {
		err = about.Err
	}
	var call *os.SyscallError
	switch {
	case errors.As(err, &call):
		return call.Err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("closed the connection")
	}
	return err
}

// statusError is an answer that says no more than its status.
type statusError struct {
	code int
	hint string
}

func (e *statusError) Error() string {
	text := strings.ToLower(http.StatusText(e.code))
	if text != "" {
		text = " (" + text + ")"
	}
	return fmt.Sprintf("answered with status %d%s%s", e.code, text, e.hint)
}

// unauthorized says what to do about a server that wants to know who asks.
func (s *site) unauthorized(status *statusError) error {
	switch {
	case s.headers.Get("Authorization") != "":
		status.hint = ": it does not take the header Authorization of its definition"
	default:
		status.hint = fmt.Sprintf(": log in with bridge login %s", s.name)
	}
	return status
}

func (s *site) close() { s.client.CloseIdleConnections() }
