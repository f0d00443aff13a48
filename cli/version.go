package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is set by the linker in what make builds. Any other binary has that of
// its module, which Go makes of the commit.
var version = ""

func init() {
	if info, ok := debug.ReadBuildInfo(); ok {
		version = cmp.Or(version, strings.Trim(info.Main.Version, "()"), "devel")
	}
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  noArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprint(cmd.OutOrStdout(), versionLine())
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("bridge %s %s/%s %s\n", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
