package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"bridge/policy"
)

// newVet is `bridge vet`: it reports every mistake of a policy.
func newVet() *cobra.Command {
	var v vet
	cmd := &cobra.Command{
		Use:   "vet [PATH...]",
		Short: "report the mistakes in a policy",
		Long: `Vet reads a policy, which is the .cue files that are named and those directly
in the folders that are named, together; with none named, the policies that the
other commands would use. It is silent and exits with 0 if the
policy is right. If not it prints each mistake as file:line:col: field: message
and exits with 1.

What is allowed and hardly meant, such as a rule without effect, a server that
nobody mounts, or one that a profile names and that is neither defined nor found
in the configurations of other clients on this machine, it prints as file:line:col: warning: field: message. A policy with
warnings alone is right, and exits with 0 unless --strict-warnings is given.

With --live it also starts the servers of every profile, as the bridge would, and
holds the rules against the tools that they have: tools and arguments that there
are not, arguments that can never be what a rule wants, definitions that are not
as a rule pins them, servers that do not start. It calls no tool.

"bridge schema" prints what a policy may say.`,
		Example: `  bridge vet policies/
  bridge vet --json servers.cue team.cue
  bridge vet --live ~/.config/bridge/policies`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			c := choice{policies: paths}
			findings, err := v.findings(cmd, c.paths())
			if err != nil {
				return err
			}
			return v.print(cmd, findings)
		},
	}
	cmd.Flags().BoolVar(&v.json, "json", false, "print what is found on stdout, as a JSON array of {file, line, col, path, message, severity}")
	cmd.Flags().BoolVar(&v.live, "live", false, "start the servers, and compare the rules with the tools that they have")
	cmd.Flags().BoolVar(&v.strict, "strict-warnings", false, "exit with 1 for warnings as well")
	return cmd
}

// vet is how a policy is vetted.
type vet struct{ json, live, strict bool }

// A finding is a mistake in a policy, or a warning. A line of 0 means the file
// as a whole.
type finding struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Col      int    `json:"col"`
	Path     string `json:"path"`
	Message  string `json:"message"`
	Severity string `json:"severity"` // "error" or "warning"

	text string // in one line
}

// findings are all that is to be said of a policy.
func (v *vet) findings(cmd *cobra.Command, paths []string) ([]finding, error) {
	list := []finding{} // not nil, which would be null
	p, err := policy.Load(paths)
	var mistakes policy.Errors
	if err != nil && !errors.As(err, &mistakes) {
		return nil, err
	}
	for _, m := range mistakes {
		list = append(list, found(m, "error"))
	}
	if err != nil {
		return list, nil
	}
	for _, w := range p.Warnings() {
		list = append(list, found(w, "warning"))
	}
	for _, name := range p.Profiles() {
		profile, err := p.Profile(name)
		if err != nil {
			return nil, err
		}
		c := choice{cmd: cmd}
		if _, err := c.discover(profile); err != nil {
			return nil, err
		}
		for _, w := range c.discovery.undefined {
			list = append(list, found(w, "warning"))
		}
	}
	if !v.live {
		return list, nil
	}
	log, err := newLog(slog.LevelError)
	if err != nil {
		return nil, report(err)
	}
	ctx, stop := signals()
	defer stop()
	seen, err := live(ctx, cmd, p, log)
	if err != nil {
		return nil, err
	}
	return sorted(append(list, seen...)), nil
}

func found(e policy.Error, severity string) finding {
	f := finding{e.Pos.File, e.Pos.Line, e.Pos.Col, e.Path, e.Message, severity, e.Error()}
	if severity == "warning" {
		f.text = e.Warning()
	}
	return f
}

// print writes the findings, and returns the exit status.
func (v *vet) print(cmd *cobra.Command, findings []finding) error {
	bad := false
	for _, f := range findings {
		bad = bad || v.strict || f.Severity == "error"
		if !v.json {
			fmt.Fprintln(cmd.ErrOrStderr(), f.text)
		}
	}
	if v.json {
		enc := json.NewEncoder(cmd.OutOrStdout())
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(findings); err != nil {
			return err
		}
	}
	if bad {
		return exitStatus(1)
	}
	return nil
}
