package cli

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"bridge/sandbox"
)

// probe is run in a sandbox and tells what is in force there.
//
//go:embed probe.py
var probe string

const (
	// maxThreads is the largest limit of processes that is tried out.
	maxThreads = 1024

	// little is the memory of the sandbox that is filled: whether a limit
	// holds does not depend on how large it is.
	little = 128 << 20
)

// observation is what a sandbox looks like from inside.
type observation struct {
	Python       string
	UID          int
	Capabilities uint64
	Privileges   bool // whether it could gain some
	Filtered     bool
	Interfaces   []string
	Writable     []string
	Files        int64
	Tmp          int64
	Workspace    int64
	Shm          int64
	PIDs         int64

	after time.Duration     // from the start to the first word
	held  map[string]string // as the engine says
}

// look starts a sandbox and looks around in it.
func (p *engineCheck) look(ctx context.Context) (*observation, error) {
	pids := p.spec.Limits.PIDs + 1
	if pids > maxThreads {
		pids = 0
	}
	w, err := p.ask(ctx, p.spec, "look", pids)
	if err != nil {
		return nil, err
	}
	switch {
	case w.exit.Engine != nil:
		return nil, w.exit.Engine
	case w.exit.Code != 0:
		return nil, fmt.Errorf("python ended with status %d, signal %d: %s", w.exit.Code, w.exit.Signal, clip(w.complaint))
	}
	seen := &observation{after: w.after, held: w.box.Limits()}
	if err := json.Unmarshal(w.text, seen); err != nil {
		return nil, fmt.Errorf("the sandbox does not tell what it is like: %q", clip(string(w.text)))
	}
	return seen, nil
}

// fill tells whether a sandbox that uses twice its memory is stopped, and
// whether that could be tried.
func (p *engineCheck) fill(ctx context.Context) (stopped, tried bool) {
	spec := p.spec
	spec.Limits.Memory = little
	w, err := p.ask(ctx, spec, "fill", 2*little)
	if err != nil {
		return false, false
	}
	return w.box.OutOfMemory() || !strings.Contains(string(w.text), "filled"), true
}

// words are what came out of a sandbox.
type words struct {
	box       sandbox.Sandbox
	text      []byte
	complaint string
	exit      sandbox.Exit
	after     time.Duration // from the start to the first byte
}

// ask runs the probe in a sandbox of its own and returns what it says.
func (p *engineCheck) ask(ctx context.Context, spec sandbox.Spec, what string, n int64) (*words, error) {
	began := time.Now()
	box, err := p.engine.Start(ctx, spec, []string{"-I", "-c", probe, what, strconv.FormatInt(n, 10)}, io.Discard)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, box.Kill)
	defer stop()
	box.Stdin().Close()
	complaint := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(box.Stderr(), 4<<10))
		complaint <- lastLine(text)
		io.Copy(io.Discard, box.Stderr())
	}()
	w := &words{box: box}
	io.ReadFull(box.Stdout(), make([]byte, 1))
	w.after = time.Since(began)
	w.text, _ = io.ReadAll(io.LimitReader(box.Stdout(), 64<<10))
	w.exit = box.Wait()
	w.complaint = <-complaint
	return w, ctx.Err()
}

func lastLine(text []byte) string {
	s := strings.TrimSpace(string(text))
	return s[strings.LastIndexByte(s, '\n')+1:]
}

func clip(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}

func onPath(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}
