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
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misused(cmd, fmt.Sprintf("unexpected argument %q", args[0]))
			}
			return nil
		},
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
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return misused(cmd, err.Error()) })
	return cmd
}
