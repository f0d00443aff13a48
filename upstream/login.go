package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"bridge/definition"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// LoginOptions are what a login needs beside the server.
type LoginOptions struct {
	Dir      string            // the folder of the state, as for Set.Keep
	ClientID string            // of a client that is registered already; "" registers one
	Port     int               // of the address that the browser is sent back to; 0 is any
	Show     func(page string) // is given the page on which the user agrees
}

// Login has the user log in to a server of HTTP that asks for it, by the
// authorization of MCP: OAuth 2.1 with PKCE, for a client that is registered on
// the spot. The token is kept in a file that only the user can read, and is
// renewed when it has run out. Its errors hold no secret.
func Login(ctx context.Context, def definition.Server, o LoginOptions) error {
	s, err := newSite(def, os.Environ(), o.Dir)
	if err != nil {
		return err
	}
	defer s.close()
	challenge, err := s.challenge(ctx, def.Transport)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", o.Port))
	if err != nil {
		return fmt.Errorf("listening for the browser to come back: %w", err)
	}
	defer listener.Close()
	file := &tokenFile{path: s.tokens}
	file.grant.Redirect = fmt.Sprintf("http://%s/callback", listener.Addr())
	file.grant.ClientID = o.ClientID
	file.grant.Server = def.Name
	if m := scopes.FindStringSubmatch(challenge.Header.Get("WWW-Authenticate")); m != nil {
		file.grant.Scopes = strings.Fields(m[1])
	}
	oauth := file.handler(s)
	oauth.HandleUnauthorizedResponse(challenge)
	if _, err := oauth.GetServerMetadata(ctx); err != nil {
		return fmt.Errorf("finding out where to log in: %w", bare(err))
	}
	if o.ClientID == "" {
		if err := oauth.RegisterClient(ctx, "bridge"); err != nil {
			return fmt.Errorf("registering with the server's login: %w", bare(err))
		}
	}
	file.grant.ClientID, file.grant.ClientSecret = oauth.GetClientID(), oauth.GetClientSecret()
	file.grant.AuthMethod = oauth.GetTokenEndpointAuthMethod()
	file.grant.Metadata = metadataURL(challenge)
	return authorize(ctx, oauth, listener, o.Show)
}

// scopes are those that a server asks for in its challenge.
var scopes = regexp.MustCompile(`(?i)\bscope="([^"]*)"`)

// resourceMetadata is where the challenge says that the resource describes
// itself.
var resourceMetadata = regexp.MustCompile(`(?i)\bresource_metadata="([^"]*)"`)

func metadataURL(challenge *http.Response) string {
	m := resourceMetadata.FindStringSubmatch(challenge.Header.Get("WWW-Authenticate"))
	if m == nil {
		return ""
	}
	// Only its own host may say so for a resource (RFC 9728, section 3).
	if u, err := url.Parse(m[1]); err != nil || u.Host != challenge.Request.URL.Host {
		return ""
	}
	return m[1]
}

// challenge asks the server for something without a login, and gives its
// refusal, whose body is closed.
func (s *site) challenge(ctx context.Context, kind string) (*http.Response, error) {
	method, body := http.MethodPost, io.Reader(strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+mcp.LATEST_LEGACY_PROTOCOL_VERSION+
			`","clientInfo":{"name":"bridge","version":"1"},"capabilities":{}}}`))
	if kind == "sse" {
		method, body = http.MethodGet, nil
	}
	req, err := s.plainRequest(ctx, method, s.url, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := s.client.Do(req)
	if err != nil {
		return nil, plain(err)
	}
	res.Body.Close()
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		return res, nil
	case res.StatusCode/100 == 2:
		return nil, errors.New("it does not ask for a login")
	}
	return nil, &statusError{code: res.StatusCode}
}

// authorize shows the page on which the user agrees, waits for the browser to
// come back with a code, and has the code made into a token.
func authorize(ctx context.Context, oauth *transport.OAuthHandler, listener net.Listener, show func(string)) error {
	verifier, err := transport.GenerateCodeVerifier()
	if err != nil {
		return err
	}
	state, err := transport.GenerateState()
	if err != nil {
		return err
	}
	page, err := oauth.GetAuthorizationURL(ctx, state, transport.GenerateCodeChallenge(verifier))
	if err != nil {
		return bare(err)
	}
	if u, err := url.Parse(page); err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("the address of the login page does not begin with http:// or https://")
	}
	back := make(chan url.Values, 1)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if r.URL.Path != "/callback" || query.Get("state") != state {
			http.NotFound(w, r) // not who is waited for
			return
		}
		told := "You are logged in. This window can be closed."
		if query.Get("code") == "" {
			told = "The login was refused: " + query.Get("error")
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>bridge</title><p>%s\n", html.EscapeString(told))
		select {
		case back <- query:
		default: // it came twice
		}
	})}
	go server.Serve(listener)
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		server.Shutdown(bounded)
		server.Close()
	}()
	show(page)
	var query url.Values
	select {
	case query = <-back:
	case <-ctx.Done():
		return fmt.Errorf("the browser did not come back: %w", context.Cause(ctx))
	}
	if query.Get("code") == "" {
		return fmt.Errorf("the login was refused: %.200q", query.Get("error"))
	}
	if err := oauth.ProcessAuthorizationResponse(ctx, query.Get("code"), query.Get("state"), verifier); err != nil {
		return fmt.Errorf("exchanging the code for a token: %w", bare(err))
	}
	return nil
}

// bare is an error of the library without the answer that it quotes, which may
// hold anything, and without addresses.
func bare(err error) error {
	var said transport.OAuthError
	switch {
	case errors.As(err, &said):
		return fmt.Errorf("%.100q: %.300q", said.ErrorCode, said.ErrorDescription)
	case errors.As(err, new(*url.Error)):
		return plain(err)
	}
	text, _, _ := bytes.Cut([]byte(err.Error()), []byte(": {"))
	return fmt.Errorf("%.300s", text)
}
