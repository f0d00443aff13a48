// Command bridge offers an agent one MCP tool, run_python, under a policy.
package main

import (
	_ "embed"
	"os"

	"bridge/cli"
)

//go:embed Containerfile
var containerfile []byte

func main() { os.Exit(cli.Main(containerfile)) }
