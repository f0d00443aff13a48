package podman

import (
	"net"
	"os"

	"go.podman.io/common/pkg/cgroups"
	"golang.org/x/sys/unix"
)

// peer tells of the process that listens at the other end of a Unix socket
// whether it is of our own user, and whether this process is apart from it, as in
// a container that was given the socket: there the machine's processes have no
// number, and its files are other files.
func peer(c net.Conn) (ours, apart bool) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return false, false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return false, false
	}
	var p *unix.Ucred
	if raw.Control(func(fd uintptr) { p, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }) != nil || err != nil {
		return false, false
	}
	return p.Pid != 0 && int(p.Uid) == os.Geteuid(), p.Pid == 0
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
