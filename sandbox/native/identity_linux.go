package native

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// guestID is the user and the group inside.
const guestID = 65534

// spare is an id that owns nothing on any host: far above those that are
// given to people, services and their containers.
const spare = 2000000000

// identity says who the guest is on the host, and who the stage is inside.
type identity struct {
	uids, gids []syscall.SysProcIDMap
	setID      bool // the stage starts as root inside and becomes the guest's id
	ambient    []uintptr
}

// identify maps the guest to an id that owns nothing on the host, which root
// can; any other user can only map it to itself.
//
// Root itself is never the guest's id: files of root would open, and
// RLIMIT_NPROC would not count.
func identify() identity {
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 {
		u, g := spareID("/proc/self/uid_map"), spareID("/proc/self/gid_map")
		if u != 0 && g != 0 {
			return identity{
				uids:  []syscall.SysProcIDMap{{HostID: 0, Size: 1}, {ContainerID: guestID, HostID: u, Size: 1}},
				gids:  []syscall.SysProcIDMap{{HostID: gid, Size: 1}, {ContainerID: guestID, HostID: g, Size: 1}},
				setID: true,
			}
		}
		// Root of a user namespace with a single id: it is somebody's own
		// outside, and is treated like one.
	}
	return identity{
		uids: []syscall.SysProcIDMap{{ContainerID: guestID, HostID: uid, Size: 1}},
		gids: []syscall.SysProcIDMap{{ContainerID: guestID, HostID: gid, Size: 1}},
		// An id other than 0 loses its capabilities when it executes the stage,
		// but for these.
		ambient: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT, unix.CAP_SETPCAP},
	}
}

// spareID picks an id that this user namespace maps: the usual one, or, where
// the namespace is smaller, its last. It is 0 if there is no other than root.
func spareID(file string) int {
	text, _ := os.ReadFile(file)
	last := 0
	for line := range strings.Lines(string(text)) {
		var inside, outside, size int
		if n, _ := fmt.Sscan(line, &inside, &outside, &size); n < 3 {
			continue
		}
		if inside <= spare && spare < inside+size {
			return spare
		}
		last = max(last, inside+size-1)
	}
	return last
}

// attr are the attributes of the new process: every namespace of its own, and
// a session of its own, so that it has no terminal.
func (i identity) attr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		UidMappings:                i.uids,
		GidMappings:                i.gids,
		GidMappingsEnableSetgroups: i.setID,
		AmbientCaps:                i.ambient,
		Pdeathsig:                  syscall.SIGKILL,
		Setsid:                     true,
	}
}
