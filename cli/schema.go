package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"bridge/policy"
)

// newSchema is `bridge schema`: the reference manual of policies.
func newSchema() *cobra.Command {
	var defaults bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "print what a policy may say, as CUE",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := policy.Schema()
			if defaults {
				text = policy.Defaults()
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().BoolVar(&defaults, "defaults", false, "print what holds where a policy says nothing")
	return cmd
}
