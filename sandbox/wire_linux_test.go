package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bridge/sandbox"
)

// rogue is the plain engine with another program in place of the guest: a real
// process that says on the wire what it likes. The program may use send, which
// writes text as it is, and line, which reads one line.
type rogue struct{ program string }

const roguePrelude = `
import os, sys, json, time
def send(s): os.write(1, s.encode() if isinstance(s, str) else s)
def line():
    b = b""
    while not b.endswith(b"\n"):
        c = os.read(0, 1)
        if not c: os._exit(0)
        b += c
    return json.loads(b)
boot = line()
def ready(): send('{"jsonrpc":"2.0","method":"ready","params":{"python":"3.11.0","implementation":"x"}}\n')
def output(run, text="x", stream="stdout", skipped=0):
    send(json.dumps({"jsonrpc":"2.0","method":"output","params":{"run":run,"stream":stream,"text":text,"skipped":skipped}}) + "\n")
def answer(id, **result): send(json.dumps({"jsonrpc":"2.0","id":id,"result":result}) + "\n")
def ask(id, run, method="call", **params):
    send(json.dumps({"jsonrpc":"2.0","id":id,"method":method,"params":{"run":run,**params}}) + "\n")
`

func (rogue) Name() string                              { return "rogue" }
func (rogue) Ready(context.Context, sandbox.Spec) error { return nil }
func (r rogue) Start(ctx context.Context, spec sandbox.Spec, _ []string, progress io.Writer) (sandbox.Sandbox, error) {
	return plain{python3()}.Start(ctx, spec, []string{"-I", "-c", roguePrelude + r.program}, progress)
}

// python3 is the real interpreter behind what PATH has.
var python3 = sync.OnceValue(func() string {
	out, err := exec.Command("python3", "-I", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return "python3"
	}
	return strings.TrimSpace(string(out))
})

// A frame that the wire does not allow ends its own session with the reason,
// and no other.
func TestWireHostile(t *testing.T) {
	begin := "ready()\nr = line()\nn = r['params']['run']\n"
	wait := "\ntime.sleep(60)"
	for name, c := range map[string]struct{ program, reason string }{
		"not JSON":             {"send('hello\\n')", "~.*malformed frame.*"},
		"two values":           {"send('{\"jsonrpc\":\"2.0\",\"method\":\"output\"}{}\\n')", "~.*more than one value"},
		"array":                {"send('[1]\\n')", "~.*malformed frame.*"},
		"null":                 {"send('null\\n')", "~.*version \"\", not 2.0"},
		"empty line":           {"send('\\n')", "~.*malformed frame.*"},
		"not ASCII":            {"send(b'{\"a\":\"\\xff\"}\\n')", "~.*byte 0xff in a frame"},
		"unknown member":       {"send('{\"jsonrpc\":\"2.0\",\"method\":\"ready\",\"x\":1}\\n')", "~.*unknown field.*"},
		"no version":           {"send('{\"method\":\"ready\",\"params\":{}}\\n')", "~.*version.*"},
		"deep":                 {"send('['*100000 + '\\n')", "~.*malformed frame.*"},
		"too long":             {"for _ in range(20): send('x' * (1 << 20))", "~.*more than 16777216 bytes"},
		"unknown notice":       {"send('{\"jsonrpc\":\"2.0\",\"method\":\"grow\"}\\n')", "~.*unknown notification \"grow\""},
		"ready again":          {"ready()", "~.*ready, a second time"},
		"answer to no request": {"answer(99, status='success')", "~.*an answer to request 99, which is not open"},
		"answer twice":         {"answer(n, status='success'); answer(n, status='success')", "~.*an answer to request 1, which is not open"},
		"unknown status":       {"answer(n, status='great')", "~.*unknown status \"great\""},
		"lost is not said":     {"answer(n, status='lost')", "~.*unknown status \"lost\""},
		"error without error":  {"answer(n, status='error')", "~.*status \"error\" without its error"},
		"unknown result":       {"answer(n, status='success', extra=1)", "~.*unknown field.*"},
		"wrong type":           {"answer(n, status='success', value=3)", "~.*cannot unmarshal.*"},
		"other run's output":   {"output(n + 1)", "~.*output for run 2, stream \"stdout\" in run 1"},
		"other stream":         {"output(n, stream='x')", "~.*output for run 1, stream \"x\" in run 1"},
		"too much left out":    {"output(n, skipped=1 << 62)", "~.*more than a run can write"},
		"and again":            {"for _ in range(2): output(n, skipped=(1 << 50) - 9)", "~.*more than a run can write"},
		"exit with 0":          {"answer(n, status='exit', exitCode=0)", "~.*status \"exit\" with another exit code.*"},
		"exit with none":       {"answer(n, status='exit')", "~.*status \"exit\" with another exit code.*"},
		"success with 3":       {"answer(n, status='success', exitCode=3)", "~.*status \"success\" with another exit code.*"},
		"error with 3":         {"answer(n, status='error', exitCode=3, error={'type': 'E', 'message': '', 'traceback': ''})", "~.*status \"error\" with another exit code.*"},
		"negative":             {"output(n, skipped=-5)", "~.*output for run 1.*"},
		"other run's request":  {"ask(1, n + 1)", "~.*a request for run 2 in run 1"},
		"request without run":  {"send('{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"call\",\"params\":[]}\\n')", "~.*without the number of its run"},
		"request twice":        {"ask(1, n, server='toy', tool='sleep', arguments={'ms': 60000})\nask(1, n)", "~.*request 1, a second time"},
		"request of text id":   {"send('{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"call\"}\\n')", "~.*malformed frame.*"},
		"too many requests":    {"for i in range(300): ask(i, n, server='toy', tool='sleep', arguments={'ms': 60000})", "~.*more than 256 requests at once"},
		"too many bytes":       {"for i in range(12): ask(i, n, server='toy', tool='sleep', arguments={'ms': 60000, 'x': 'y' * (6 << 20)})", "~.*requests of more than 16777216 bytes at once"},
		"an end made up":       {"send('{\"jsonrpc\":\"2.0\",\"method\":\"exited\",\"params\":{\"code\":0}}\\n'); output(n)", "~.*a frame after the end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := open(t, engine{make: plain{python3()}}, newToy().serve)
			s := open(t, engine{make: rogue{begin + c.program + wait}}, newToy().serve)
			if c.program == "answer(n, status='success'); answer(n, status='success')" {
				if r := run(t, s, step{}); r.Status != sandbox.Succeeded {
					t.Errorf("status %q", r.Status)
				}
				<-s.Done()
				match(t, "loss", s.Loss().Reason, c.reason)
			} else {
				r := run(t, s, step{})
				if r.Status != sandbox.Lost || r.Lost == nil {
					t.Fatalf("status %q", r.Status)
				}
				match(t, "loss", r.Lost.Reason, c.reason)
			}
			if _, err := s.Run(context.Background(), sandbox.Run{Code: "1"}); err == nil || !strings.Contains(err.Error(), "the session is gone: killed: the session sent what it must not") {
				t.Errorf("a run after the end: %v", err)
			}
			step{code: "1", value: "1"}.check(t, run(t, other, step{code: "1"}))
		})
	}
}

