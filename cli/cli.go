// Package cli is the command line of the bridge, one file for each command.
package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// Main runs the command line of the process and returns its exit status: 0,
// 1 for a mistake in what was asked to be done, 2 for a mistake in how it was
// asked. The bridge's own guest image is built from the Containerfile.
func Main(containerfile []byte) int {
	stderr := onScreen(os.Stderr)
	root := Command(containerfile)
	root.SetOut(onScreen(os.Stdout))
	root.SetErr(stderr)
	root.SetArgs(asGoTest(root, os.Args[1:]))
	cmd, err := root.ExecuteC()
	var status exitStatus
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &usage), strings.HasPrefix(err.Error(), "unknown command"):
		hint := "bridge --help"
		if cmd.HasParent() {
			hint = cmd.UseLine()
		}
		fmt.Fprintf(stderr, "bridge: %v\nbridge: hint: %s\n", err, hint)
		return 2
	}
	fmt.Fprintln(stderr, spoken(err.Error()))
	return 1
}

// spoken is a message in the voice of the command line. One that brings its
// own hints has each on a line that begins with "hint: ".
func spoken(message string) string {
	return "bridge: " + strings.ReplaceAll(message, "\nhint: ", "\nbridge: hint: ")
}

// exitStatus ends the process without a further message.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// usageError is a mistake in how a command was called.
type usageError struct{ error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

const manPage = `bridge offers an agent one MCP tool, run_python: a stateful Python session in an
isolated sandbox without network, whose code calls the MCP servers behind it, as
far as a policy allows.

As an MCP server, which is what an MCP client's configuration starts:

    bridge --profile strict

By hand:

    bridge run --profile strict -c 'await runtime.discovered_servers()'
    bridge vet policies/

Policies are CUE files. They are taken from --policies, else from the variable
BRIDGE_POLICIES (paths separated as in PATH), else from the folder
bridge/policies in the user's configuration folder. The current folder is never
searched. Two profiles are built in, "default", which allows every tool of every
server that other clients have, and "strict", which reaches none; a policy can have
its own of these names. Without --profile it is the policy's "default", or its only
profile. When the policies change, the next run of an agent is under the new ones;
if those are wrong, it is told so, and the old ones hold.

Variables of the environment choose where a profile leaves a choice, such as
MCP_BRIDGE_MEMORY_LIMIT=2g; "bridge schema" lists them. MCP_BRIDGE_LOG_LEVEL is
the level of what is logged on stderr: debug, info, warn or error; of more than
100 lines of one level in a second the rest are counted.
MCP_SERVERS_CONFIG is one more file of servers for profiles that discover
"clients". MCP_BRIDGE_ALLOW_SELF_SERVER=true lets a bridge mount a bridge.

Exit status: 0; 1 for a mistake in a policy, a profile or a sandbox that does not
start; 2 for a mistake on the command line. bridge run exits as the code does.`

// Command is the whole command line. The Containerfile is that of the guest's image.
func Command(containerfile []byte) *cobra.Command {
	root := newServe(containerfile)
	root.Use = "bridge"
	root.Short = "one MCP tool, run_python, for many MCP servers, under a policy"
	root.Long = manPage
	root.Version = version
	root.SetVersionTemplate(versionLine())
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("unknown command %q", args[0])
		}
		return nil
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.PersistentFlags().String(standInFlag, "", "the servers of the profile are those that stand in for them in the folder `DIR`")
	root.PersistentFlags().MarkHidden(standInFlag)
	root.AddCommand(newServe(containerfile), newRun(containerfile), newVet(), newExplain(), newInit(), newTest(), newDoctor(containerfile),
		newImage(containerfile), newLogin(), newReplay(), newAuditLog(), newSchema(), newVersion(), newStandIn())
	return root
}
