package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"bridge/definition"
	"bridge/harness/project"
	"bridge/harness/toy"
)

// webToy is a toy that is reached over HTTP.
func webToy(t testing.TB, path string, args ...string) definition.Server {
	t.Helper()
	t.Setenv("TOY_LOG", "")
	handler, err := toy.Handler(args...)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return definition.Server{Name: "toy", URL: s.URL + path}
}

// TestServersOverHTTP tells that a server is the same over every transport and
// in both eras of the protocol.
func TestServersOverHTTP(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) definition.Server{
		"http":         func(t *testing.T) definition.Server { return webToy(t, "/mcp", "-change") },
		"http, modern": func(t *testing.T) definition.Server { return webToy(t, "/mcp", "-change", "-modern") },
		"sse": func(t *testing.T) definition.Server {
			d := webToy(t, "/sse", "-change", "-sse")
			d.Transport = "sse"
			return d
		},
		"sse, found out": func(t *testing.T) definition.Server { return webToy(t, "/sse", "-change", "-sse") },
	} {
		t.Run(name, func(t *testing.T) {
			set := open(t, start(t))
			tools, err := set.Tools(t.Context(), "toy")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(names(tools), "echo") || strings.Contains(names(tools), "late") {
				t.Errorf("tools = %s", names(tools))
			}
			if got := call(t, set, "echo", `{"text":"häh? 🐍"}`); got != "häh? 🐍" {
				t.Errorf("echo = %q", got)
			}
			raw, err := set.Call(t.Context(), "toy", "structured", nil)
			if err != nil || !strings.Contains(string(raw), toy.BigInt) {
				t.Errorf("structured = %s, %v", raw, err)
			}
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					text := strings.Repeat(fmt.Sprint(i%10), 100_000)
					if got := call(t, set, "echo", `{"text":"`+text+`"}`); got != text {
						t.Errorf("echo of %d bytes gave %d", len(text), len(got))
					}
				})
			}
			all.Wait()
			failure := refuse(t, set, "nothing", `{}`)
			if failure.Kind != KindTool || !failure.Sent {
				t.Errorf("an unknown tool: %+v", failure)
			}

			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			began := time.Now()
			if _, err := set.Call(ctx, "toy", "sleep", json.RawMessage(`{"seconds":30}`)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("sleep: %v", err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it was given up after %v", took)
			}

			// What is under way when the set is closed fails at once.
			closing := open(t, set.servers["toy"].def)
			if _, err := closing.Tools(t.Context(), "toy"); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(200*time.Millisecond, closing.Close)
			_, err = closing.Call(t.Context(), "toy", "sleep", json.RawMessage(`{"seconds":30}`))
			if want := `server "toy": the bridge is closing`; err == nil || err.Error() != want {
				t.Errorf("error = %v, want %s", err, want)
			}

			call(t, set, "grow", `{}`)
			for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
				tools, err := set.Tools(t.Context(), "toy")
				if err == nil && strings.Contains(names(tools), "late") {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("the catalog has not grown: %s, %v", names(tools), err)
				}
			}
		})
	}
}

// TestASessionThatWasForgottenIsOpenedAgain tells that a server which has lost
// its sessions costs no call.
func TestASessionThatWasForgottenIsOpenedAgain(t *testing.T) {
	set := open(t, webToy(t, "/mcp", "-forget"))
	for i := range 5 {
		if got := call(t, set, "echo", fmt.Sprintf(`{"text":"%d"}`, i)); got != fmt.Sprint(i) {
			t.Errorf("echo = %q", got)
		}
	}
}

