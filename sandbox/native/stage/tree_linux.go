package stage

import (
	"os"
	"path"
	"syscall"
	"unsafe"
)

// base is where the new root is attached before it becomes the root. Any
// folder would do: everything that is mounted is held by a descriptor by then.
const base = "/usr"

// buildTree makes the tree and leaves the host's behind. Each mount has its
// attributes before it is attached, so there is no moment at which something
// of the host is there and writable; that wants the mount API of Linux 5.12.
func buildTree(c *Config) error {
	fds := make([]uintptr, len(c.Mounts))
	for i, m := range c.Mounts {
		var err error
		if m.Source == "" {
			fds[i], err = newTmpfs(m)
		} else {
			fds[i], err = cloneTree(m)
		}
		if err != nil {
			return err
		}
	}
	root, err := newTmpfs(Mount{Target: "/", Attr: attrNosuid | attrNodev,
		Options: [][2]string{{"size", "64k"}, {"nr_inodes", "1024"}, {"mode", "0755"}}})
	if err != nil {
		return err
	}
	// Nothing that is mounted from here on may reach the host.
	if err := refused("making mounts private", syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")); err != nil {
		return err
	}
	if err := attach(root, base, "/"); err != nil {
		return err
	}
	for i, m := range c.Mounts {
		if err := place(fds[i], m); err != nil {
			return err
		}
	}
	if err := fill(c); err != nil {
		return err
	}
	return enter()
}

// place makes the mount point and attaches the mount to it. A mount point
// that is there already, in a mount that holds this one, is used as it is.
func place(fd uintptr, m Mount) error {
	at := base + m.Target
	if m.Dir {
		if err := os.MkdirAll(at, 0o755); err != nil {
			return refused("mkdir "+m.Target, err)
		}
	} else {
		if err := os.MkdirAll(path.Dir(at), 0o755); err != nil {
			return refused("mkdir "+path.Dir(m.Target), err)
		}
		if _, err := os.Lstat(at); err != nil {
			if err := os.WriteFile(at, nil, 0o644); err != nil {
				return refused("create "+m.Target, err)
			}
		}
	}
	return attach(fd, at, m.Target)
}

// fill makes the links, the small files and /proc.
func fill(c *Config) error {
	for _, l := range c.Links {
		if err := os.MkdirAll(path.Dir(base+l.Path), 0o755); err != nil {
			return refused("mkdir "+path.Dir(l.Path), err)
		}
		if err := os.Symlink(l.Target, base+l.Path); err != nil {
			return refused("symlink "+l.Path, err)
		}
	}
	for _, f := range c.Files {
		if err := os.MkdirAll(path.Dir(base+f.Path), 0o755); err != nil {
			return refused("mkdir "+path.Dir(f.Path), err)
		}
		if err := os.WriteFile(base+f.Path, []byte(f.Text), 0o644); err != nil {
			return refused("write "+f.Path, err)
		}
	}
	if err := os.MkdirAll(base+"/proc", 0o555); err != nil {
		return refused("mkdir /proc", err)
	}
	// subset=pid leaves out /proc/sys, kallsyms, keys and all else that is not
	// a process. A container that masks parts of its own /proc may not mount
	// another (EPERM): then the guest has none, and Python does without.
	const flags = syscall.MS_RDONLY | syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC
	err := syscall.Mount("proc", base+"/proc", "proc", flags, "subset=pid,hidepid=2")
	if err != nil && err != syscall.EPERM {
		return refused("mount /proc", err)
	}
	return nil
}

// enter makes the new tree the root and forgets the old one.
func enter() error {
	if err := refused("chdir", syscall.Chdir(base)); err != nil {
		return err
	}
	// With both arguments the same, the old root is put on top of the new one,
	// from where it is detached: no folder for it is left in the tree.
	if err := refused("pivot_root", syscall.PivotRoot(".", ".")); err != nil {
		return err
	}
	if err := refused("detaching the old root", syscall.Unmount(".", syscall.MNT_DETACH)); err != nil {
		return err
	}
	if err := refused("chdir /", syscall.Chdir("/")); err != nil {
		return err
	}
	attr := mountAttr{set: attrReadonly}
	return sys("making / read-only", sysMountSetattr, atCwd, cstring("/"), 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
}

// hideMounts keeps where the mounts come from on the host out of sight. The
// kernel lists those of a process's mount namespace, as far as they can be
// reached from its root. So the process moves to another namespace, and its
// root stays behind in the first one: in what it then has, nothing is reached.
//
// The parent keeps the first namespace, which would else end here.
func hideMounts() error {
	root, err := syscall.Open("/", oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return refused("open /", err)
	}
	defer syscall.Close(root)
	if err := sys("unshare", syscall.SYS_UNSHARE, syscall.CLONE_NEWNS); err != nil {
		return err
	}
	if err := refused("fchdir /", syscall.Fchdir(root)); err != nil {
		return err
	}
	return refused("chroot", syscall.Chroot("."))
}

// cloneTree takes a path of the host, with what is mounted below it, as a
// detached mount.
func cloneTree(m Mount) (uintptr, error) {
	fd, err := open("open_tree "+m.Source, sysOpenTree, atCwd, cstring(m.Source), openTreeClone|openTreeCloexec|atRecursive)
	if err != nil {
		return 0, err
	}
	attr := mountAttr{set: m.Attr, propagation: syscall.MS_PRIVATE}
	return fd, sys("mount_setattr "+m.Source, sysMountSetattr, fd, cstring(""), atEmptyPath|atRecursive,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
}

func newTmpfs(m Mount) (uintptr, error) {
	fs, err := open("fsopen tmpfs", sysFsopen, cstring("tmpfs"), fsopenCloexec)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(int(fs))
	for _, o := range m.Options {
		if err := sys("tmpfs "+o[0], sysFsconfig, fs, fsconfigSetString, cstring(o[0]), cstring(o[1]), 0); err != nil {
			return 0, err
		}
	}
	if err := sys("tmpfs "+m.Target, sysFsconfig, fs, fsconfigCreate, 0, 0, 0); err != nil {
		return 0, err
	}
	return open("fsmount "+m.Target, sysFsmount, fs, fsmountCloexec, uintptr(m.Attr))
}

func attach(fd uintptr, at, target string) error {
	defer syscall.Close(int(fd))
	return sys("mounting "+target, sysMoveMount, fd, cstring(""), atCwd, cstring(at), moveMountEmptyPath)
}
