package podman

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"bridge/sandbox/filter"
	"bridge/sandbox/podman/reaper"
)

// keeper is a reaper's process as the engine sees it.
type keeper struct {
	socket string // of the service that it watches over
	dir    string // a folder of ours, which the reaper removes
	cmd    *exec.Cmd
	orders io.WriteCloser
	once   sync.Once
}

// reap returns the process that outlives us to remove our containers from a
// service, and starts it if need be. Without a socket it starts a service too.
func (e *Engine) reap(ctx context.Context, socket string) (*keeper, error) {
	e.mu.Lock()
	at := slices.IndexFunc(e.keepers, func(k *keeper) bool { return k.socket == socket })
	if at >= 0 {
		defer e.mu.Unlock()
		return e.keepers[at], nil
	}
	e.mu.Unlock()
	program, err := exec.LookPath("podman")
	if err != nil && socket == "" {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bridge-podman-")
	if err != nil {
		return nil, err
	}
	o := reaper.Orders{Socket: socket, Owner: e.owner, Podman: program, Dir: dir}
	if socket == "" {
		o.Socket, o.Serve = filepath.Join(dir, "podman.sock"), true
	}
	k, err := newKeeper(ctx, o)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.keepers = append(e.keepers, k)
	return k, nil
}

func newKeeper(ctx context.Context, o reaper.Orders) (*keeper, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: exe, Args: []string{reaper.Name}, Env: environ(), Dir: "/", SysProcAttr: apart()}
	orders, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	status, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the process that removes what a killed bridge leaves: %w", err)
	}
	k := &keeper{socket: o.Socket, dir: o.Dir, cmd: cmd, orders: orders}
	stop := context.AfterFunc(ctx, func() { cmd.Process.Kill() })
	defer stop()
	err = json.NewEncoder(orders).Encode(o)
	var word string
	if err == nil {
		word, err = bufio.NewReader(status).ReadString('\n')
	}
	if word == reaper.Ready+"\n" && err == nil {
		return k, nil
	}
	k.close()
	if word = strings.TrimSpace(word); word != "" {
		return nil, errors.New(word)
	}
	return nil, fmt.Errorf("the process that removes what a killed bridge leaves ended at once: %w", err)
}

// close ends the process, and the service that it may have started.
func (k *keeper) close() {
	k.once.Do(func() {
		io.WriteString(k.orders, reaper.Done+"\n")
		k.orders.Close()
		k.cmd.Wait()
	})
}

// own starts a service of our own, on a socket that nobody else can reach.
func (e *Engine) own(ctx context.Context) (*service, error) {
	k, err := e.reap(ctx, "")
	if err != nil {
		return nil, err
	}
	s, err := dial(ctx, place{name: "the bridge's own podman system service", options: unixPlace(k.socket).options})
	if err != nil {
		e.forget(k)
		return nil, err
	}
	s.keeper, s.own = k, true
	return s, nil
}

// seccomp is the path of the profile for a service that sees our files, ""
// where podman's own has to do.
func (s *service) seccomp() (string, error) {
	if s.keeper == nil {
		return "", nil
	}
	text, err := filter.Profile()
	if err != nil || len(text) == 0 {
		return "", err
	}
	path := filepath.Join(s.keeper.dir, "seccomp.json")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	// Under its name it is whole, also for a start at the same time.
	f, err := os.CreateTemp(s.keeper.dir, "seccomp-")
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close(), os.Rename(f.Name(), path)); err != nil {
		return "", fmt.Errorf("writing the seccomp profile: %w", err)
	}
	return path, nil
}

// forget ends a reaper that is of no use.
func (e *Engine) forget(k *keeper) {
	e.mu.Lock()
	e.keepers = slices.DeleteFunc(e.keepers, func(other *keeper) bool { return other == k })
	e.mu.Unlock()
	k.close()
}

// environ is what podman needs of our environment, in which there may be
// secrets that are none of its business.
func environ() []string {
	var kept []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		switch {
		case slices.Contains([]string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "DBUS_SESSION_BUS_ADDRESS", "STORAGE_DRIVER", "STORAGE_OPTS"}, name),
			strings.HasPrefix(name, "XDG_"), strings.HasPrefix(name, "CONTAINERS_"):
			kept = append(kept, pair)
		}
	}
	return kept
}
