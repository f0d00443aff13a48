package docker

import (
	"context"
	"runtime"
	"strings"

	"bridge/sandbox/container"
	"bridge/sandbox/reaper"
)

// reap starts the process that removes our containers if we are killed, unless
// it runs already. It needs a socket: a daemon on another machine is reached with
// keys and through tunnels, which another process does not have. There, the end
// of the guest's input ends the container.
func (e *Engine) reap(ctx context.Context, d *daemon) error {
	socket, local := strings.CutPrefix(d.endpoint.host, "unix://")
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
		Containers: "/v" + d.client.ClientVersion() + "/containers",
		Force:      "force=1&v=1",
		Label:      container.OwnerLabel + "=" + e.owner,
	}, env)
	if err != nil {
		return err
	}
	e.keeper = k
	return nil
}
