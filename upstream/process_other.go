//go:build !linux

package upstream

import (
	"os"
	"os/exec"

	"bridge/upstream/keeper"
)

// command is how the parts of a spec become a command of package os/exec.
func command(spec keeper.Spec, stdio [3]*os.File) *exec.Cmd {
	return &exec.Cmd{
		Path: spec.Path, Args: spec.Args, Env: spec.Env, Dir: spec.Dir,
		Stdin: stdio[0], Stdout: stdio[1], Stderr: stdio[2],
	}
}

// watch waits for a command that is the server itself, and closes ended and
// gone.
func (p *process) watch(cmd *exec.Cmd) {
	cmd.Wait()
	p.ending = cmd.ProcessState.String()
	close(p.ended)
	close(p.gone)
}
