package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bridge/definition"
	"bridge/harness/toy"
)

// The test binary is also the servers and the bridges of the tests, by the
// name under which it is started.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "toy":
		os.Exit(toy.Main())
	case "holder":
		os.Exit(hold())
	}
	os.Exit(m.Run())
}

// command is a path under which the test binary is what the name says.
func binary(t testing.TB, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// toyDefinition is a toy that works in a folder of its own.
func toyDefinition(t testing.TB, args ...string) definition.Server {
	t.Helper()
	return definition.Server{
		Name: "toy", Command: binary(t, "toy"), Args: args, Cwd: t.TempDir(),
		// A program with the race detector in it waits for a second at its exit.
		Env: map[string]string{"GORACE": "atexit_sleep_ms=0"},
	}
}

// open makes a set that is closed at the end of the test.
func open(t testing.TB, defs ...definition.Server) *Set {
	t.Helper()
	set := New(defs, slog.New(slog.DiscardHandler))
	t.Cleanup(set.Close)
	return set
}

// call calls a tool of the toy that must answer, and gives the text of it.
func call(t testing.TB, set *Set, tool, args string) string {
	t.Helper()
	raw, err := set.Call(t.Context(), "toy", tool, json.RawMessage(args))
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return textOf(t, raw)
}

func textOf(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal(raw, &result); err != nil || len(result.Content) == 0 {
		t.Fatalf("no text in %.200s (%v)", raw, err)
	}
	return result.Content[0].Text
}

// refuse calls a tool of the toy that must not answer, and gives the error.
func refuse(t testing.TB, set *Set, tool, args string) *Error {
	t.Helper()
	raw, err := set.Call(t.Context(), "toy", tool, json.RawMessage(args))
	var failure *Error
	if !errors.As(err, &failure) {
		t.Fatalf("%s: got %.200s, %v; want an *Error", tool, raw, err)
	}
	return failure
}

func names(tools []definition.Tool) string {
	var list []string
	for _, tool := range tools {
		list = append(list, tool.Name)
	}
	return strings.Join(list, " ")
}

const toyTools = "add big crash delete echo env fail get_item image list_items sleep structured"

func TestServersAreStartedAtFirstUse(t *testing.T) {
	def := toyDefinition(t)
	set := open(t, def)
	if set.servers["toy"].conn != nil {
		t.Fatal("started before it was used")
	}
	if got := call(t, set, "echo", `{"text":"hello"}`); got != "hello" {
		t.Errorf("echo = %q", got)
	}
	first := set.servers["toy"].conn
	if got := call(t, set, "add", `{"a":1,"b":2}`); got != "3" {
		t.Errorf("add = %q", got)
	}
	if set.servers["toy"].conn != first {
		t.Error("started twice")
	}
	log, err := os.ReadFile(filepath.Join(def.Cwd, "toy.log"))
	if string(log) != "echo\nadd\n" {
		t.Errorf("log = %q, %v", log, err)
	}
}

func TestManyCallersStartOneServer(t *testing.T) {
	def := toyDefinition(t, "-start-delay", "100ms")
	set := open(t, def)
	set.Warm()
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			if got := call(t, set, "echo", `{"text":"x"}`); got != "x" {
				t.Errorf("echo = %q", got)
			}
		})
	}
	callers.Wait()
}

func TestResultsArePassedOnByteForByte(t *testing.T) {
	set := open(t, toyDefinition(t, "-raw"))
	for _, result := range []string{
		`{"content":[{"type":"hologram","x":9007199254740993}],"_meta":{"k":[1e400]}}`,
		`{"structuredContent":{"n":123456789012345678901234567890}}`,
		`{"content":[],"isError":true}`,
		`{}`,
	} {
		got, err := set.Call(t.Context(), "toy", "raw", json.RawMessage(`{"result":`+result+`}`))
		if err != nil || string(got) != result {
			t.Errorf("got %s, %v; want %s", got, err, result)
		}
	}
	got, err := set.Call(t.Context(), "toy", "structured", nil)
	if err != nil || !strings.Contains(string(got), `"big":`+toy.BigInt) {
		t.Errorf("structured = %s, %v", got, err)
	}
}

func TestCatalogsComeWhole(t *testing.T) {
	for _, args := range [][]string{{}, {"-pages"}, {"-modern"}, {"-modern", "-pages"}, {"-chatter"}} {
		set := open(t, toyDefinition(t, args...))
		tools, err := set.Tools(t.Context(), "toy")
		if err != nil || names(tools) != toyTools {
			t.Errorf("%v: tools = %s, %v", args, names(tools), err)
		}
	}
}

