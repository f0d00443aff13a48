package podman

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"bridge/sandbox/container"
	"bridge/sandbox/reaper"
)

// reap returns the process that outlives us to remove our containers from a
// service, and starts it if need be. Without a socket it starts a service too.
func (e *Engine) reap(ctx context.Context, socket string) (*reaper.Keeper, error) {
	program, err := exec.LookPath("podman")
	if err != nil && socket == "" {
		return nil, err
	}
	return e.all.Reap(ctx, reaper.Orders{
		Socket:     socket,
		Containers: "/v4.0.0/libpod/containers",
		Force:      "force=true&ignore=true&timeout=0",
		Podman:     program,
		Serve:      socket == "",
		Folder:     "bridge-podman-",
	}, environ())
}

// own starts a service of our own, on a socket that nobody else can reach.
func (e *Engine) own(ctx context.Context) (*service, error) {
	k, err := e.reap(ctx, "")
	if err != nil {
		return nil, err
	}
	p := unixPlace(k.Socket)
	p.name, p.own = "the bridge's own podman system service", true
	s, err := dial(ctx, p)
	if err != nil {
		e.all.End(k)
		return nil, err
	}
	s.keeper = k
	return s, nil
}

// seccomp is the path of the profile for a service that sees our files, ""
// where podman's own has to do.
func (s *service) seccomp() (string, error) {
	if s.keeper == nil || !s.local() {
		return "", nil
	}
	text, err := container.Seccomp()
	if err != nil || len(text) == 0 {
		return "", err
	}
	path := filepath.Join(s.keeper.Dir, "seccomp.json")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	// Under its name it is whole, also for a start at the same time.
	f, err := os.CreateTemp(s.keeper.Dir, "seccomp-")
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close(), os.Rename(f.Name(), path)); err != nil {
		return "", fmt.Errorf("writing the seccomp profile: %w", err)
	}
	return path, nil
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
