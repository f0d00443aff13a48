package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"bridge/policy"
)

// newSchema is `bridge schema`: the reference manual of policies.
func newSchema() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "print what a policy may say, as CUE",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misused(cmd, fmt.Sprintf("unexpected argument %q", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), policy.Schema())
			return err
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return misused(cmd, err.Error()) })
	return cmd
}
