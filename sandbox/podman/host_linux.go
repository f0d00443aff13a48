package podman

import (
	"fmt"
	"net"
	"os"

	"go.podman.io/common/pkg/cgroups"
	"golang.org/x/sys/unix"
)

// ours tells whether it is a process of our own user, and on this machine, that
// listens at the other end of a Unix socket. From within a container the
// machine's processes have no number.
func ours(c net.Conn) bool {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return false
	}
	var peer *unix.Ucred
	if raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }) != nil || err != nil {
		return false
	}
	return peer.Pid != 0 && int(peer.Uid) == os.Geteuid()
}

// ownHost is the host of a service that is one of our processes, as podman
// would describe it.
func ownHost() (host, error) {
	v2, err := cgroups.IsCgroup2UnifiedMode()
	if err != nil {
		return host{}, fmt.Errorf("finding out the version of cgroups: %w", err)
	}
	h := host{rootless: os.Geteuid() != 0, v1: !v2}
	// Those of an ordinary user on version 1 are nobody's.
	if !h.rootless || v2 {
		h.controllers, err = cgroups.AvailableControllers(nil, v2)
	}
	if err != nil {
		return host{}, fmt.Errorf("finding out the controllers of cgroups: %w", err)
	}
	return h, nil
}