// Requests outside a run are refused, with an answer.
func TestWireOutside(t *testing.T) {
	toy := newToy()
	s := open(t, engine{make: rogue{"ready()\nr = line()\nanswer(1, status='success')\nask(7, 1, server='toy', tool='echo', arguments={})\ng = line()\nr = line()\noutput(2, json.dumps(g))\nanswer(2, status='success')\nline()"}}, toy.serve)
	run(t, s, step{})
	time.Sleep(100 * time.Millisecond)
	r := run(t, s, step{})
	match(t, "answer", r.Stdout.Text, `{"jsonrpc": "2.0", "id": 7, "error": {"code": -32000, "message": "no run is going on", "data": {"kind": "invalid"}}}`)
	if len(toy.calls) != 0 {
		t.Errorf("calls: %v", toy.calls)
	}
}

// Files whose names would be more than a name where they are shown are not told.
func TestWireFiles(t *testing.T) {
	names := `['a b\u00e9', 'new\nline', 'esc\x1b[2J', 'bidi\u202eback', 'sep\u2028x', 'c1\x9bm', '\ud800', '../up', '/abs', 'deep/ok']`
	s := open(t, engine{make: rogue{"ready()\nline()\nanswer(1, status='success', files=[{'path': p, 'size': 1} for p in " + names + "])\nline()"}}, newToy().serve)
	r := run(t, s, step{})
	if len(r.Files) != 2 || r.Files[0].Path != "a b\u00e9" || r.Files[1].Path != "deep/ok" {
		t.Errorf("files: %+q", fmt.Sprint(r.Files))
	}
}

// A guest that does not read cannot hold up the host: the run ends in time.
func TestWireDeaf(t *testing.T) {
	s := open(t, engine{make: rogue{"ready()\nline()\nfor i in range(200): ask(i, 1, server='toy', tool='big', arguments={'size': 1 << 20})\ntime.sleep(60)"}}, newToy().serve)
	r := run(t, s, step{timeout: 200 * time.Millisecond})
	match(t, "loss", r.Lost.Error(), "killed: not ended 2s after it was interrupted")
	done := make(chan struct{})
	go func() { s.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the session does not close")
	}
}

