package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"bridge/policy"
)

// newVet is `bridge vet`: it reports every mistake of a policy.
func newVet() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "vet PATH...",
		Short: "report the mistakes in a policy",
		Long: `Vet reads a policy, which is the .cue files that are named and those directly
in the folders that are named, together. It is silent and exits with 0 if the
policy is right. If not it prints each mistake as file:line:col: field: message
and exits with 1.

"bridge schema" prints what a policy may say.`,
		Example: `  bridge vet policies/
  bridge vet --json servers.cue team.cue`,
		Args: func(_ *cobra.Command, paths []string) error {
			if len(paths) == 0 {
				return usagef("no policy named")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, paths []string) error {
			_, err := policy.Load(paths)
			var mistakes policy.Errors
			if err != nil && !errors.As(err, &mistakes) {
				return err
			}
			if asJSON {
				if err := printMistakes(cmd.OutOrStdout(), mistakes); err != nil {
					return err
				}
			} else if len(mistakes) > 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), mistakes)
			}
			if len(mistakes) > 0 {
				return exitStatus(1)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the mistakes on stdout, as a JSON array of {file, line, col, path, message}")
	return cmd
}

// printMistakes writes the mistakes as JSON. A line of 0 means the file as a
// whole.
func printMistakes(w io.Writer, mistakes policy.Errors) error {
	type mistake struct {
		File    string `json:"file"`
		Line    int    `json:"line"`
		Col     int    `json:"col"`
		Path    string `json:"path"`
		Message string `json:"message"`
	}
	list := make([]mistake, len(mistakes)) // not nil, which would be null
	for i, m := range mistakes {
		list[i] = mistake{m.Pos.File, m.Pos.Line, m.Pos.Col, m.Path, m.Message}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(list)
}
