package native

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bridge/sandbox"
	"bridge/sandbox/native/stage"

	"golang.org/x/sys/unix"
)

const (
	// readOnly is how everything of the host is mounted.
	readOnly = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

	// device is how a device file is mounted: it is to be opened and written.
	device = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC

	// writable is how a tmpfs of the sandbox is mounted. Programs may be run
	// from it: packages with compiled parts, or a script that the guest wrote.
	writable = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
)

// zero is a device that gives memory which can be shared to whoever may write
// to it. Where Landlock cannot forbid that, it is left out.
const zero = "/dev/zero"

// inodes bounds the files in each tmpfs, since empty ones take no bytes of it.
const inodes = "16384"

// tree collects what of the host is to be seen, each at its own path, because
// interpreters and their libraries find each other by absolute paths.
type tree struct {
	mounts []stage.Mount
	links  []stage.Link
}

// newTree is the tree for an interpreter. Not in it: /home, /root, /var,
// /run, /sys, /opt, /srv, and of /etc all but three entries without secrets.
func newTree(py *python, l sandbox.Limits) (*tree, error) {
	t := &tree{}
	if _, err := os.Stat("/usr"); err != nil {
		return nil, fmt.Errorf("this system keeps no programs in /usr; use podman or docker")
	}
	for _, path := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
		"/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime"} {
		t.same(path)
	}
	devices := []string{"/dev/null", "/dev/full", "/dev/random", "/dev/urandom"}
	if landlockABI() > 0 {
		devices = append(devices, zero)
	}
	for _, path := range devices {
		t.mounts = append(t.mounts, stage.Mount{Source: path, Target: path, Attr: device})
	}
	t.links = append(t.links, stage.Link{Target: "/proc/self/fd", Path: "/dev/fd"})
	for i, name := range []string{"stdin", "stdout", "stderr"} {
		t.links = append(t.links, stage.Link{Target: fmt.Sprintf("/proc/self/fd/%d", i), Path: "/dev/" + name})
	}
	t.tmpfs("/tmp", l.Tmp, writable)
	t.tmpfs("/workspace", l.Workspace, writable)
	t.tmpfs("/dev/shm", l.Shm, writable|unix.MOUNT_ATTR_NOEXEC)
	if err := t.python(py); err != nil {
		return nil, err
	}
	slices.SortFunc(t.mounts, func(a, b stage.Mount) int { return cmp.Compare(a.Target, b.Target) })
	return t, nil
}

// same shows a path of the host as it is: a symbolic link as a link. What is
// not there on the host is not there inside.
func (t *tree) same(path string) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
	case info.Mode()&os.ModeSymlink != 0:
		if target, err := os.Readlink(path); err == nil {
			t.links = append(t.links, stage.Link{Target: target, Path: path})
		}
	default:
		t.mounts = append(t.mounts, stage.Mount{Source: path, Target: path, Dir: info.IsDir(), Attr: readOnly})
	}
}

func (t *tree) tmpfs(path string, size int64, attr uint64) {
	id := fmt.Sprint(guestID)
	t.mounts = append(t.mounts, stage.Mount{Target: path, Dir: true, Attr: attr, Options: [][2]string{
		{"size", fmt.Sprint(size)}, {"nr_inodes", inodes}, {"mode", "0700"}, {"uid", id}, {"gid", id}}})
}

// python shows an interpreter with its library and packages.
func (t *tree) python(py *python) error {
	var folders []string
	for _, p := range py.Prefixes {
		folders = append(folders, filepath.Clean(p))
		if real, err := filepath.EvalSymlinks(p); err == nil {
			folders = append(folders, real)
		}
	}
	// Package managers with trees of their own link across all of it.
	for _, whole := range []string{"/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew"} {
		if slices.ContainsFunc(folders, func(f string) bool { return within(f, whole) }) {
			folders = append(folders, whole)
		}
	}
	slices.Sort(folders) // the outer before the inner
	for _, f := range slices.Compact(folders) {
		info, err := os.Stat(f)
		if err != nil || !info.IsDir() || t.shows(f) {
			continue
		}
		if reveals(f) {
			return fmt.Errorf("python %q: its folder %s holds more than Python and would be seen in the sandbox; name a virtual environment in a folder of its own", py.Executable, f)
		}
		t.mounts = append(t.mounts, stage.Mount{Source: f, Target: f, Dir: true, Attr: readOnly})
	}
	// The executable of a virtual environment is a chain of links. They must
	// stay links: Python finds its library by following them.
	for at, hops := py.Executable, 0; hops < 40; hops++ {
		if !t.shows(at) {
			t.same(at)
		}
		target, err := os.Readlink(at)
		if err != nil {
			return nil
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(at), target)
		}
		at = target
	}
	return fmt.Errorf("python %q: too many symbolic links; name another interpreter with python: in the profile", py.Executable)
}

// shows tells whether a path of the host is in the tree already.
func (t *tree) shows(path string) bool {
	return slices.ContainsFunc(t.mounts, func(m stage.Mount) bool { return m.Source != "" && within(path, m.Target) }) ||
		slices.ContainsFunc(t.links, func(l stage.Link) bool { return within(path, l.Path) })
}

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// reveals tells whether a folder holds things that are none of the guest's
// business, or would hide what the sandbox is made of.
func reveals(folder string) bool {
	if home, err := os.UserHomeDir(); err == nil && within(filepath.Clean(home), folder) {
		return true
	}
	for _, whole := range []string{"/etc", "/proc", "/sys", "/dev", "/run", "/boot"} {
		if within(folder, whole) {
			return true
		}
	}
	return filepath.Dir(folder) == "/" || filepath.Dir(folder) == "/home"
}

func isDevice(target string) bool {
	return strings.HasPrefix(target, "/dev/") && target != "/dev/shm"
}

// newConfig is all that the stage needs to know.
func newConfig(py *python, who identity, l sandbox.Limits, args []string) (*stage.Config, error) {
	t, err := newTree(py, l)
	if err != nil {
		return nil, err
	}
	program, err := filter()
	if err != nil {
		return nil, err
	}
	asks, err := sharing()
	if err != nil {
		return nil, err
	}
	path := "/usr/local/bin:/usr/bin:/bin"
	if bin := filepath.Dir(py.Executable); !slices.Contains(strings.Split(path, ":"), bin) {
		path = bin + ":" + path
	}
	mask, count := processors(l.CPUs)
	return &stage.Config{
		Mounts: t.mounts,
		Links:  t.links,
		Files: []stage.File{
			{Path: "/etc/passwd", Text: fmt.Sprintf("sandbox:x:%d:%d:sandbox:/workspace:/bin/sh\n", guestID, guestID)},
			{Path: "/etc/group", Text: fmt.Sprintf("sandbox:x:%d:\n", guestID)},
		},
		Dir:      "/workspace",
		UID:      guestID,
		SetID:    who.setID,
		Landlock: newLandlock(landlockABI(), t.mounts),
		CPUs:     mask,
		CPUCount: count,
		Rlimits:  rlimits(l),
		Seccomp:  program,
		Sharing:  asks,
		Path:     py.Executable,
		Argv:     append([]string{py.Executable}, args...),
		// Nothing of the caller's environment, which holds the servers' secrets.
		Env: []string{
			"PATH=" + path,
			"HOME=/workspace",
			"TMPDIR=/tmp",
			"LANG=C.UTF-8",
			"PYTHONDONTWRITEBYTECODE=1",
			// Each arena of malloc reserves 64 MiB of the address space.
			"MALLOC_ARENA_MAX=2",
		},
	}, nil
}
