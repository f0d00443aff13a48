// Command bridge offers an agent one MCP tool, run_python, under a policy.
package main

import (
	"os"

	"bridge/cli"
)

func main() { os.Exit(cli.Main()) }
