package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"github.com/tiktoken-go/tokenizer"
)

const mb = 1_000_000

// tokens counts the whole answer to tools/list as a model would read it,
// without upstream tools and with 432.
func (b *bench) tokens() ([]figure, error) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		return nil, err
	}
	count := func(c *client, err error) (int, error) {
		if err != nil {
			return 0, err
		}
		defer c.close()
		answer, err := c.request("tools/list", map[string]any{})
		if err != nil {
			return 0, err
		}
		return codec.Count(string(answer))
	}
	none, err := count(b.connect(policyWith(0, 0)))
	if err != nil {
		return nil, err
	}
	all, err := count(b.connect(policyWith(18, 21)))
	if err != nil {
		return nil, err
	}
	direct, err := count(connect(b.ctx, b.self, "serve", "-tools", "429"))
	if err != nil {
		return nil, err
	}
	row := func(upstream string, n int) figure {
		return figure{
			what:      "tools/list, " + upstream,
			measured:  fmt.Sprintf("%d tokens", n),
			reference: fmt.Sprintf("432 tools offered directly: %d", direct),
			ratio:     fmt.Sprintf("%.4f", float64(n)/float64(direct)),
			goal:      "200 tokens (o200k)",
			met:       n <= 200,
		}
	}
	return []figure{row("no upstream tools", none), row("432 upstream tools", all)}, nil
}

// printCode prints 100 MB.
const printCode = `
import sys
block = ("x" * 99 + "\n") * 10_000
for _ in range(100):
    sys.stdout.write(block)
sys.stdout.flush()
`

// output measures a run that prints 100 MB, beside the same Python with a
// reader at the other end of its pipe, and what it does to the bridge's memory.
func (b *bench) output() ([]figure, error) {
	bridge, err := b.connect(policyWith(1, 0))
	if err != nil {
		return nil, err
	}
	defer bridge.close()
	if _, err := bridge.python("1"); err != nil {
		return nil, err
	}
	before, err := memory(bridge.cmd.Process.Pid, "VmRSS")
	if err != nil {
		return nil, err
	}
	took, err := inTurns(5,
		timed(func() error {
			_, err := bridge.python(printCode)
			return err
		}),
		timed(func() error {
			cmd := exec.CommandContext(b.ctx, b.python, "-I", "-c", printCode)
			out, err := cmd.StdoutPipe()
			if err != nil {
				return err
			}
			if err := cmd.Start(); err != nil {
				return err
			}
			if n, err := io.Copy(io.Discard, out); err != nil || n != 100*mb {
				return fmt.Errorf("read %d bytes of bare Python: %w", n, err)
			}
			return cmd.Wait()
		}))
	if err != nil {
		return nil, err
	}
	peak, err := memory(bridge.cmd.Process.Pid, "VmHWM")
	if err != nil {
		return nil, err
	}
	rate := func(d time.Duration) float64 { return 100 / d.Seconds() }
	return []figure{{
		what:      "100 MB printed by a run",
		measured:  fmt.Sprintf("%.0f MB/s", rate(took[0])),
		reference: fmt.Sprintf("bare python3 -I: %.0f MB/s", rate(took[1])),
		ratio:     ratio(rate(took[0]), rate(took[1])),
		goal:      "at least 100 MB/s",
		met:       rate(took[0]) >= 100,
	}, {
		what:      "  growth of the bridge's memory",
		measured:  fmt.Sprintf("%.1f MB", float64(peak-before)/mb),
		reference: fmt.Sprintf("before it: %.1f MB", float64(before)/mb),
		ratio:     ratio(float64(peak-before), float64(before)),
		goal:      "32 MB",
		met:       peak-before <= 32*mb,
	}}, nil
}

// idle measures the memory of a bridge that has only been greeted, beside a
// server of the same library that does nothing.
func (b *bench) idle() ([]figure, error) {
	resident := func(c *client, err error) (int64, error) {
		if err != nil {
			return 0, err
		}
		defer c.close()
		if _, err := c.request("tools/list", map[string]any{}); err != nil {
			return 0, err
		}
		return memory(c.cmd.Process.Pid, "VmRSS")
	}
	bridge, err := resident(b.connect(policyWith(1, 0)))
	if err != nil {
		return nil, err
	}
	noop, err := resident(connect(b.ctx, b.self, "serve"))
	if err != nil {
		return nil, err
	}
	return []figure{{
		what:      "memory of an idle bridge",
		measured:  fmt.Sprintf("%.1f MB", float64(bridge)/mb),
		reference: fmt.Sprintf("mcp-go server that does nothing: %.1f MB", float64(noop)/mb),
		ratio:     ratio(float64(bridge), float64(noop)),
		goal:      "40 MB",
		met:       bridge <= 40*mb,
	}}, nil
}

var memoryLine = regexp.MustCompile(`(?m)^(\w+):\s+(\d+) kB$`)

// memory reads one of the figures in /proc/PID/status, in bytes.
func memory(pid int, name string) (int64, error) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	status, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for _, m := range memoryLine.FindAllSubmatch(status, -1) {
		if string(m[1]) == name {
			kb, err := strconv.ParseInt(string(m[2]), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("%s does not tell %s", path, name)
}

// size weighs the binary as `make build` makes it.
func (b *bench) size() ([]figure, error) {
	binary, err := os.Stat(b.bridge)
	if err != nil {
		return nil, err
	}
	return []figure{{
		what:      "size of the binary",
		measured:  fmt.Sprintf("%.1f MB", float64(binary.Size())/mb),
		reference: "none",
		ratio:     "",
		goal:      "40 MB",
		met:       binary.Size() <= 40*mb,
	}}, nil
}

// vet measures the checking of the embedded policies' sources, beside a start
// of the binary that checks nothing.
func (b *bench) vet() ([]figure, error) {
	command := func(args ...string) func() (time.Duration, error) {
		return timed(func() error {
			if out, err := exec.CommandContext(b.ctx, b.bridge, args...).CombinedOutput(); err != nil {
				return fmt.Errorf("bridge %s: %w: %s", args[0], err, out)
			}
			return nil
		})
	}
	took, err := inTurns(20, command("vet", "policies"), command("version"))
	if err != nil {
		return nil, err
	}
	return []figure{{
		what:      "bridge vet policies",
		measured:  short(took[0]),
		reference: "bridge version: " + short(took[1]),
		ratio:     ratio(float64(took[0]), float64(took[1])),
		goal:      "50 ms",
		met:       took[0] <= 50*time.Millisecond,
	}}, nil
}
