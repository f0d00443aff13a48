package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"bridge/definition"
)

func TestErrorsOfStartingSayWhy(t *testing.T) {
	notProgram := filepath.Join(t.TempDir(), "notes.txt")
	badFormat := filepath.Join(t.TempDir(), "bad")
	for path, mode := range map[string]os.FileMode{notProgram: 0o600, badFormat: 0o700} {
		if err := os.WriteFile(path, []byte{0, 1, 2}, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("BRIDGE_TEST_SET", "1")
	for _, test := range []struct {
		def  definition.Server
		want string
	}{
		{definition.Server{Command: "no-such-program"}, `starting server "toy": exec "no-such-program": not found in PATH`},
		{definition.Server{Command: "/no/such/program"}, `starting server "toy": exec "/no/such/program": no such file`},
		{
			definition.Server{Command: "python3 no-such.py --port 1"},
			`starting server "toy": exec "python3 no-such.py --port 1": not found in PATH; ` +
				`it holds arguments, which belong in args: command: "python3", args: ["no-such.py","--port","1"]`,
		},
		{
			definition.Server{Command: "/no/such/program x"},
			`starting server "toy": exec "/no/such/program x": no such file; it holds arguments, which belong in args: command: "/no/such/program", args: ["x"]`,
		},
		{definition.Server{Command: notProgram}, `starting server "toy": exec "` + notProgram + `": permission denied`},
		{definition.Server{Command: badFormat}, `starting server "toy": exec "` + badFormat + `": exec format error`},
		{definition.Server{Command: "sh", Cwd: "/no/such/folder"}, `starting server "toy": its cwd "/no/such/folder" is not a folder`},
		{
			definition.Server{Command: "sh", Env: map[string]string{"A": "${BRIDGE_TEST_UNSET}"}},
			`starting server "toy": ${BRIDGE_TEST_UNSET} is not set in the bridge's environment`,
		},
		{
			definition.Server{Command: "sh", Args: []string{"${BRIDGE_TEST_B}", "${BRIDGE_TEST_SET}"}, Cwd: "${BRIDGE_TEST_A}/x"},
			`starting server "toy": ${BRIDGE_TEST_A}, ${BRIDGE_TEST_B} are not set in the bridge's environment`,
		},
		{
			definition.Server{Command: "sh", Args: []string{"-c", "echo one >&2; echo two; exit 7"}},
			`server "toy": ended (exit status 7) while starting; the end of its stderr: one | two`,
		},
		{
			definition.Server{Command: "sh", Args: []string{"-c", "kill -9 $$"}},
			`server "toy": ended (signal: killed) while starting`,
		},
		{
			definition.Server{Command: "sh", Args: []string{"-c", "echo still thinking >&2; exec sleep 600"}, StartTimeout: time.Second},
			`server "toy": not started within 1s; the end of its stderr: still thinking`,
		},
		{
			definition.Server{Command: "sh", Args: []string{"-c", `read x; echo '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no licence"}}'
				read x; echo '{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no such method"}}'; read x`}},
			`server "toy": refused to start a session: no licence`,
		},
	} {
		test.def.Name = "toy"
		err := refuse(t, open(t, test.def), "echo", `{}`)
		// The order of two streams is nobody's promise.
		got := strings.Replace(err.Error(), "two | one", "one | two", 1)
		if got != test.want || err.Kind != KindServer || err.Sent {
			t.Errorf("error = %+v\nwant %s", err, test.want)
		}
	}
}

func TestAServerThatKeepsDyingIsLeftAloneForAWhile(t *testing.T) {
	set := open(t, toyDefinition(t, "-die-at-start"))
	died := `server "toy": ended (exit status 1) while starting; the end of its stderr: toy: dying at start, as asked`
	for range 2 {
		if err := refuse(t, set, "echo", `{}`); err.Error() != died {
			t.Errorf("error = %q, want %q", err, died)
		}
	}
	waits := regexp.MustCompile(`^server "toy": ended \(exit status 1\) while starting, 2 times in a row; next start in [0-9.]+m?s; the end of its stderr: toy: dying at start, as asked$`)
	if err := refuse(t, set, "echo", `{}`); !waits.MatchString(err.Error()) {
		t.Errorf("error = %q", err)
	}
}

func TestTheWaitGrowsToAMinute(t *testing.T) {
	var h history
	now := time.Now()
	var waits []string
	for range 9 {
		h.failed(&Error{}, now)
		waits = append(waits, max(h.next.Sub(now), 0).String())
	}
	if got, want := strings.Join(waits, " "), "0s 1s 2s 4s 8s 16s 32s 1m0s 1m0s"; got != want {
		t.Errorf("waits = %s, want %s", got, want)
	}
}

func TestAServerThatDiedIsStartedAgain(t *testing.T) {
	set := open(t, toyDefinition(t))
	before, err := set.Tools(t.Context(), "toy")
	if err != nil {
		t.Fatal(err)
	}
	failure := refuse(t, set, "crash", `{}`)
	want := `server "toy": ended (exit status 3) before it answered crash; the end of its stderr: toy: crashing, as asked`
	if failure.Error() != want || failure.Kind != KindServer || failure.Tool != "crash" || !failure.Sent {
		t.Errorf("error = %+v, want %s", failure, want)
	}
	if got := call(t, set, "echo", `{"text":"alive"}`); got != "alive" {
		t.Errorf("echo = %q", got)
	}
	after, err := set.Tools(t.Context(), "toy")
	if err != nil || names(after) != names(before) {
		t.Errorf("tools = %s, %v", names(after), err)
	}
}

func TestTheCatalogOutlivesTheServer(t *testing.T) {
	set := open(t, toyDefinition(t))
	if _, err := set.Tools(t.Context(), "toy"); err != nil {
		t.Fatal(err)
	}
	refuse(t, set, "crash", `{}`)
	srv := set.servers["toy"]
	waitFor(t, "the end of the server is known", func() bool {
		srv.mu.Lock()
		defer srv.mu.Unlock()
		return srv.conn == nil
	})
	if tools, err := set.Tools(t.Context(), "toy"); err != nil || names(tools) != toyTools {
		t.Errorf("tools = %s, %v", names(tools), err)
	}
	if srv.conn != nil {
		t.Error("started for a catalog that was known")
	}
}

func TestCallsEndAtTheirDeadline(t *testing.T) {
	def := toyDefinition(t)
	def.CallTimeout = 300 * time.Millisecond
	set := open(t, def)
	failure := refuse(t, set, "sleep", `{"seconds":600}`)
	if want := `server "toy": no answer to sleep within 300ms`; failure.Error() != want || failure.Kind != KindServer || !failure.Sent {
		t.Errorf("error = %+v, want %s", failure, want)
	}
	call(t, set, "echo", `{"text":"x"}`)
}

func TestAServerThatDoesNotReadHoldsNobodyUp(t *testing.T) {
	def := toyDefinition(t, "-ignore-stdin")
	def.CallTimeout = 300 * time.Millisecond
	set := open(t, def)
	if _, err := set.Tools(t.Context(), "toy"); err != nil {
		t.Fatal(err)
	}
	// More than a pipe holds, so that the first of them is stuck in it.
	long, err := json.Marshal(map[string]string{"text": strings.Repeat("x", 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			_, err := set.Call(t.Context(), "toy", "echo", long)
			if want := `server "toy": no answer to echo within 300ms`; err == nil || err.Error() != want {
				t.Errorf("error = %v, want %s", err, want)
			}
		})
	}
	callers.Wait()
	// What waits for the server is bounded: beyond, nothing is sent.
	conn := set.servers["toy"].conn
	conn.transport.(*pipe).in.Write(make([]byte, maxQueued-9<<20))
	conn.transport.(*pipe).in.Write(make([]byte, 1<<20))
	failure := refuse(t, set, "echo", string(long))
	if want := `server "toy": does not read its input; echo was not sent`; failure.Error() != want || failure.Sent {
		t.Errorf("error = %+v, want %s", failure, want)
	}
}

func TestAMessageWithoutEndIsCutOff(t *testing.T) {
	script := fmt.Sprintf(`read x; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; read x; read x
		printf '{'; head -c %d /dev/zero | tr '\000' x; read x`, maxLine+1<<20)
	set := open(t, definition.Server{Name: "toy", Command: "sh", Args: []string{"-c", script}})
	const want = `server "toy": sent a message of more than 20 MiB before it answered echo`
	if failure := refuse(t, set, "echo", `{}`); failure.Error() != want {
		t.Errorf("error = %v, want %s", failure, want)
	}
}

func TestLongAnswersArrive(t *testing.T) {
	set := open(t, toyDefinition(t))
	if got := call(t, set, "big", `{"bytes":3000000}`); len(got) != 3_000_000 {
		t.Errorf("big = %d bytes", len(got))
	}
}

func TestServersGetTheDeclaredEnvironmentAndASafeFew(t *testing.T) {
	t.Setenv("BRIDGE_TEST_SECRET", "hunter2hunter2")
	t.Setenv("LC_TIME", "C")
	t.Setenv("LANG", "() { echo; }")
	def := toyDefinition(t)
	def.Env["TOKEN"] = "x-${BRIDGE_TEST_SECRET}-${BRIDGE_TEST_UNSET:-none}"
	def.Env["PLAIN"] = "$HOME ${} $${x ~/x"
	set := open(t, def)
	for name, want := range map[string]string{
		"TOKEN":              "TOKEN=x-hunter2hunter2-none",
		"PLAIN":              "PLAIN=$HOME ${} $${x ~/x",
		"BRIDGE_TEST_SECRET": "BRIDGE_TEST_SECRET is not set",
		"GOFLAGS":            "GOFLAGS is not set",
		"LANG":               "LANG is not set",
		"LC_TIME":            "LC_TIME=C",
		"PATH":               "PATH=" + os.Getenv("PATH"),
		Marker:               Marker + "=1",
	} {
		if got := call(t, set, "env", `{"name":"`+name+`"}`); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestSecretsDoNotShowInLastWords(t *testing.T) {
	t.Setenv("BRIDGE_TEST_SECRET", "hunter2hunter2")
	set := open(t, definition.Server{
		Name: "toy", Command: "sh", Args: []string{"-c", `echo "bad token $TOKEN" >&2; exit 1`},
		Env: map[string]string{"TOKEN": "${BRIDGE_TEST_SECRET}"},
	})
	want := `server "toy": ended (exit status 1) while starting; the end of its stderr: bad token ${BRIDGE_TEST_SECRET}`
	if err := refuse(t, set, "echo", `{}`); err.Error() != want {
		t.Errorf("error = %q, want %q", err, want)
	}
}

// A server behind a proxy of the company reaches the network as the bridge
// does. It used to be cut off, as if there were none.
func TestServersGetTheProxies(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "https_proxy", "NO_PROXY", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"} {
		t.Setenv(name, "x-"+name)
	}
	set := open(t, toyDefinition(t))
	for _, name := range []string{"HTTP_PROXY", "https_proxy", "NO_PROXY", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"} {
		if got := call(t, set, "env", `{"name":"`+name+`"}`); got != name+"=x-"+name {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestPasswordsOfProxiesDoNotShowInLastWords(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://ann:hunter2hunter2@proxy.example:3128")
	t.Setenv("NO_PROXY", "localhost")
	set := open(t, definition.Server{
		Name: "toy", Command: "sh", Args: []string{"-c", `echo "$HTTPS_PROXY refused hunter2hunter2 for localhost" >&2; exit 1`},
	})
	want := `server "toy": ended (exit status 1) while starting; the end of its stderr: ${HTTPS_PROXY} refused … for localhost`
	if err := refuse(t, set, "echo", `{}`); err.Error() != want {
		t.Errorf("error = %q, want %q", err, want)
	}
}

func TestTheServersOwnPathFindsItsProgram(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	if err := os.MkdirAll(filepath.Join(home, "bin"), 0o777); err != nil {
		t.Fatal(err)
	}
	def := toyDefinition(t)
	if err := os.Symlink(def.Command, filepath.Join(home, "bin", "toy")); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"toy", "~/bin/toy", "${HOME}/bin/toy", "./bin/toy"} {
		def.Command, def.Cwd, def.Env["PATH"] = command, "~", "${HOME}/bin"
		def.Env["TOY_LOG"] = ""
		if got := call(t, open(t, def), "echo", `{"text":"x"}`); got != "x" {
			t.Errorf("%s: echo = %q", command, got)
		}
	}
	t.Chdir(home)
	def.Command, def.Cwd = "./toy", "bin"
	if got := call(t, open(t, def), "echo", `{"text":"x"}`); got != "x" {
		t.Errorf("in a relative folder: echo = %q", got)
	}
}

func TestAnUnknownServerIsAnError(t *testing.T) {
	set := open(t)
	_, err := set.Tools(t.Context(), "githb")
	if want := `unknown server "githb"`; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

func TestAClosedSetStartsNothing(t *testing.T) {
	set := open(t, toyDefinition(t))
	set.Close()
	set.Warm()
	_, err := set.Tools(t.Context(), "toy")
	var failure *Error
	if want := `server "toy": the bridge is closing`; !errors.As(err, &failure) || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

func TestAServerThatRefusesToListIsAnError(t *testing.T) {
	script := `read x; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; read x
		read x; echo '{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"not today"}}'
		read x; echo '{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no such method"}}'
		read x; echo '{"jsonrpc":"2.0","id":4,"result":{"tools":{"a":1}}}'; read x`
	def := definition.Server{Name: "toy", Command: "sh", Args: []string{"-c", script}}
	set := open(t, def)
	for i, want := range []string{`server "toy": refused tools/list: not today`, "", ""} {
		tools, err := set.Tools(t.Context(), "toy")
		if want == "" && (err != nil || len(tools) != 0) || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%d: %v, %v, want %q", i, tools, err, want)
		}
	}
}

// Each of these servers waits until all have been started.
func TestServersAreStartedAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	toy := toyDefinition(t)
	script := `touch "$1/$$"; until [ $(ls "$1" | wc -l) = 4 ]; do sleep 0.01; done; exec "$0"`
	var defs []definition.Server
	for _, name := range []string{"a", "b", "c", "d"} {
		def := toy
		def.Name, def.Command, def.Args = name, "sh", []string{"-c", script, toy.Command, dir}
		defs = append(defs, def)
	}
	set := open(t, defs...)
	set.Warm("a", "b", "c")
	for _, def := range defs {
		set.Warm(def.Name)
	}
	for _, def := range defs {
		if tools, err := set.Tools(t.Context(), def.Name); err != nil || names(tools) != toyTools {
			t.Errorf("%s: %s, %v", def.Name, names(tools), err)
		}
	}
}

func TestAStartGoesOnWhenACallerLeaves(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	toy := toyDefinition(t)
	def := toy
	def.Command, def.Args = "sh", []string{"-c", `until [ -e "$1" ]; do sleep 0.01; done; exec "$0"`, toy.Command, gate}
	set := open(t, def)
	ctx, cancel := context.WithCancelCause(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := set.Call(ctx, "toy", "echo", json.RawMessage(`{"text":"x"}`))
		left <- err
	}()
	cancel(errors.New("the run has ended"))
	err := <-left
	if want := `server "toy": given up while it was starting: the run has ended`; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	if err := os.WriteFile(gate, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := call(t, set, "echo", `{"text":"x"}`); got != "x" {
		t.Errorf("echo = %q", got)
	}
}
