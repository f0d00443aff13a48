package upstream

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"bridge/definition"
)

// visit is a browser whose user agrees.
func visit(t *testing.T) func(string) {
	return func(page string) {
		go func() {
			res, err := http.Get(page)
			if err != nil {
				t.Error(err)
				return
			}
			res.Body.Close()
		}()
	}
}

// TestALoginIsRenewed tells that a token that is refused, and one that has run
// out, are renewed once for all calls that are under way: a second use of what
// renews it is refused.
func TestALoginIsRenewed(t *testing.T) {
	for name, lifetime := range map[string]string{"refused": "2500ms", "run out": "2s"} {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			def := webToy(t, "/mcp", "-login", lifetime)
			if err := Login(t.Context(), def, LoginOptions{Dir: state, Show: visit(t)}); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(tokenPath(state, def.URL))
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Fatalf("the token's file: %v, %v", info, err)
			}
			set := New([]definition.Server{def}, slog.New(slog.DiscardHandler))
			t.Cleanup(set.Close)
			set.Keep(state)
			for round := range 2 {
				if round > 0 {
					time.Sleep(2600 * time.Millisecond) // for the token to run out
				}
				var all sync.WaitGroup
				for range 10 {
					all.Go(func() {
						if _, err := set.Call(t.Context(), "toy", "echo", []byte(`{"text":"hi"}`)); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
			}
		})
	}
}

func TestErrorsOfALoginSayWhy(t *testing.T) {
	// A server whose login is as the function says.
	server := func(serve func(w http.ResponseWriter, r *http.Request, base string)) definition.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			base := "http://" + r.Host
			w.Header().Set("Content-Type", "application/json")
			switch r.URL.Path {
			case "/mcp":
				w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+base+`/.well-known/oauth-protected-resource"`)
				w.WriteHeader(http.StatusUnauthorized)
			case "/.well-known/oauth-protected-resource":
				io.WriteString(w, `{"resource":"`+base+`/mcp","authorization_servers":["`+base+`"]}`)
			case "/.well-known/oauth-authorization-server":
				io.WriteString(w, `{"issuer":"`+base+`","authorization_endpoint":"`+base+`/authorize","token_endpoint":"`+base+`/token","registration_endpoint":"`+base+`/register"}`)
			case "/register":
				w.WriteHeader(http.StatusCreated)
				io.WriteString(w, `{"client_id":"me"}`)
			default:
				serve(w, r, base)
			}
		}))
		t.Cleanup(s.Close)
		return definition.Server{Name: "toy", URL: s.URL + "/mcp"}
	}
	back := func(w http.ResponseWriter, r *http.Request, answer url.Values) {
		answer.Set("state", r.URL.Query().Get("state"))
		http.Redirect(w, r, r.URL.Query().Get("redirect_uri")+"?"+answer.Encode(), http.StatusFound)
	}
	for _, test := range []struct {
		name string
		def  definition.Server
		want string
	}{
		{"no login", webToy(t, "/mcp"), "it does not ask for a login"},
		{"refused", server(func(w http.ResponseWriter, r *http.Request, _ string) {
			back(w, r, url.Values{"error": {"access_denied"}})
		}), `the login was refused: "access_denied"`},
		{"a code that is not good", server(func(w http.ResponseWriter, r *http.Request, _ string) {
			if r.URL.Path == "/authorize" {
				back(w, r, url.Values{"code": {"x"}})
				return
			}
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error":"invalid_grant","error_description":"no such code"}`)
		}), `exchanging the code for a token: "invalid_grant": "no such code"`},
		{"a secret in an answer", server(func(w http.ResponseWriter, r *http.Request, _ string) {
			if r.URL.Path == "/authorize" {
				back(w, r, url.Values{"code": {"x"}})
				return
			}
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, `{"trace":"s3cret"}`)
		}), "exchanging the code for a token: token request failed with status 500"},
		{"another state", server(func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, r.URL.Query().Get("redirect_uri")+"?code=x&state=mine", http.StatusFound)
		}), "the browser did not come back: too long"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, errors.New("too long"))
			defer cancel()
			state := t.TempDir()
			err := Login(ctx, test.def, LoginOptions{Dir: state, Show: visit(t)})
			if err == nil || err.Error() != test.want {
				t.Errorf("error = %v\nwant %s", err, test.want)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Error("it tells a secret")
			}
			if list, _ := os.ReadDir(state); len(list) > 0 {
				t.Errorf("it has left %v", list)
			}
		})
	}
}
