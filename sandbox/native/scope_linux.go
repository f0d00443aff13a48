package native

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bridge/sandbox"

	"github.com/godbus/dbus/v5"
)

// scopeWait bounds how long systemd may take to put a process in a scope.
const scopeWait = 2 * time.Second

// scopes asks systemd, the user's own or, for root, the system's, for
// transient scopes with limits. It is what rootless containers do, too.
type scopes struct {
	mu     sync.Mutex
	conn   *dbus.Conn
	absent bool // there is no systemd to ask
}

// property and auxiliary are the types of StartTransientUnit's arguments
// (org.freedesktop.systemd1(5)): a(sv) and a(sa(sv)).
type property struct {
	Name  string
	Value dbus.Variant
}

type auxiliary struct {
	Name       string
	Properties []property
}

// start puts the process in a scope of its own and returns the scope's folder.
// The scope goes when its last process does.
func (s *scopes) start(ctx context.Context, pid int, l sandbox.Limits) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, scopeWait)
	defer cancel()
	conn, err := s.connect()
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s%d.scope", prefix, pid)
	set := func(name string, value any) property { return property{name, dbus.MakeVariant(value)} }
	properties := []property{
		set("Description", "a sandbox of bridge"),
		set("PIDs", []uint32{uint32(pid)}),
		set("MemoryMax", uint64(l.Memory)),
		set("MemorySwapMax", uint64(0)),
		set("TasksMax", uint64(l.PIDs)),
		set("CPUQuotaPerSecUSec", uint64(l.CPUs*1e6)),
		set("CollectMode", "inactive-or-failed"),
	}
	systemd := conn.Object("org.freedesktop.systemd1", "/org/freedesktop/systemd1")
	call := systemd.CallWithContext(ctx, "org.freedesktop.systemd1.Manager.StartTransientUnit", 0,
		name, "fail", properties, []auxiliary{})
	if call.Err != nil {
		return "", fmt.Errorf("asking systemd for a scope: %w", call.Err)
	}
	return joined(ctx, pid, name)
}

// joined waits until the process is in the scope: the reply comes when the
// job is queued, not when it is done.
func joined(ctx context.Context, pid int, name string) (string, error) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if path := membership(pid); strings.HasSuffix(path, "/"+name) {
			return filepath.Join(cgroupRoot, path), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", fmt.Errorf("waiting for systemd's %s: %w", name, ctx.Err())
		}
	}
}

// connect returns the connection to the bus, making one if there is none.
func (s *scopes) connect() (*dbus.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil && s.conn.Connected() {
		return s.conn, nil
	}
	if s.absent {
		return nil, os.ErrNotExist
	}
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		s.absent = true
		return nil, err
	}
	conn, err := dial()
	if err != nil {
		return nil, fmt.Errorf("connecting to the bus: %w", err)
	}
	s.conn = conn
	return conn, nil
}

func dial() (*dbus.Conn, error) {
	if os.Geteuid() == 0 {
		return dbus.ConnectSystemBus()
	}
	address := os.Getenv("DBUS_SESSION_BUS_ADDRESS")
	if address == "" {
		address = fmt.Sprintf("unix:path=/run/user/%d/bus", os.Geteuid())
	}
	return dbus.Connect(address)
}

func (s *scopes) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
	s.absent = true
}
