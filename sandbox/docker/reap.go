package docker

import (
	"context"
	"runtime"
	"strings"

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
	env := []string{}
	if runtime.GOOS == "windows" {
		env = nil // programs do not start without some of it
	}
	_, err := e.all.Reap(ctx, reaper.Orders{
		Socket:     socket,
		Containers: "/v" + d.client.ClientVersion() + "/containers",
		Force:      "force=1&v=1",
	}, env)
	return err
}
