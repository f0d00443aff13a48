package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bridge/harness"
	"bridge/sandbox"
	"bridge/sandbox/container"
)

const (
	// rounds is how many bridges are killed on each engine, and abreast how
	// many of them at once: what is left after five seconds on a machine that
	// cannot keep up says nothing.
	rounds, abreast = 50, 3

	// promise is how long something of a killed bridge may be there.
	promise = 5 * time.Second
)

// deeds are what a run is at when its bridge is killed. Each says so by a call
// of its server first.
var deeds = []string{
	"while True: pass",
	"await mcp_toy.sleep(seconds=50)",
	"while True: print('x' * 100000)",
	"import signal, time\nfor s in (2, 15, 1): signal.signal(s, signal.SIG_IGN)\nwhile True: time.sleep(100)",
	`import os, signal, subprocess, sys, time
hide = "import os, signal, time; os.setsid(); signal.signal(15, signal.SIG_IGN); time.sleep(600)"
for n in range(4): subprocess.Popen([sys.executable, "-c", hide])
time.sleep(600)`,
	"", // the run has ended, and the next sandbox is on its way
}

// TestKilled kills bridges, fifty on each engine, in the middle of runs and of
// starts: five seconds later nothing of them is left, no process, container,
// volume or temporary file.
func TestKilled(t *testing.T) {
	forEachEngine(t, func(t *testing.T, engine sandbox.Engine) {
		t.Parallel() // an engine takes most of the time to end things, and waits
		volumes := listed(t, engine.Name(), "volume", "ls", "--quiet")
		turns := make(chan struct{}, abreast)
		var all sync.WaitGroup
		for n := range rounds {
			turns <- struct{}{}
			all.Go(func() {
				defer func() { <-turns }()
				if err := killRound(t, engine.Name(), n); err != nil {
					t.Errorf("round %d: %v", n, err)
				}
			})
		}
		all.Wait()
		for _, v := range listed(t, engine.Name(), "volume", "ls", "--quiet") {
			if !slices.Contains(volumes, v) {
				t.Errorf("volume %s is left", v)
			}
		}
	})
}

// killRound kills one bridge. Every other one has a profile without a
// persistent session, and so more to start.
func killRound(t *testing.T, engine string, n int) error {
	dir, err := os.MkdirTemp("", "bridge-kill-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	profile := fmt.Sprintf("kill-%d-%d", os.Getpid(), n)
	b, err := startVictim(dir, profile, engine, n%2 == 0)
	if err != nil {
		return err
	}
	defer b.end()
	deed := deeds[n/2%len(deeds)]
	if n%10 == 9 {
		// While the sandbox is being made.
		time.Sleep(rand.N(400 * time.Millisecond))
	} else if err := b.begin(deed); err != nil {
		return err
	}
	if deed == "" {
		time.Sleep(rand.N(200 * time.Millisecond))
	}
	family := harness.FamilyOf(b.cmd.Process.Pid)
	if len(family) == 0 && n%10 != 9 {
		return fmt.Errorf("the bridge has no processes")
	}
	b.cmd.Process.Kill()
	killed := time.Now()
	if alive := family.Outlive(promise); len(alive) > 0 {
		return fmt.Errorf("alive after %v: %s", promise, strings.Join(alive, ", "))
	}
	for {
		left, err := remains(t, dir, engine, profile)
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Since(killed) > promise {
			return fmt.Errorf("left after %v: %s", promise, strings.Join(left, ", "))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// remains are the containers of a profile and the temporary files of its bridge.
func remains(t *testing.T, dir, engine, profile string) ([]string, error) {
	left := listed(t, engine, "ps", "--all", "--quiet", "--filter", "label="+container.UseLabel+"="+profile)
	files, err := os.ReadDir(filepath.Join(dir, "tmp"))
	for _, f := range files {
		left = append(left, f.Name())
	}
	return left, err
}

// listed is what an engine's command prints, line by line. Of the native
// engine there is nothing to be listed.
func listed(t *testing.T, engine string, args ...string) []string {
	if engine == "native" {
		return nil
	}
	if host := os.Getenv("CONTAINER_HOST"); engine == "podman" && host != "" {
		args = append([]string{"--url", host}, args...)
	}
	out, err := exec.Command(engine, args...).Output()
	if err != nil {
		t.Errorf("%s %s: %v", engine, strings.Join(args, " "), err)
	}
	return strings.Fields(string(out))
}

// victim is a bridge that is going to be killed.
type victim struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	log string // of its server
	own string // log of its own
}

func startVictim(dir, profile, engine string, persist bool) (*victim, error) {
	program, err := exec.LookPath("bridge")
	if err != nil {
		return nil, err
	}
	v := &victim{log: filepath.Join(dir, "toy.log"), own: filepath.Join(dir, "bridge.log")}
	policy := filepath.Join(dir, "policy.cue")
	text := fmt.Sprintf("servers: toy: command: \"toy\"\nprofiles: %q: {rootful: true, session: persist: %v, servers: toy: tools: [_]: {}}\n", profile, persist)
	if err := os.WriteFile(policy, []byte(text), 0o644); err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o700); err != nil {
		return nil, err
	}
	v.cmd = exec.Command(program, "--profile", profile, "--policies", policy)
	v.cmd.Dir = dir
	v.cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(dir, "tmp"), "HOME="+dir, "TOY_LOG="+v.log, "MCP_BRIDGE_RUNTIME="+engine)
	if v.in, err = v.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	v.out = bufio.NewScanner(out)
	own, err := os.Create(v.own)
	if err != nil {
		return nil, err
	}
	defer own.Close()
	v.cmd.Stderr = own
	if err := v.cmd.Start(); err != nil {
		return nil, err
	}
	err = v.send(1, "initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "killer", "version": "1"}})
	if err == nil && !v.out.Scan() {
		err = fmt.Errorf("no answer to initialize: %v", v.out.Err())
	}
	if err == nil {
		err = v.send(0, "notifications/initialized", map[string]any{})
	}
	if err != nil {
		v.end()
		return nil, err
	}
	return v, nil
}

// send sends a request, or a notification if there is no number.
func (v *victim) send(id int, method string, params any) error {
	message := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if id > 0 {
		message["id"] = id
	}
	return json.NewEncoder(v.in).Encode(message)
}

// begin starts a run and returns when it is at its deed.
func (v *victim) begin(deed string) error {
	err := v.send(2, "tools/call", map[string]any{"name": "run_python", "arguments": map[string]any{
		"code": "await mcp_toy.echo(text='up')\n" + deed, "timeout": 60}})
	for begun := time.Now(); err == nil && time.Since(begun) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if text, _ := os.ReadFile(v.log); len(text) > 0 {
			return nil
		}
	}
	text, _ := os.ReadFile(v.own)
	return fmt.Errorf("the run has not begun (%v), and the bridge says:\n%s", err, text)
}

func (v *victim) end() {
	v.cmd.Process.Kill()
	v.cmd.Wait()
}
