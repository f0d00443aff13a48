package docker

import (
	"context"
	"runtime"
	"strings"

	"bridge/sandbox/owner"
	"bridge/sandbox/reaper"
)

// reap sees to it that there is a process which removes our containers should
// we be killed. It needs a socket: a daemon on another machine is reached with
// keys and through tunnels, which are not for another process, so that there
// the end of the guest's input has to do.
func (e *Engine) reap(ctx context.Context, l *link) error {
	socket, local := strings.CutPrefix(l.endpoint.host, "unix://")
	if !local {
		return nil
	}
	e.reaping.Lock()
	defer e.reaping.Unlock()
	if k := e.keeper; k != nil {
		if k.Socket == socket && !k.Ended() {
			return nil
		}
		k.Close()
		e.keeper = nil
	}
	e.mu.Lock()
	closed := e.closed
	e.mu.Unlock()
	if closed {
		return errClosed
	}
	env := []string{}
	if runtime.GOOS == "windows" {
		env = nil // programs do not start without some of it
	}
	k, err := reaper.Start(ctx, reaper.Orders{
		Socket:     socket,
		Containers: "/v" + l.client.ClientVersion() + "/containers",
		Force:      "force=1&v=1",
		Label:      owner.Label + "=" + e.owner,
	}, env)
	if err != nil {
		return err
	}
	e.keeper = k
	return nil
}
