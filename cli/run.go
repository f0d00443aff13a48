package cli

import (
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"bridge/bridge"
)

func newRun(containerfile []byte) *cobra.Command {
	c := choice{containerfile: containerfile}
	var code string
	var servers []string
	var timeout int
	var interactive bool
	cmd := &cobra.Command{
		Use:   "run [--profile NAME] (-c CODE | FILE | - | -i)",
		Short: "run Python once under a profile, as an agent would",
		Long: `run starts a session under a profile, runs the code in it once, and ends it. What
the code prints comes as it is printed, the value of its last expression after it.
Pictures are written to files here, such as picture-1.png. The exit status is the
code's; 124 after a timeout, 130 after an interrupt.

With -i it runs what is typed, piece by piece, in one session.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r := bridge.Request{Servers: servers}
			if cmd.Flags().Changed("timeout") {
				r.Timeout = &timeout
			}
			if interactive {
				if len(args) > 0 || cmd.Flags().Changed("code") {
					return usagef("run takes one of -c CODE, FILE, - and -i")
				}
				return interact(&c, r)
			}
			var err error
			if r.Code, err = source(cmd, code, args); err != nil {
				return err
			}
			return run(&c, r)
		},
	}
	c.flags(cmd)
	cmd.Flags().StringVarP(&code, "code", "c", "", "the Python source `CODE`")
	cmd.Flags().StringSliceVar(&servers, "servers", nil, "the `NAMES` of the servers the code may use (default all of the profile)")
	cmd.Flags().IntVar(&timeout, "timeout", 0, "stop the code after so many `SECONDS` (default the profile's)")
	cmd.Flags().BoolVarP(&interactive, "interactive", "i", false, "run what is typed, in one session")
	return cmd
}

func run(c *choice, r bridge.Request) error {
	if strings.TrimSpace(r.Code) == "" {
		return usagef("the code is blank")
	}
	b, end, err := c.bridge(slog.LevelWarn)
	if err != nil {
		return err
	}
	defer end()
	ctx, stop := signals()
	defer stop()
	t := newTerminal()
	ask, leave := asker()
	defer leave()
	r.Last = true
	report := b.Run(ctx, r, t.write, t.holding(ask))
	return t.finish(report)
}