func TestErrorsOfHTTPSayWhy(t *testing.T) {
	t.Setenv("BRIDGE_TEST_TOKEN", "s3cret-token")
	closed := httptest.NewServer(nil)
	closed.Close()
	answers := func(status int, kind, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			io.WriteString(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(hangs.Close)
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte("data: " + strings.Repeat("x", 1<<20))); err != nil {
				return
			}
		}
	}))
	t.Cleanup(endless.Close)
	for _, test := range []struct {
		def  definition.Server
		want string
	}{
		{definition.Server{URL: closed.URL}, `server "toy": no connection to ` + strings.TrimPrefix(closed.URL, "http://") + `: connection refused`},
		{webToy(t, "/mcp", "-token", "s3cret"), `server "toy": answered with status 401 (unauthorized): log in with bridge login toy`},
		{
			func() definition.Server {
				d := webToy(t, "/mcp", "-token", "s3cret")
				d.Headers = map[string]string{"Authorization": "Bearer ${BRIDGE_TEST_TOKEN}"}
				return d
			}(),
			`server "toy": answered with status 401 (unauthorized): it does not take the header Authorization of its definition`,
		},
		{definition.Server{URL: "http://x.example/${BRIDGE_TEST_UNSET}"}, `starting server "toy": ${BRIDGE_TEST_UNSET} is not set in the bridge's environment`},
		{definition.Server{URL: "ftp://x.example"}, `starting server "toy": its url "ftp://x.example" does not begin with http:// or https://`},
		{definition.Server{URL: answers(500, "text/html", "<p>s3cret")}, `server "toy": answered with status 500 (internal server error)`},
		{definition.Server{URL: answers(200, "text/html", "<p>hello")}, `server "toy": answered with neither JSON nor a stream of events, but "text/html"`},
		{definition.Server{URL: answers(200, "application/json", "{")}, "server \"toy\": its answer to initialize cannot be read: it is not JSON: unexpected end of JSON input: `{`"},
		{definition.Server{URL: answers(200, "application/json", `{"jsonrpc":"2.0","id":1}`)}, `server "toy": answered with neither a result nor an error`},
		{definition.Server{URL: answers(200, "text/event-stream", "data: {}\n\n")}, `server "toy": ended its answer early`},
		{definition.Server{URL: answers(404, "text/plain", "")}, `server "toy": answered with status 404 (not found)`},
		{definition.Server{URL: answers(200, "text/event-stream", "data: {}\n\n"), Transport: "sse"}, `server "toy": did not say where messages go`},
		{
			definition.Server{URL: answers(200, "text/event-stream", "event: endpoint\ndata: http://evil.example/x\n\n"), Transport: "sse"},
			`server "toy": wants its messages sent to another place`,
		},
		{webToy(t, "/mcp", "-moved"), `server "toy": redirects to another place`},
		{definition.Server{URL: hangs.URL, StartTimeout: 300 * time.Millisecond}, `server "toy": not started within 300ms`},
		{definition.Server{URL: hangs.URL, StartTimeout: 300 * time.Millisecond, Transport: "sse"}, `server "toy": not started within 300ms`},
		{definition.Server{URL: endless.URL}, `server "toy": sent a message of more than 20 MiB`},
	} {
		test.def.Name = "toy"
		err := refuse(t, open(t, test.def), "echo", `{}`)
		if err.Error() != test.want || err.Kind != KindServer || err.Sent {
			t.Errorf("error = %+v\nwant %s", err, test.want)
		}
	}
}

// TestHeadersAreSent tells that headers are expanded, and sent to the server
// alone.
func TestHeadersAreSent(t *testing.T) {
	t.Setenv("BRIDGE_TEST_TOKEN", "s3cret")
	def := webToy(t, "/mcp", "-token", "s3cret")
	def.Headers = map[string]string{"authorization": "Bearer ${env:BRIDGE_TEST_TOKEN}"}
	if got := call(t, open(t, def), "echo", `{"text":"hi"}`); got != "hi" {
		t.Errorf("echo = %q", got)
	}
}

// TestTheEverythingServerOverHTTP speaks with a server that nobody here wrote.
func TestTheEverythingServerOverHTTP(t *testing.T) {
	program, err := filepath.Abs("../testdata/npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		project.Skip(t, "the peers from npm are not installed: make peers")
	}
	for mode, path := range map[string]string{"streamableHttp": "/mcp", "sse": "/sse"} {
		t.Run(mode, func(t *testing.T) {
			port := freePort(t)
			cmd := exec.Command("node", program, mode)
			cmd.Env = append(os.Environ(), "PORT="+port)
			if err := cmd.Start(); err != nil {
				project.Skip(t, err)
			}
			t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
			for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
				c, err := net.Dial("tcp", "localhost:"+port)
				if err == nil {
					c.Close()
					break
				}
				if time.Now().After(deadline) {
					t.Fatal(err)
				}
			}
			set := open(t, definition.Server{Name: "toy", URL: "http://localhost:" + port + path})
			tools, err := set.Tools(t.Context(), "toy")
			if err != nil || !strings.Contains(names(tools), "get-structured-content") {
				t.Fatalf("tools = %s, %v", names(tools), err)
			}
			if got := call(t, set, "echo", `{"message":"hi"}`); got != "Echo: hi" {
				t.Errorf("echo = %q", got)
			}
			if got := call(t, set, "trigger-long-running-operation", `{"duration":0.2,"steps":2}`); !regexp.MustCompile(`^Long running operation completed`).MatchString(got) {
				t.Errorf("long = %q", got)
			}
		})
	}
}