// The host bounds what it keeps, whatever the guest sends.
func TestWireFlood(t *testing.T) {
	s := open(t, engine{make: rogue{"ready()\nline()\nfor i in range(16): output(1, 'é' * (1 << 19))\nanswer(1, status='success', value='y' * (1 << 23))\nline()"}}, newToy().serve)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := run(t, s, step{output: 1000})
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := len(r.Stdout.Text); n > 2000 || n < 1990 || r.Stdout.Skipped != 16<<20-int64(n) || r.Stdout.Gap != 1000 {
		t.Errorf("kept %d bytes, skipped %d, gap at %d", n, r.Stdout.Skipped, r.Stdout.Gap)
	}
	if len(*r.Value) > 5000 {
		t.Errorf("a value of %d bytes", len(*r.Value))
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}

// A Python that does not start says why.
func TestStartFails(t *testing.T) {
	for name, c := range map[string]struct {
		engine sandbox.Engine
		want   string
	}{
		"dies":     {rogue{"os.write(2, b'no such module\\n'); os._exit(3)"}, "~starting the session's Python: the session is gone: the session's Python exited with code 3: no such module"},
		"silent":   {rogue{"time.sleep(60)"}, "~starting the session's Python: context deadline exceeded"},
		"babbles":  {rogue{"send('Hello\\n'); time.sleep(60)"}, "~starting the session's Python: the session is gone: killed: the session sent what it must not: malformed frame.*"},
		"no file":  {plain{"/nowhere/python3"}, "~.*no such file or directory"},
		"no guest": {plain{"/bin/false"}, "~starting the session's Python: the session is gone: the session's Python exited with code 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := time.Minute
			if name == "silent" {
				limit = time.Second
			}
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			s, err := sandbox.Open(ctx, c.engine, sandbox.Spec{}, nil, io.Discard)
			if err == nil {
				s.Close()
				t.Fatal("it has started")
			}
			match(t, "error", err.Error(), c.want)
		})
	}
}

// An answer that Python cannot read is an error of its request, and costs the
// session nothing; requests that are too many bytes at once wait.
func TestAnswers(t *testing.T) {
	toy := newToy()
	s := open(t, engine{make: plain{python3()}}, func(ctx context.Context, method string, params json.RawMessage) (any, error) {
		if method == "call" && strings.Contains(string(params), `"nested"`) {
			return json.RawMessage(strings.Repeat("[", 9000) + strings.Repeat("]", 9000)), nil
		}
		return toy.serve(ctx, method, params)
	})
	for _, code := range []string{
		"try: await runtime.call_tool('toy', 'nested', {})\nexcept mcp.ServerError as e: print(str(e)[:41])",
		"import asyncio\nr = await asyncio.gather(*(mcp_toy.echo('x' * (6 << 20)) for _ in range(12)))\nprint(sum(map(len, r)) >> 20)",
	} {
		r := run(t, s, step{code: code})
		t.Log(r.Stdout.Text)
		if r.Status != sandbox.Succeeded {
			t.Errorf("%s: %q %+v", code, r.Status, r.Error)
		}
	}
}

// The answer to what code asks for when it has been stopped comes at once, and
// a run is over only when nothing of it is served any more.
func TestStopped(t *testing.T) {
	toy := newToy()
	var serving atomic.Int64
	s := open(t, engine{make: plain{python3()}}, func(ctx context.Context, method string, params json.RawMessage) (any, error) {
		serving.Add(1)
		defer serving.Add(-1)
		if ctx.Err() != nil {
			return nil, errors.New("too late")
		}
		return toy.serve(ctx, method, params)
	})
	r := run(t, s, step{timeout: 500 * time.Millisecond, code: "try: await mcp_toy.sleep(ms=60000)\nfinally:\n    try: await mcp_toy.call_tool('echo', {'text': 'x'})\n    except mcp.MCPError as e: print(e)"})
	if r.Status != sandbox.Interrupted || r.Stdout.Text != "too late\n" {
		t.Errorf("%q: %q, %+v", r.Status, r.Stdout.Text, r.Lost)
	}
	if n := serving.Load(); n != 0 {
		t.Errorf("%d requests are still served", n)
	}
}

// An interrupt is heard whenever it comes. A signal that came just before code
// began to wait in the kernel did not wake it: one run in twenty that was
// cancelled at its very beginning was killed, and lost its session.
func TestInterruptEarly(t *testing.T) {
	s := open(t, engine{make: plain{python3()}}, nil)
	for n := range 80 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(n)*50*time.Microsecond)
		r, err := s.Run(ctx, sandbox.Run{Code: "import time\ntime.sleep(60)"})
		cancel()
		if err == nil && r.Status != sandbox.Interrupted {
			t.Fatalf("after %d µs: %q, %+v", n*50, r.Status, r.Lost)
		}
	}
}