func TestAnOddToolCostsTheOthersNothing(t *testing.T) {
	set := open(t, toyDefinition(t, "-odd-tool"))
	tools, err := set.Tools(t.Context(), "toy")
	if err != nil || len(tools) != 13 {
		t.Fatalf("tools = %s, %v", names(tools), err)
	}
	for _, tool := range tools {
		if tool.Name == "odd" {
			want := `{"type":["object","null"],"properties":{"text":true},"x-odd":` + toy.BigInt + `}`
			if string(tool.InputSchema) != want {
				t.Errorf("odd = %s, want %s", tool.InputSchema, want)
			}
		}
	}
}

func TestAChangedCatalogIsReadAgain(t *testing.T) {
	for _, args := range [][]string{{"-change"}, {"-change", "-modern"}} {
		set := open(t, toyDefinition(t, args...))
		before, err := set.Tools(t.Context(), "toy")
		if err != nil {
			t.Fatal(err)
		}
		call(t, set, "grow", `{}`)
		after, err := set.Tools(t.Context(), "toy")
		if err != nil || len(after) != len(before)+1 || !strings.Contains(names(after), " late ") {
			t.Errorf("%v: tools = %s, %v", args, names(after), err)
		}
	}
}

func TestRefusalsOfTheServerAreTheTools(t *testing.T) {
	set := open(t, toyDefinition(t, "-raw"))
	err := refuse(t, set, "refuse", `{"code":-32602,"message":"no such colour","data":{"seen":"mauve"}}`)
	if err.Kind != KindTool || err.Code != -32602 || string(err.Data) != `{"seen":"mauve"}` || !err.Sent {
		t.Errorf("error = %+v", err)
	}
	if want := "toy.refuse: no such colour"; err.Error() != want {
		t.Errorf("error = %q, want %q", err, want)
	}
	err = refuse(t, set, "echo", `[1]`)
	if want := "toy.echo: arguments must be a JSON object"; err.Error() != want || err.Kind != KindTool || err.Sent {
		t.Errorf("error = %+v, want %q", err, want)
	}
	if got := call(t, set, "fail", `{"message":"bad luck"}`); got != "bad luck" {
		t.Errorf("fail = %q", got)
	}
}

func TestServersMayAskForAPingOnly(t *testing.T) {
	set := open(t, toyDefinition(t, "-raw"))
	if got := call(t, set, "ask", `{"method":"ping"}`); !strings.Contains(got, `"result":{}`) {
		t.Errorf("ping = %s", got)
	}
	for _, method := range []string{"roots/list", "sampling/createMessage", "elicitation/create"} {
		if got := call(t, set, "ask", `{"method":"`+method+`"}`); !strings.Contains(got, "-32601") {
			t.Errorf("%s = %s", method, got)
		}
	}
}

func TestCallsRunAtTheSameTime(t *testing.T) {
	set := open(t, toyDefinition(t))
	ctx, cancel := context.WithCancel(t.Context())
	long := make(chan error, 1)
	go func() {
		_, err := set.Call(ctx, "toy", "sleep", json.RawMessage(`{"seconds":600}`))
		long <- err
	}()
	for range 20 {
		call(t, set, "echo", `{"text":"x"}`)
	}
	cancel()
	var failure *Error
	if err := <-long; !errors.As(err, &failure) || failure.Kind != KindCancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
}

func TestACancelledCallIsCancelledAtTheServer(t *testing.T) {
	def := toyDefinition(t)
	file := filepath.Join(def.Cwd, "cancelled")
	def.Env["TOY_CANCELLED"] = file
	set := open(t, def)
	call(t, set, "echo", `{"text":"x"}`)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := set.Call(ctx, "toy", "sleep", json.RawMessage(`{"seconds":600}`))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v", err)
	}
	waitFor(t, "the server hears of it", func() bool {
		text, _ := os.ReadFile(file)
		return string(text) == "sleep\n"
	})
}

// waitFor waits until something that the test cannot be told of has happened.
func waitFor(t testing.TB, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !happened(); {
		if time.Now().After(deadline) {
			t.Fatalf("waiting in vain until %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Warm starts servers and reads their catalogs in the background, all at
// once; without names, every server. Errors are logged, and returned again when
// the server is used.
func (s *Set) Warm(names ...string) {
	if len(names) == 0 {
		names = s.names()
	}
	for _, name := range names {
		if !s.begin() {
			return
		}
		go func() {
			defer s.work.Done()
			if _, err := s.Tools(s.life, name); err != nil && s.life.Err() == nil {
				s.log.Warn("not warm", "server", name, "err", err)
			}
		}()
	}
}
