package podman

import (
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

// ownHost is the host of a podman that runs as we do, where that is known
// without asking it. What an ordinary user's podman may use of cgroups version 2
// depends on the cgroup that it runs in.
func ownHost() (h host, known bool) {
	v2, err := cgroups.IsCgroup2UnifiedMode()
	if err != nil {
		return host{}, false
	}
	if os.Geteuid() != 0 {
		return host{rootless: true, v1: true}, !v2
	}
	h.v1 = !v2
	h.controllers, err = cgroups.AvailableControllers(nil, v2)
	return h, err == nil
}
