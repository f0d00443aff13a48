package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"bridge/harness"
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
