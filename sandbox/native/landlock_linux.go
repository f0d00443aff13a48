package native

import (
	"bridge/sandbox/native/stage"

	"golang.org/x/sys/unix"
)

const (
	landlockRead = unix.LANDLOCK_ACCESS_FS_READ_FILE
	landlockList = unix.LANDLOCK_ACCESS_FS_READ_DIR
	landlockExec = unix.LANDLOCK_ACCESS_FS_EXECUTE
	landlockNode = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK

	// landlockConnect is not needed for a socket that was made in the sandbox.
	landlockConnect = unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX

	// landlockDevice is what may be done to the few device files.
	landlockDevice = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	// landlockFile are the rights that the rule of a single file can carry.
	landlockFile = landlockDevice | unix.LANDLOCK_ACCESS_FS_EXECUTE
)

// landlockABI is the version of Landlock in this kernel, 0 without it.
func landlockABI() int {
	r, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(r)
}

// newLandlock handles all that this kernel's Landlock can, and allows what
// the tree is for. It is nil where there is no Landlock: the tree holds alone.
//
// Landlock wants Linux 5.13; the versions are those of landlock(7).
func newLandlock(abi int, mounts []stage.Mount) *stage.Landlock {
	if abi < 1 {
		return nil
	}
	l := &stage.Landlock{FS: unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1}
	if abi >= 2 {
		l.FS |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		l.FS |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 4 {
		l.Net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 5 {
		l.FS |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		l.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	if abi >= 9 {
		l.FS |= landlockConnect
	}
	allow := func(path string, access uint64) {
		l.Rules = append(l.Rules, stage.Rule{Path: path, Access: access & l.FS})
	}
	allow("/", landlockList) // which folders there are is the tree's to say
	allow("/proc", landlockRead|landlockList)
	allow("/etc", landlockRead|landlockList)
	for _, m := range mounts {
		switch {
		case m.Source == "", isShared(m) && m.Dir:
			allow(m.Target, l.FS&^(landlockNode|landlockConnect))
		case m.Target == zero:
			allow(m.Target, landlockRead)
		case isDevice(m.Target):
			allow(m.Target, landlockDevice)
		case isShared(m):
			allow(m.Target, landlockRead|landlockExec|unix.LANDLOCK_ACCESS_FS_WRITE_FILE|unix.LANDLOCK_ACCESS_FS_TRUNCATE)
		case m.Dir:
			allow(m.Target, landlockRead|landlockList|landlockExec)
		default:
			allow(m.Target, (landlockRead|landlockExec)&landlockFile)
		}
	}
	return l
}
