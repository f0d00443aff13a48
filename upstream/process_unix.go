//go:build unix && !linux

package upstream

import (
	"os"
	"sync"
	"syscall"
	"time"

	"bridge/upstream/keeper"
)

// launch starts the server in a process group of its own. Nothing adopts
// orphans here: what leaves the group escapes, and a server outlives a bridge
// that was killed unless it ends at the end of its input, as servers do.
func (p *process) launch(_ string, spec keeper.Spec, stdio [3]*os.File) error {
	cmd := command(spec, stdio)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	group := -cmd.Process.Pid
	p.end = sync.OnceFunc(func() {
		syscall.Kill(group, syscall.SIGTERM)
		go func() {
			select {
			case <-p.gone:
			case <-time.After(time.Second):
			}
			syscall.Kill(group, syscall.SIGKILL)
		}()
	})
	go p.watch(cmd)
	return nil
}
