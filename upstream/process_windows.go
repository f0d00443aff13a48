package upstream

import (
	"os"
	"sync"

	"bridge/upstream/keeper"
)

// launch starts the server. What it starts in turn is its own to end.
func (p *process) launch(_ string, spec keeper.Spec, stdio [3]*os.File) error {
	cmd := command(spec, stdio)
	if err := cmd.Start(); err != nil {
		return err
	}
	p.end = sync.OnceFunc(func() { cmd.Process.Kill() })
	go p.watch(cmd)
	return nil
}