// Cancelling is told from a timeout, and a second run waits for its turn.
func TestRunContext(t *testing.T) {
	s := open(t, engine{make: plain{python3()}}, newToy().serve)
	stop := errors.New("the client has cancelled")
	ctx, cancel := context.WithCancelCause(context.Background())
	started := make(chan struct{})
	var second sync.WaitGroup
	second.Add(1)
	go func() {
		defer second.Done()
		<-started
		short, end := context.WithTimeout(context.Background(), time.Millisecond)
		defer end()
		if _, err := s.Run(short, sandbox.Run{Code: "ran = 1"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a run whose turn does not come: %v", err)
		}
		later := time.AfterFunc(10*time.Millisecond, func() { cancel(stop) })
		defer later.Stop()
		r, err := s.Run(context.Background(), sandbox.Run{Code: "'ran' in globals(), x"})
		if err != nil || r.Value == nil || *r.Value != "(False, 1)" {
			t.Errorf("the run after: %+v, %v", r, err)
		}
	}()
	var once sync.Once
	r, err := s.Run(ctx, sandbox.Run{Code: "import time\nx = 1\nprint(1)\ntime.sleep(60)", Stream: func(stream, text string, skipped int64) {
		once.Do(func() { close(started) })
	}})
	if err != nil || r.Status != sandbox.Interrupted || r.Stopped != stop {
		t.Errorf("%+v, %v", r, err)
	}
	second.Wait()
	if _, err := s.Run(ctx, sandbox.Run{Code: "1"}); err != stop {
		t.Errorf("a run with a context that has ended: %v", err)
	}
}

// Closing ends a run that goes on, and the handlers it has started.
func TestClose(t *testing.T) {
	s := open(t, engine{make: plain{python3()}}, newToy().serve)
	started := make(chan struct{})
	go func() {
		<-started
		s.Close()
		s.Close()
	}()
	r, err := s.Run(context.Background(), sandbox.Run{Code: "print(1)\nawait mcp_toy.sleep(ms=600000)", Servers: toyServers,
		Stream: func(string, string, int64) { close(started) }})
	if err != nil || r.Lost == nil || r.Lost.Error() != "the session was closed" {
		t.Errorf("%+v, %v", r, err)
	}
	<-s.Done()
	_, err = s.Run(context.Background(), sandbox.Run{Code: "1"})
	var loss *sandbox.Loss
	if !errors.As(err, &loss) || !loss.Closed {
		t.Errorf("a run after the end: %v", err)
	}
}

// keeping is the plain engine, and keeps the sandbox it has made.
type keeping struct {
	plain
	box sandbox.Sandbox
}

func (k *keeping) Start(ctx context.Context, spec sandbox.Spec, args []string, progress io.Writer) (sandbox.Sandbox, error) {
	box, err := k.plain.Start(ctx, spec, args, progress)
	k.box = box
	return box, err
}

// The sandbox ends by itself when the host is gone, whatever its code does.
func TestHostGone(t *testing.T) {
	for name, code := range map[string]string{
		"idle":  "",
		"busy":  "print(1)\nwhile True: pass",
		"in C":  "print(1)\nsum(range(10**12))",
		"child": "import os\nif os.fork() == 0: print(1)\nos.closerange(3, 2000)\nsum(range(10**12))",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &keeping{plain: plain{python3()}}
			s := open(t, engine{make: k}, nil)
			ended := make(chan struct{})
			close(ended)
			if code != "" {
				started := make(chan struct{})
				ended = make(chan struct{})
				go func() {
					defer close(ended)
					_, _ = s.Run(context.Background(), sandbox.Run{Code: code, Stream: func(string, string, int64) { close(started) }})
				}()
				<-started
			}
			_ = k.box.Stdin().Close()
			select {
			case <-s.Done():
			case <-time.After(time.Minute):
				t.Error("it does not end")
			}
			s.Close()
			<-ended
		})
	}
}

// What the guest streams is in order and is what the result has.
func TestStream(t *testing.T) {
	for _, e := range subjects(t) {
		s := open(t, e, newToy().serve)
		var live strings.Builder
		r, err := s.Run(context.Background(), sandbox.Run{Code: "import time\nfor i in range(50):\n    print(i)\n    time.sleep(0.001)", Stream: func(stream, text string, _ int64) {
			live.WriteString(stream[:0] + text)
		}})
		if err != nil || live.String() != r.Stdout.Text || strings.Count(live.String(), "\n") != 50 {
			t.Errorf("%s: %v\n%s\n%s", e.name, err, live.String(), r.Stdout.Text)
		}
	}
}
