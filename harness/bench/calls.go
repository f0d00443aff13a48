package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// policyWith is a policy with a profile "bench" that may call every tool of n
// servers, each with so many tools besides its own three.
func policyWith(n, tools int) func(self string) string {
	return func(self string) string {
		var servers, mounts strings.Builder
		for i := range n {
			name := "bench"
			if i > 0 {
				name += strconv.Itoa(i)
			}
			fmt.Fprintf(&servers, "\t%s: {\n\t\tcommand: %q\n\t\targs: [\"serve\", \"-tools\", \"%d\"]\n\t}\n", name, self, tools)
			fmt.Fprintf(&mounts, "\t\t%s: tools: [_]: {}\n", name)
		}
		return "package policy\n\nservers: {\n" + servers.String() + "}\n\nprofiles: bench: {\n\tparallel: 128\n" +
			"\ttimeout: {default: 60, max: 120}\n\tservers: {\n" + mounts.String() + "\t}\n}\n"
	}
}

func (b *bench) write(policy func(self string) string) (string, error) {
	path := filepath.Join(b.dir, "policy.cue")
	return path, os.WriteFile(path, []byte(policy(b.self)), 0o600)
}

// connect starts the bridge under a policy's profile "bench".
func (b *bench) connect(policy func(self string) string) (*client, error) {
	path, err := b.write(policy)
	if err != nil {
		return nil, err
	}
	return connect(b.ctx, b.bridge, "--profile", "bench", "--policies", path)
}

// callCode measures one proxied call after another, and prints the median in
// nanoseconds.
const callCode = `
import time
took = []
for _ in range(50):
    began = time.perf_counter_ns()
    await mcp_bench.echo(text="x")
    took.append(time.perf_counter_ns() - began)
print(sorted(took)[len(took) // 2])
`

// parallelCode measures 100 calls at once.
const parallelCode = `
import asyncio, time
began = time.perf_counter_ns()
await asyncio.gather(*(mcp_bench.sleep(ms=100) for _ in range(100)))
print(time.perf_counter_ns() - began)
`

// printed makes a function that runs code in the bridge's session and takes
// the duration that it prints.
func printed(c *client, code string) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		text, err := c.python(code)
		if err != nil {
			return 0, err
		}
		ns, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		return time.Duration(ns), err
	}
}

// proxiedCall measures a tool call that the guest's code makes, beside the
// same call made straight to the same server.
func (b *bench) proxiedCall() ([]figure, error) {
	bridge, direct, err := b.pair()
	if err != nil {
		return nil, err
	}
	defer bridge.close()
	defer direct.close()
	fifty := func() (time.Duration, error) {
		took, err := inTurns(50, timed(func() error {
			_, err := direct.tool("echo", map[string]any{"text": "x"})
			return err
		}))
		if err != nil {
			return 0, err
		}
		return took[0], nil
	}
	took, err := inTurns(15, printed(bridge, callCode), fifty)
	if err != nil {
		return nil, err
	}
	return []figure{{
		what:      "tool call from the guest's code",
		measured:  short(took[0]),
		reference: "the same call made directly: " + short(took[1]),
		ratio:     ratio(float64(took[0]), float64(took[1])),
		goal:      "500 µs over the reference",
		met:       took[0]-took[1] <= 500*time.Microsecond,
	}}, nil
}

// parallelCalls measures 100 calls of 100 ms each, all at once.
func (b *bench) parallelCalls() ([]figure, error) {
	bridge, direct, err := b.pair()
	if err != nil {
		return nil, err
	}
	defer bridge.close()
	defer direct.close()
	took, err := inTurns(5, printed(bridge, parallelCode), timed(func() error {
		return direct.burst(100, "tools/call", map[string]any{"name": "sleep", "arguments": map[string]any{"ms": 100}})
	}))
	if err != nil {
		return nil, err
	}
	return []figure{{
		what:      "100 calls of 100 ms at once",
		measured:  short(took[0]),
		reference: "made directly: " + short(took[1]),
		ratio:     ratio(float64(took[0]), float64(took[1])),
		goal:      "200 ms",
		met:       took[0] <= 200*time.Millisecond,
	}}, nil
}

// pair starts the bridge with a server behind it, and a second such server to
// be called directly.
func (b *bench) pair() (bridge, direct *client, err error) {
	if bridge, err = b.connect(policyWith(1, 0)); err != nil {
		return nil, nil, err
	}
	if direct, err = connect(b.ctx, b.self, "serve"); err != nil {
		bridge.close()
		return nil, nil, err
	}
	return bridge, direct, nil
}