// oldServer is a server of MCP's first transport, which sends what it is told in
// the place of the answer to a call: ID stands for the id of the request.
func oldServer(t *testing.T, begin, end, answer string) definition.Server {
	t.Helper()
	stream := make(chan string, 8)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, begin+"event: endpoint"+end+"data: /message"+end+end)
			for {
				w.(http.Flusher).Flush()
				select {
				case text := <-stream:
					io.WriteString(w, "data: "+text+end+end)
				case <-r.Context().Done():
					return
				}
			}
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		json.NewDecoder(r.Body).Decode(&m)
		switch m.Method {
		case "initialize":
			stream <- `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"protocolVersion":"2024-11-05"}}`
		case "tools/call":
			stream <- strings.ReplaceAll(answer, "ID", string(m.ID))
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	return definition.Server{Name: "toy", URL: s.URL, Transport: "sse"}
}

// What is not text is mended on the oldest transport as well, whose stream may
// begin with a byte order mark and have lines that end with a CR.
func TestTheOldTransportIsMended(t *testing.T) {
	const answer = "\ufeff{\"jsonrpc\":\"2.0\",\"id\":\"ID\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"caf\xe9 \\ud800\"}]}}"
	for _, end := range []string{"\n", "\r\n", "\r"} {
		set := open(t, oldServer(t, "\ufeff", end, answer))
		if got := call(t, set, "echo", `{}`); got != "caf\ufffd \ufffd" {
			t.Errorf("%q: %q", end, got)
		}
	}
}

// An answer that cannot be read is quoted at once over every transport, and
// what stands for a secret in the definition is not shown.
func TestWhatCannotBeReadIsQuoted(t *testing.T) {
	t.Setenv("BRIDGE_TEST_TOKEN", "s3cret-token")
	const answer = `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"token":"s3cret-token","mean":NaN}}`
	const want = "server \"toy\": its answer to echo cannot be read: it is not JSON: invalid character 'N' looking for beginning of value: " +
		"`{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[],\"token\":\"${BRIDGE_TEST_TOKEN}\",\"mean\":NaN}}`"
	stream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		json.NewDecoder(r.Body).Decode(&m)
		if m.Method != "tools/call" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: "+strings.ReplaceAll(answer, "ID", string(m.ID))+"\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done() // it stays open
	}))
	t.Cleanup(stream.Close)
	pipe := definition.Server{Name: "toy", Command: "sh", Args: []string{"-c", `read x; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; read x; read x
		echo '` + strings.ReplaceAll(answer, "ID", "2") + `'; read x; read x`}, Env: map[string]string{"TOKEN": "${BRIDGE_TEST_TOKEN}"}}
	for name, def := range map[string]definition.Server{"stdio": pipe, "http": {Name: "toy", URL: stream.URL}, "sse": oldServer(t, "", "\n", answer)} {
		if def.URL != "" {
			def.Headers = map[string]string{"X-Token": "${BRIDGE_TEST_TOKEN}"}
		}
		err := refuse(t, open(t, def), "echo", `{}`)
		if got := regexp.MustCompile(`"id":\d+`).ReplaceAllString(err.Error(), `"id":ID`); got != want || err.Kind != KindServer || !err.Sent {
			t.Errorf("%s: %+v\nwant %s", name, err, want)
		}
	}
}

// An answer to the start of a server that is not a message is quoted at once, too.
func TestAStartThatCannotBeReadIsQuoted(t *testing.T) {
	def := definition.Server{Name: "toy", Command: "sh", Args: []string{"-c", `read x; echo 'ready: {"jsonrpc":"2.0","id":1,"result":{}}'; read x`}}
	const want = "server \"toy\": its answer to initialize cannot be read: there is text before the message: `ready: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}`"
	if err := refuse(t, open(t, def), "echo", `{}`); !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error = %v, want %s", err, want)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// TestModernRequestsAreLabelled tells that what a request asks for is in its
// headers since 2026-07-28, where those between the bridge and the server can
// read it.
func TestModernRequestsAreLabelled(t *testing.T) {
	seen := make(chan http.Header, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "application/json")
		body := `"result":{}`
		switch m.Method {
		case "initialize":
			w.WriteHeader(http.StatusNotFound)
			body = `"error":{"code":-32601,"message":"no"}`
		case "tools/list":
			body = `"result":{"tools":[{"name":"zoom","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}`
		case "tools/call":
			seen <- r.Header
			body = `"result":{"content":[]}`
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, body)
	}))
	t.Cleanup(s.Close)
	set := open(t, definition.Server{Name: "toy", URL: s.URL})
	if _, err := set.Tools(t.Context(), "toy"); err != nil {
		t.Fatal(err)
	}
	if _, err := set.Call(t.Context(), "toy", "zoom", json.RawMessage(`{"region":"eu"}`)); err != nil {
		t.Fatal(err)
	}
	header := <-seen
	for name, want := range map[string]string{
		"Mcp-Method": "tools/call", "Mcp-Name": "zoom", "Mcp-Param-Region": "eu", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Session-Id": "",
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
