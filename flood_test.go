package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bridge/harness"
	"bridge/harness/project"
	"bridge/sandbox"
	"bridge/sandbox/native"
)

// maxMemory is what a bridge may need, whatever guest, server and client do.
const maxMemory = 256 << 20

// A client that sends without end and reads nothing is not read any further:
// the bridge keeps no more of it than it can bound. When the client reads, it
// has all its answers.
func TestClientThatDoesNotRead(t *testing.T) {
	const pings = 200_000
	stdin, toBridge, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromBridge, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(t.TempDir(), "policy.cue")
	if err := os.WriteFile(policy, []byte("profiles: p: engine: \"native\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bridge", "--policies", policy, "--profile", "p")
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
	cmd.Stdin, cmd.Stdout = stdin, stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stdin.Close()
	stdout.Close()
	defer fromBridge.Close()

	var text bytes.Buffer
	for id := range pings {
		fmt.Fprintf(&text, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", id)
	}
	rest := text.Bytes()
	for len(rest) > 0 {
		// As long as the bridge takes something, it is not held up.
		toBridge.SetWriteDeadline(time.Now().Add(3 * time.Second))
		n, err := toBridge.Write(rest[:min(len(rest), 4096)])
		rest = rest[n:]
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(rest) == 0 {
		t.Error("all of it was taken")
	}
	toBridge.SetWriteDeadline(time.Time{})
	go toBridge.Write(rest)
	answers := bufio.NewScanner(fromBridge)
	n := 0
	for n < pings && answers.Scan() {
		if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, n); answers.Text() != want {
			t.Fatalf("%s, want %s", answers.Text(), want)
		}
		n++
	}
	if n != pings {
		t.Errorf("%d answers", n)
	}
	peak, err := harness.PeakMemory(cmd.Process.Pid)
	if err != nil {
		t.Error(err)
	}
	toBridge.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if peak > maxMemory {
		t.Errorf("the bridge has had %d MiB", peak>>20)
	}
}

// manyTools is a server with as many tools as are taken of one, and then some.
const manyTools = `
import json, sys
tool = {"description": "Describe the %d th thing of w%d and w%d.", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {}
    if message["method"] == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "many", "version": "1"}}
    elif message["method"] == "tools/list":
        result = {"tools": [{**tool, "name": f"tool_{n}", "description": tool["description"] % (n, n % 7, n)} for n in range(10_500)]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
`

// What code has asked for ends with its run: a run that floods the bridge with
// searches of very many tools is answered when its time is over, and the bridge
// has made one index for all of them.
func TestFloodOfSearches(t *testing.T) {
	const (
		timeout = 4 * time.Second
		promise = time.Second
		room    = 3 * time.Second // for a machine that does other things
	)
	engine := native.New()
	t.Cleanup(engine.Close)
	if err := engine.Ready(t.Context(), sandbox.Spec{}); err != nil {
		project.Skip(t, err)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		project.Skip(t, err)
	}
	dir := t.TempDir()
	policy := filepath.Join(dir, "policy.cue")
	text := fmt.Sprintf("servers: many: {command: %q, args: [%q]}\nprofiles: p: {engine: %q, state: %q, timeout: max: 60, servers: many: tools: [_]: {}}\n",
		python, filepath.Join(dir, "many.py"), native.Name, dir)
	for name, text := range map[string]string{policy: text, filepath.Join(dir, "many.py"): manyTools} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bridge", "--policies", policy, "--profile", "p")
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewScanner(out)
	answers.Buffer(nil, 32<<20)
	run := func(id, seconds int, code string) string {
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"run_python","arguments":{"timeout":%d,"code":%q}}}`+"\n", id, seconds, code)
		if !answers.Scan() {
			t.Fatal(answers.Err())
		}
		return answers.Text()
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	answers.Scan()
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	found := run(1, 60, `print((await runtime.search_tool_docs("thing w4711"))[0]["tool"])`)
	if !strings.Contains(found, `"text":"tool_4711"`) {
		t.Fatal(found)
	}
	began := time.Now()
	flooded := run(2, int(timeout.Seconds()), `
import asyncio
while True:
    await asyncio.gather(*(runtime.search_tool_docs(f"thing w{n} describe words") for n in range(256)))`)
	took := time.Since(began)
	if !strings.Contains(flooded, "status: timeout") {
		t.Error(flooded)
	}
	if took > timeout+promise+room {
		t.Errorf("answered after %v", took)
	}
	// Answers to a list of messages wait for each other.
	run(3, 30, `open("/workspace/big", "w").write("x" * 8_000_000)`)
	var reads []string
	for id := range 20 {
		reads = append(reads, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"bridge://session/workspace/big"}}`, 100+id))
	}
	fmt.Fprintf(in, "[%s]\n", strings.Join(reads, ","))
	if !answers.Scan() {
		t.Fatal(answers.Err())
	}
	if n, left := strings.Count(answers.Text(), `"contents"`), strings.Count(answers.Text(), "ask for this one alone"); n != 2 || left != 18 {
		t.Errorf("%d answers, and %d left out", n, left)
	}
	peak, err := harness.PeakMemory(cmd.Process.Pid)
	if err != nil || peak > maxMemory {
		t.Errorf("the bridge has had %d MiB, %v", peak>>20, err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
