package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

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

// source returns the code to run: given, in a file, or on stdin.
func source(cmd *cobra.Command, code string, args []string) (string, error) {
	switch given := cmd.Flags().Changed("code"); {
	case given && len(args) > 0, len(args) > 1:
		return "", usagef("run takes one of -c CODE, FILE and -")
	case given:
		return code, nil
	case len(args) == 0:
		return "", usagef("no code: run takes -c CODE, FILE or -")
	case args[0] == "-":
		b, err := io.ReadAll(os.Stdin)
		return string(b), err
	}
	b, err := os.ReadFile(args[0])
	return string(b), err
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
	report := b.Run(ctx, r, t.write, ask)
	return t.finish(report)
}

// terminal shows a run to a person, or to a pipe.
type terminal struct {
	out, err io.Writer
	last     string // the last text on stdout
	lost     error  // why what the code printed could not be written
	colours  bool   // whether err is a terminal that shows them
}

func newTerminal() *terminal {
	colours := term.IsTerminal(int(os.Stderr.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return &terminal{out: os.Stdout, err: os.Stderr, colours: colours}
}

func (t *terminal) write(stream, text string, skipped int64) {
	w := t.out
	if stream == "stderr" {
		w = t.err
	} else if text != "" {
		t.last = text
	}
	if skipped > 0 {
		text = fmt.Sprintf("\n[%d bytes left out]\n", skipped) + text
	}
	t.put(w, text)
}

// put writes, and keeps the first mistake. A reader who has seen enough, as
// head has, is none.
func (t *terminal) put(w io.Writer, text string) {
	_, err := io.WriteString(w, text)
	if err != nil && t.lost == nil && !errors.Is(err, syscall.EPIPE) {
		t.lost = fmt.Errorf("writing what the code has printed: %w", err)
	}
}

// finish prints what is left to say and returns the exit status.
func (t *terminal) finish(r *bridge.Report) error {
	if t.last != "" && !strings.HasSuffix(t.last, "\n") {
		t.put(t.out, "\n")
	}
	if r.Result.Value != nil {
		t.put(t.out, *r.Result.Value+"\n")
	}
	t.pictures(r)
	for _, note := range r.Notes {
		fmt.Fprintln(t.err, spoken(note))
	}
	switch {
	case r.Message != "":
		fmt.Fprintln(t.err, spoken(r.Message))
	case r.Result.Error != nil:
		text := strings.TrimSuffix(r.Result.Error.Traceback, "\n")
		if t.colours {
			text = "\x1b[31m" + text + "\x1b[0m"
		}
		fmt.Fprintln(t.err, text)
	}
	switch {
	case r.Status == bridge.Success:
		return t.lost
	case r.Status == bridge.Timeout:
		return exitStatus(124)
	case r.Status == bridge.Cancelled:
		return exitStatus(130)
	case r.ExitCode != nil && *r.ExitCode > 0 && *r.ExitCode < 256:
		return exitStatus(*r.ExitCode)
	}
	return exitStatus(1)
}

// pictures writes what the code has shown to files that were not there, and
// names them.
func (t *terminal) pictures(r *bridge.Report) {
	n := 0
	for _, image := range r.Result.Images {
		name, err := newPicture(&n, bridge.Extension(image.MIME), image.Data)
		if err != nil {
			fmt.Fprintf(t.err, "bridge: writing a picture: %v\n", err)
			return
		}
		fmt.Fprintf(t.err, "bridge: a picture is in %s\n", name)
	}
}

// newPicture writes a file with the next free number after n.
func newPicture(n *int, extension string, data []byte) (string, error) {
	for {
		*n++
		name := fmt.Sprintf("picture-%d.%s", *n, extension)
		file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = file.Write(data)
		return name, errors.Join(err, file.Close())
	}
}
