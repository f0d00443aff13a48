package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bridge/bridge"
	"bridge/policy"
	"bridge/sandbox"
	"bridge/sandbox/engines"
)

// The verdicts of a check.
const (
	ok   = "ok"
	warn = "warn" // it works, but not as well as it could
	fail = "fail" // something that was asked for does not work
)

// check is one thing that the doctor has looked at.
type check struct {
	What    string `json:"check"`
	Status  string `json:"status"`
	Finding string `json:"finding"`
	Remedy  string `json:"remedy"` // the command that mends it, "" if nothing is to be mended
}

// newDoctor is `bridge doctor`: what works here, and how to fix the rest.
func newDoctor(containerfile []byte) *cobra.Command {
	c := choice{containerfile: containerfile}
	var asJSON bool
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "doctor [--profile NAME] [--json]",
		Short: "check this machine, and say how to fix what fails",
		Long: `doctor looks at this machine, the policies, and each engine. It starts a sandbox of
the profile on each engine that is ready, and measures from inside what is in force.
Nothing is changed, and nothing is left.

Each line says ok, warn or fail; the line below says how to fix it. The exit
status is 1 if there is a fail.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			groups := c.examine(wait)
			write := printChecks
			if asJSON {
				write = printChecksJSON
			}
			if err := write(cmd.OutOrStdout(), groups); err != nil {
				return err
			}
			for _, g := range groups {
				for _, found := range g {
					if found.Status == fail {
						return exitStatus(1)
					}
				}
			}
			return nil
		},
	}
	c.flags(cmd)
	cmd.Flags().DurationVar(&wait, "wait", 4*time.Second, "how long all engines together may take to answer")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array of {check, status, finding, remedy}")
	return cmd
}

// examine makes all checks. Those of one group belong together.
func (c *choice) examine(wait time.Duration) [][]check {
	ctx, stop := signals()
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	// The checks say what the engines would log.
	all := c.engines(slog.New(slog.DiscardHandler))
	p, policies := c.examinePolicies()
	spec := sandbox.Spec{Label: "doctor"}
	if p != nil {
		spec = bridge.Spec(p)
		spec.Pull = false // to look is not to fetch
	}
	engineChecks := make([]*engineCheck, len(all))
	done := make(chan struct{})
	for i, e := range all {
		engineChecks[i] = &engineCheck{engine: e, spec: spec, measured: p != nil, own: c.ownImage()}
		go func() {
			defer func() { done <- struct{}{} }()
			defer e.Close()
			engineChecks[i].examine(ctx)
		}()
	}
	host := examineHost(ctx, spec)
	for range all {
		<-done
	}
	groups := [][]check{host, policies}
	verdict := choose(p, engineChecks)
	for _, s := range engineChecks {
		groups = append(groups, s.checks)
	}
	return append(groups, verdict)
}

// choose tells which engine the profile gets, and how bad it is that others
// are not ready: for a profile that can do without them it is not a failure.
func choose(p *policy.Profile, engineChecks []*engineCheck) []check {
	named := ""
	if p != nil {
		named = p.Engine
	}
	var chosen *engineCheck
	var passed []engines.Refusal
	for _, s := range engineChecks {
		if named != "" && s.engine.Name() != named {
			continue
		}
		if s.refusal == nil {
			chosen = s
			break
		}
		passed = append(passed, *s.refusal)
	}
	for _, s := range engineChecks {
		if s != chosen && (chosen != nil || named != "" && s.engine.Name() != named) {
			s.downgrade()
		}
	}
	by := ""
	if named != "" {
		by = p.Source("engine")
	}
	if chosen == nil {
		err := &engines.NotReady{By: by, Engines: passed}
		text, hints, _ := strings.Cut(err.Error(), "\nhint: ")
		return []check{{"engine", fail, text, strings.ReplaceAll(hints, "\nhint: ", "; or ")}}
	}
	if by != "" {
		return []check{{"engine", ok, fmt.Sprintf("%s, as %s says", chosen.engine.Name(), by), ""}}
	}
	return []check{{"engine", ok, chosen.engine.Name() + ", the first that is ready", ""}}
}

// printChecks writes a line for each check, and one more for its remedy.
func printChecks(w io.Writer, groups [][]check) error {
	var text strings.Builder
	for i, g := range groups {
		if i > 0 {
			text.WriteByte('\n')
		}
		for _, c := range g {
			fmt.Fprintf(&text, "%-4s  %s: %s\n", c.Status, c.What, c.Finding)
			if c.Remedy != "" {
				fmt.Fprintf(&text, "      mend: %s\n", c.Remedy)
			}
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func printChecksJSON(w io.Writer, groups [][]check) error {
	list := []check{} // not nil, which would be null
	for _, g := range groups {
		list = append(list, g...)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(list)
}
