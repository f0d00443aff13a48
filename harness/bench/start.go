package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/native"
)

// firstByte is the least that a Python can do to be heard.
const firstByte = `import os; os.write(1, b"x")`

// interpreter asks python3 for the interpreter that it is: what is on PATH may
// be a version manager's script, which would be measured instead.
func interpreter(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "python3", "-I", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return "", fmt.Errorf("asking python3 which it is: %w", err)
	}
	return string(bytes.TrimSpace(out)), nil
}

// start measures from the start of a sandbox to the first byte of its Python,
// beside the same Python without a sandbox.
func (b *bench) start() ([]figure, error) {
	engine := native.New()
	defer engine.Close()
	spec := sandbox.Spec{Label: "bench", Python: b.python}
	took, err := inTurns(40, b.sandboxed(engine, spec), b.heard(b.python, "-I", "-c", firstByte))
	if err != nil {
		return nil, err
	}
	return []figure{{
		what:      "native: start to Python's first byte",
		measured:  short(took[0]),
		reference: "bare python3 -I: " + short(took[1]),
		ratio:     ratio(float64(took[0]), float64(took[1])),
		goal:      "2.5 × the reference",
		met:       took[0] <= took[1]*5/2,
	}}, nil
}

// sandboxed makes a function that tells how long a sandbox takes from its start
// to its Python's first byte. It returns when nothing of the sandbox is left.
func (b *bench) sandboxed(engine sandbox.Engine, spec sandbox.Spec) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		began := time.Now()
		s, err := engine.Start(b.ctx, spec, []string{"-I", "-c", firstByte}, io.Discard)
		if err != nil {
			return 0, err
		}
		_, err = io.ReadFull(s.Stdout(), make([]byte, 1))
		took := time.Since(began)
		s.Kill()
		s.Wait()
		return took, err
	}
}

// heard makes a function that tells how long a command takes to its first byte.
func (b *bench) heard(name string, args ...string) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		var said bytes.Buffer
		began := time.Now()
		cmd := exec.CommandContext(b.ctx, name, args...)
		cmd.Stderr = &said
		out, err := cmd.StdoutPipe()
		if err != nil {
			return 0, err
		}
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		_, err = io.ReadFull(out, make([]byte, 1))
		took := time.Since(began)
		ended := cmd.Wait()
		if err = cmp.Or(ended, err); err != nil {
			return 0, fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(said.Bytes()))
		}
		return took, nil
	}
}

// warmRun measures a run in a warm session from client to client. What is
// left when the guest's part and the pipe of a server that does nothing are
// taken away is the bridge's own share.
func (b *bench) warmRun() ([]figure, error) {
	bridge, err := b.connect(policyWith(1, 0))
	if err != nil {
		return nil, err
	}
	defer bridge.close()
	noop, err := connect(b.ctx, b.self, "serve")
	if err != nil {
		return nil, err
	}
	defer noop.close()
	refuse := func(context.Context, string, json.RawMessage) (any, error) {
		return nil, &sandbox.Error{Kind: "invalid", Message: "nothing is served here"}
	}
	engine := native.New()
	defer engine.Close()
	session, err := sandbox.Open(b.ctx, engine, sandbox.Spec{Label: "bench", Python: b.python}, refuse, io.Discard)
	if err != nil {
		return nil, err
	}
	defer session.Close()

	took, err := inTurns(500,
		timed(bridge.sum),
		timed(noop.nothing),
		timed(func() error {
			r, err := session.Run(b.ctx, sandbox.Run{Code: "1+1", Output: 1024})
			if err == nil && (r.Value == nil || *r.Value != "2") {
				err = fmt.Errorf("1+1 in the session: status %s", r.Status)
			}
			return err
		}))
	if err != nil {
		return nil, err
	}
	share := max(took[0]-took[1]-took[2], 0)
	return []figure{{
		what:      `warm run_python("1+1"), client to client`,
		measured:  short(took[0]),
		reference: "mcp-go no-op call: " + short(took[1]),
		ratio:     ratio(float64(took[0]), float64(took[1])),
		goal:      "1 ms",
		met:       took[0] <= time.Millisecond,
	}, {
		what:      "  of it the bridge's own share",
		measured:  short(share),
		reference: "the session alone: " + short(took[2]),
		ratio:     ratio(float64(share), float64(took[2])),
		goal:      "300 µs",
		met:       share <= 300*time.Microsecond,
	}}, nil
}
