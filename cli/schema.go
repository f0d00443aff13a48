package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"bridge/policy"
)

// newSchema is `bridge schema`: the reference manual of policies.
func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "print what a policy may say, as CUE",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), policy.Schema())
			return err
		},
	}
}
