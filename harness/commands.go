package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func agentOf(ts *testscript.TestScript) *Agent {
	return ts.Value(agentKey{}).(*Agent)
}

// cmdMCP plays an agent:
//
//	mcp connect [-modern] [-elicit accept|always|decline|cancel|never[,DELAY]] [COMMAND…]
//	                                 start a server, the bridge if none is named, and greet it; with -elicit the agent can put
//	                                 questions to a person, who answers so; they are kept in asked.txt
//	mcp listen                       have the server tell of a changed tool, where it has to be asked to
//	mcp notes                        what the server has said unasked to stdout, a message a line
//	mcp METHOD [PARAMS]              one request; its result to stdout, an error to stderr
//	mcp cancel                       cancel the run that run_python -bg has begun
//	mcp wait                         wait for that run's result
//	mcp unanswered                   that run has not been answered
//	mcp pid                          the server's process id to stdout
//	mcp peak MIB                     the server has never needed more memory than this, in MiB; what it has needed to stdout
//	mcp signal TERM|INT|KILL         end the server, and see that nothing of it is left
//	mcp vanish                       be gone, as a client that crashes; nothing of the server must be left
//	mcp close                        close the server's stdin; it must end with status 0
func cmdMCP(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		usage(ts, "mcp connect [-modern] [-elicit ANSWER] [COMMAND…] | METHOD [PARAMS] | cancel | wait | unanswered | pid | peak MIB | signal NAME | vanish | close")
	}
	a := agentOf(ts)
	switch args[0] {
	case "connect":
		outcome(ts, neg, mcpConnect(ts, a, args[1:]), nil)
	case "close":
		outcome(ts, neg, a.close(), nil)
	case "signal":
		signals := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL}
		if len(args) != 2 || signals[args[1]] == 0 {
			usage(ts, "mcp signal TERM|INT|KILL")
		}
		outcome(ts, neg, a.signal(signals[args[1]]), nil)
	case "vanish":
		outcome(ts, neg, a.vanish(), nil)
	case "listen":
		_, _, err := a.begin("subscriptions/listen", map[string]any{"notifications": map[string]bool{"toolsListChanged": true}})
		outcome(ts, neg, err, nil)
	case "notes":
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, n := range a.notes {
			ts.Stdout().Write(n)
		}
	case "pid":
		fmt.Fprintln(ts.Stdout(), a.cmd.Process.Pid)
	case "peak":
		if len(args) != 2 {
			usage(ts, "mcp peak MIB")
		}
		most, err := strconv.Atoi(args[1])
		ts.Check(err)
		peak, err := PeakMemory(a.cmd.Process.Pid)
		ts.Check(err)
		fmt.Fprintln(ts.Stdout(), peak>>20)
		if peak > int64(most)<<20 {
			ts.Fatalf("the server has had %d MiB", peak>>20)
		}
	case "cancel":
		outcome(ts, neg, a.send(map[string]any{
			"jsonrpc": "2.0", "method": "notifications/cancelled",
			"params": map[string]any{"requestId": a.background},
		}), nil)
	case "unanswered":
		if len(a.pending) > 0 {
			ts.Fatalf("the run was answered")
		}
	case "wait":
		ts.Check(a.awaitBackground(ts, neg))
	default:
		params := map[string]any{}
		if len(args) > 1 {
			ts.Check(json.Unmarshal([]byte(args[1]), &params))
		}
		result, err := a.Call(args[0], params)
		outcome(ts, neg, err, result)
	}
}

