package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/moby/sys/atomicwriter"

	"github.com/mark3labs/mcp-go/client/transport"
)

// grant is what a login has brought: who the bridge is to the server's login,
// and the token.
type grant struct {
	Server       string           `json:"server"` // for people
	ClientID     string           `json:"client_id"`
	ClientSecret string           `json:"client_secret,omitempty"`
	AuthMethod   string           `json:"auth_method,omitempty"`
	Redirect     string           `json:"redirect_uri"`
	Scopes       []string         `json:"scopes,omitempty"`
	Metadata     string           `json:"resource_metadata,omitempty"`
	Token        *transport.Token `json:"token"`
}

// tokenFile keeps a grant in a file. It is the library's TokenStore: what the
// library renews is written there.
type tokenFile struct {
	path  string
	grant grant
}

// tokenPath is the file for the server at an address, in the folder of the
// state.
func tokenPath(dir, address string) string {
	if u, err := url.Parse(address); err == nil {
		u.RawQuery, u.Fragment, u.User = "", "", nil
		address = u.String()
	}
	sum := sha256.Sum256([]byte(address))
	return filepath.Join(dir, "tokens", hex.EncodeToString(sum[:])+".json")
}

// openToken reads a grant, nil if there is none.
func openToken(path string) (*tokenFile, error) {
	f := &tokenFile{path: path}
	switch err := f.read(); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, errors.New("its stored token cannot be read; log in again")
	}
	return f, nil
}

// maxGrant bounds the file, in bytes.
const maxGrant = 1 << 20

func (f *tokenFile) read() error {
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	if info.Size() > maxGrant {
		return errors.New("too large")
	}
	text, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	var g grant
	if err := json.Unmarshal(text, &g); err != nil {
		return err
	}
	if g.Token == nil {
		return errors.New("no token")
	}
	f.grant = g
	return nil
}

// GetToken reads the token: another bridge may have renewed it.
func (f *tokenFile) GetToken(ctx context.Context) (*transport.Token, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g := tokenFile{path: f.path}
	if err := g.read(); err != nil {
		return nil, transport.ErrNoToken
	}
	return g.grant.Token, nil
}

// SaveToken writes the token, for the user alone to read.
func (f *tokenFile) SaveToken(ctx context.Context, token *transport.Token) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g := f.grant
	g.Token = token
	text, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(f.path, append(text, '\n'))
}

// writeFile writes a file that only the user can read, whole or not at all.
func writeFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicwriter.WriteFile(path, text, 0o600)
}

// handler is the library's, which knows how to register, to log in and to
// renew.
func (f *tokenFile) handler(s *site) *transport.OAuthHandler {
	h := transport.NewOAuthHandler(transport.OAuthConfig{
		ClientID: f.grant.ClientID, ClientSecret: f.grant.ClientSecret, TokenEndpointAuthMethod: f.grant.AuthMethod,
		RedirectURI: f.grant.Redirect, Scopes: f.grant.Scopes, ProtectedResourceMetadataURL: f.grant.Metadata,
		TokenStore: f, PKCEEnabled: true,
		HTTPClient: &http.Client{Transport: short{s.client.Transport}, Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // codes and tokens are for who was asked
		}},
	})
	base := s.url
	if u, err := url.Parse(s.url); err == nil {
		u.RawQuery, u.Fragment = "", ""
		base = u.String()
	}
	h.SetBaseURL(base)
	return h
}

// short bounds the answers of who gives tokens: the library reads them whole.
type short struct{ http.RoundTripper }

// maxShort is how much of such an answer is read, in bytes.
const maxShort = 1 << 20

func (s short) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := s.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxShort), answer.Body}
	}
	return answer, err
}

// authorization is the header that says who asks, "" if nobody has logged in.
func (s *site) authorization(ctx context.Context) (string, error) {
	if s.tokens == "" || s.headers.Get("Authorization") != "" {
		return "", nil
	}
	oauth, err := s.login()
	if oauth == nil || err != nil {
		return "", err
	}
	header, err := oauth.GetAuthorizationHeader(ctx)
	switch {
	case err == nil:
		return header, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, transport.ErrOAuthAuthorizationRequired):
		return "", &lost{fmt.Errorf("its login has run out: log in with bridge login %s", s.name)}
	}
	return "", &lost{bare(err)}
}

// login is the library's keeper of the token, nil if nobody has logged in.
func (s *site) login() (*transport.OAuthHandler, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.oauth != nil {
		return s.oauth, nil
	}
	file, err := openToken(s.tokens)
	if file == nil || err != nil {
		return nil, err
	}
	s.oauth = file.handler(s)
	return s.oauth, nil
}

// renew gets another token in the place of one that was refused, unless that
// has been done by now.
func (s *site) renew(ctx context.Context, refused string) bool {
	oauth, err := s.login()
	if oauth == nil || err != nil {
		return false
	}
	s.renewing.Lock()
	defer s.renewing.Unlock()
	file := &tokenFile{path: s.tokens}
	token, err := file.GetToken(ctx)
	switch {
	case err != nil:
		return false
	case "Bearer "+token.AccessToken != refused:
		return true
	case token.RefreshToken == "":
		return false
	}
	_, err = oauth.RefreshToken(ctx, token.RefreshToken)
	return err == nil
}
