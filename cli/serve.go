package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"bridge/bridge"
	"bridge/policy"
)

func newServe(containerfile []byte) *cobra.Command {
	c := choice{containerfile: containerfile}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "serve run_python over MCP on stdin and stdout (what bridge does without a command)",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return serve(&c) },
	}
	c.flags(cmd)
	return cmd
}

// lessOpen is what helps where a profile allows much.
const lessOpen = "bridge init writes a policy that allows less"

func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unexpected argument %q", args[0])
	}
	return nil
}

func serve(c *choice) error {
	b, end, err := c.bridge(slog.LevelInfo)
	if err != nil {
		return err
	}
	defer end()
	if all := c.openness(); all != "" {
		fmt.Fprintf(os.Stderr, "bridge: %s\nbridge: hint: %s\n", all, lessOpen)
	}
	if term.IsTerminal(int(os.Stdin.Fd())) {
		fmt.Fprintf(os.Stderr, "bridge: waiting for an MCP client on stdin, under profile %q\n", c.profile)
		fmt.Fprintf(os.Stderr, "bridge: hint: a client starts this command itself: claude mcp add bridge -- bridge --profile %s\n", c.profile)
		fmt.Fprintf(os.Stderr, "bridge: hint: to try the profile yourself: bridge run --profile %s -c 'print(1 + 1)'\n", c.profile)
	}
	ctx, stop := signals()
	defer stop()
	go hangup(os.Stdout, stop)
	err = b.Serve(ctx, os.Stdin, os.Stdout)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// signals returns a context that ends when the process is asked to. A pipe
// that nobody reads is an error of a write, not the end of the process: there
// is a sandbox to put away first.
func signals() (context.Context, context.CancelFunc) {
	signal.Ignore(syscall.SIGPIPE)
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// softMemory is from where on garbage is collected without delay, in bytes. What
// is no garbage is bounded where it is taken; this keeps the two together from
// being twice as much.
const softMemory = 128 << 20

// bridge puts together what the chosen profile asks for. What it returns
// beside the bridge ends all of it.
func (c *choice) bridge(level slog.Level) (*bridge.Bridge, func(), error) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softMemory)
	}
	log, err := newLog(level)
	if err != nil {
		return nil, nil, report(err)
	}
	o := &origin{choice: c, log: log}
	setup, err := o.setup()
	if err != nil {
		var list policy.Errors
		if errors.As(err, &list) {
			return nil, nil, report(list)
		}
		return nil, nil, err
	}
	folder, err := stateFolder(setup.Profile.State)
	if err != nil {
		log.Warn("catalogs of servers are not stored", "err", err)
	}
	_, scenario := c.standIns() // which looks at results piece by piece
	b := bridge.New(bridge.Options{Setup: *setup, Version: version, Log: log, Reload: o.reload, State: folder, Structured: scenario})
	if inContainer() {
		go c.sayInside(setup.Profile, log)
	}
	return b, func() {
		b.Close()
		o.close()
		if p, ok := log.Handler().(paced); ok {
			p.flush()
		}
	}, nil
}