func mcpConnect(ts *testscript.TestScript, a *Agent, args []string) error {
	modern := len(args) > 0 && args[0] == "-modern"
	if modern {
		args = args[1:]
	}
	elicit := ""
	if len(args) > 1 && args[0] == "-elicit" {
		elicit, args = args[1], args[2:]
	}
	if len(args) == 0 {
		args = []string{"bridge"}
	}
	path, err := lookPath(args[0], ts.Getenv("PATH"))
	if err != nil {
		return err
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environ(ts)
	return a.connect(cmd, modern, elicit)
}

func lookPath(name, path string) (string, error) {
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	for _, dir := range strings.Split(path, ":") {
		if st, err := os.Stat(dir + "/" + name); err == nil && st.Mode()&0o111 != 0 && !st.IsDir() {
			return dir + "/" + name, nil
		}
	}
	return "", fmt.Errorf("%s: not found in PATH", name)
}

// outcome prints a result or an error, and fails the scenario if it was not
// the expected one of them.
func outcome(ts *testscript.TestScript, neg bool, err error, result json.RawMessage) {
	if err != nil {
		fmt.Fprintln(ts.Stderr(), err)
		if !neg {
			ts.Fatalf("%v", err)
		}
		return
	}
	if result != nil {
		var b bytes.Buffer
		ts.Check(json.Indent(&b, result, "", "  "))
		fmt.Fprintln(ts.Stdout(), b.String())
	}
	if neg {
		ts.Fatalf("no error")
	}
}

// cmdRunPython calls run_python with the code in a file:
//
//	run_python [-bg] [-progress] [-timeout SECONDS] [-servers A,B] FILE
//
// The text of the result goes to stdout, or to stderr if it is an error, which
// wants "!"; the structured content, if there is some, goes to the file
// result.json. With -bg it does not wait for the answer: see mcp cancel and mcp wait. With -progress the
// agent wants to be notified: see mcp notes.
func cmdRunPython(ts *testscript.TestScript, neg bool, args []string) {
	const how = "run_python [-bg] [-progress] [-timeout SECONDS] [-servers A,B] FILE"
	params, background := map[string]any{}, false
	call := map[string]any{"name": "run_python", "arguments": params}
	for len(args) > 1 {
		switch {
		case args[0] == "-progress":
			call["_meta"] = map[string]any{"progressToken": "progress"}
			args = args[1:]
			continue
		case args[0] == "-bg":
			background = true
			args = args[1:]
			continue
		case args[0] == "-timeout" && len(args) > 2:
			n, err := strconv.ParseFloat(args[1], 64)
			ts.Check(err)
			params["timeout"] = n
		case args[0] == "-servers" && len(args) > 2:
			params["servers"] = strings.Split(args[1], ",")
		default:
			usage(ts, how)
		}
		args = args[2:]
	}
	if len(args) != 1 {
		usage(ts, how)
	}
	params["code"] = ts.ReadFile(args[0])
	a := connected(ts)
	id, c, err := a.begin("tools/call", call)
	ts.Check(err)
	if background {
		a.background, a.pending, a.begun = id, c, call
		return
	}
	raw, err := a.finish(c, call)
	ts.Check(err)
	show(ts, neg, raw)
}

// awaitBackground waits for the run that was begun with -bg. Negated, the
// result must be an error, or not come at all.
func (a *Agent) awaitBackground(ts *testscript.TestScript, neg bool) error {
	raw, err := a.finish(a.pending, a.begun)
	if err != nil {
		return err
	}
	show(ts, neg, raw)
	return nil
}

func show(ts *testscript.TestScript, neg bool, raw json.RawMessage) {
	var r struct {
		Content []struct {
			Type, Text string
		}
		StructuredContent json.RawMessage
		IsError           bool
	}
	ts.Check(json.Unmarshal(raw, &r))
	file := ts.MkAbs("result.json")
	os.Remove(file) // that of another run
	if r.StructuredContent != nil {
		var b bytes.Buffer
		ts.Check(json.Indent(&b, r.StructuredContent, "", "  "))
		b.WriteByte('\n')
		ts.Check(os.WriteFile(file, b.Bytes(), 0o644))
	}
	w := ts.Stdout()
	if r.IsError {
		w = ts.Stderr()
	}
	for _, c := range r.Content {
		if c.Type == "text" {
			fmt.Fprintln(w, c.Text)
		} else {
			fmt.Fprintf(w, "[%s]\n", c.Type)
		}
	}
	if r.IsError != neg {
		text := ""
		for _, c := range r.Content {
			text += c.Text
		}
		ts.Fatalf("isError is %v:\n%s", r.IsError, text)
	}
}

// cmdWaitfor waits until a file holds a match:
//
//	waitfor FILE REGEXP
func cmdWaitfor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		usage(ts, "waitfor FILE REGEXP")
	}
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	path := ts.MkAbs(args[0])
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		b, _ := os.ReadFile(path)
		if re.Match(b) {
			return
		}
		if time.Now().After(deadline) || isClosed(agentOf(ts).stopped) {
			ts.Fatalf("%s: no match for %q within %s in:\n%s", args[0], args[1], patience, b)
		}
	}
}

// isClosed tells whether a channel on which nothing is sent is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
