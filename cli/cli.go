// Package cli is the command line of the bridge, one file for each command.
package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// Main runs the command line of the process and returns its exit status: 0,
// 1 for a mistake in what was asked to be done, 2 for a mistake in how it was
// asked.
func Main() int {
	root := newRoot()
	err := root.Execute()
	var status exitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	}
	fmt.Fprintf(os.Stderr, "bridge: %v\n", err)
	return 1
}

// exitStatus ends the process without a further message.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "bridge",
		Short:         "one MCP tool, run_python, for many MCP servers, under a policy",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newVet(), newSchema())
	return root
}
