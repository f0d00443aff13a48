package docker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"bridge/sandbox/docker/reaper"
)

// keeper is a reaper's process, as the engine sees it.
type keeper struct {
	socket string
	orders io.WriteCloser
	ended  chan struct{}
}

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
		select {
		case <-k.ended:
		default:
			if k.socket == socket {
				return nil
			}
		}
		k.dismiss()
		e.keeper = nil
	}
	e.mu.Lock()
	closed := e.closed
	e.mu.Unlock()
	if closed {
		return errClosed
	}
	me, err := self()
	if err != nil {
		return err
	}
	k, err := newKeeper(ctx, reaper.Orders{Socket: socket, API: l.client.ClientVersion(), Label: labelOwner + "=" + me.String()})
	if err != nil {
		return fmt.Errorf("starting the process that removes what a killed bridge leaves: %w", err)
	}
	e.keeper = k
	return nil
}

func newKeeper(ctx context.Context, o reaper.Orders) (*keeper, error) {
	exe := "/proc/self/exe" // is there even when the file was replaced
	if runtime.GOOS != "linux" {
		var err error
		if exe, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	cmd := &exec.Cmd{Path: exe, Args: []string{reaper.Name}, Env: []string{}, Dir: os.TempDir(), SysProcAttr: apart()}
	if runtime.GOOS == "windows" {
		cmd.Env = nil // programs do not start without some of it
	}
	orders, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	status, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	k := &keeper{socket: o.Socket, orders: orders, ended: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { cmd.Process.Kill() })
	err = json.NewEncoder(orders).Encode(o)
	var word string
	if err == nil {
		word, err = bufio.NewReader(status).ReadString('\n')
	}
	go func() {
		defer close(k.ended)
		cmd.Wait()
	}()
	if stop() && word == reaper.Ready {
		return k, nil
	}
	k.dismiss()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("it ended at once: %w", err)
}

// dismiss ends the process; it removes nothing.
func (k *keeper) dismiss() {
	io.WriteString(k.orders, reaper.Done)
	k.orders.Close()
	<-k.ended
}
