package toy

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// oauth is an authorization server for one toy, whose user agrees to
// everything at once. It holds clients to the specification: a code is good
// once and for its own verifier, a token to renew with is good once, and what
// is not asked for in the right way is refused.
type oauth struct {
	lifetime time.Duration // of a token; clients are not told one that is no whole seconds

	mu      sync.Mutex
	clients map[string][]string   // redirections, by client
	codes   map[string]url.Values // what was asked for, by code
	tokens  map[string]time.Time  // when each runs out
	renewal map[string]string     // client, by token to renew with
}

func newOAuth(lifetime time.Duration) *oauth {
	return &oauth{
		lifetime: lifetime, clients: map[string][]string{}, codes: map[string]url.Values{},
		tokens: map[string]time.Time{}, renewal: map[string]string{},
	}
}

// admits tells whether a request bears a token that holds.
func (o *oauth) admits(r *http.Request) bool {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Now().Before(o.tokens[token])
}

// ServeHTTP answers all but the toy itself.
func (o *oauth) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	base := "http://" + r.Host
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource":
		answer(w, http.StatusOK, map[string]any{"resource": base + "/mcp", "authorization_servers": []string{base}})
	case "/.well-known/oauth-authorization-server":
		answer(w, http.StatusOK, map[string]any{
			"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token",
			"registration_endpoint": base + "/register", "response_types_supported": []string{"code"},
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		})
	case "/register":
		o.register(w, r)
	case "/authorize":
		o.authorize(w, r)
	case "/token":
		o.token(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (o *oauth) register(w http.ResponseWriter, r *http.Request) {
	var client struct {
		RedirectURIs []string `json:"redirect_uris"`
	}
	if json.NewDecoder(r.Body).Decode(&client) != nil || len(client.RedirectURIs) == 0 {
		refuse(w, "invalid_client_metadata")
		return
	}
	id := rand.Text()
	o.mu.Lock()
	o.clients[id] = client.RedirectURIs
	o.mu.Unlock()
	answer(w, http.StatusCreated, map[string]any{"client_id": id, "redirect_uris": client.RedirectURIs, "token_endpoint_auth_method": "none"})
}

func (o *oauth) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Contains(o.clients[q.Get("client_id")], q.Get("redirect_uri")) || q.Get("response_type") != "code" ||
		q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("resource") == "" {
		refuse(w, "invalid_request")
		return
	}
	code := rand.Text()
	o.codes[code] = q
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

func (o *oauth) token(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil {
		refuse(w, "invalid_request")
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	client := r.PostForm.Get("client_id")
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		asked, known := o.codes[r.PostForm.Get("code")]
		delete(o.codes, r.PostForm.Get("code"))
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if !known || asked.Get("client_id") != client || asked.Get("redirect_uri") != r.PostForm.Get("redirect_uri") ||
			asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
			refuse(w, "invalid_grant")
			return
		}
	case "refresh_token":
		renewal := r.PostForm.Get("refresh_token")
		if o.renewal[renewal] != client || client == "" {
			refuse(w, "invalid_grant")
			return
		}
		delete(o.renewal, renewal)
	default:
		refuse(w, "unsupported_grant_type")
		return
	}
	token, renewal := rand.Text(), rand.Text()
	o.tokens[token] = time.Now().Add(o.lifetime)
	o.renewal[renewal] = client
	granted := map[string]any{"access_token": token, "token_type": "bearer", "refresh_token": renewal}
	if o.lifetime%time.Second == 0 {
		granted["expires_in"] = int(o.lifetime.Seconds())
	}
	answer(w, http.StatusOK, granted)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, kind string) {
	answer(w, http.StatusBadRequest, map[string]string{"error": kind, "error_description": "as the specification says"})
}
