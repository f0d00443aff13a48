package native

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Describe looks around and changes nothing. The interpreter is the one that
// a spec names, or the one for "".
func (e *Engine) Describe(ctx context.Context, python string) Facts {
	f := Facts{Landlock: landlockABI()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		f.Kernel = unix.ByteSliceToString(u.Release[:])
		f.Machine = unix.ByteSliceToString(u.Machine[:])
	}
	if v, ok := sysctl("user.max_user_namespaces"); ok && v == 0 {
		f.Namespaces = exhausted()
	} else {
		f.Namespaces = forbidden()
	}
	v, ok := sysctl("kernel.apparmor_restrict_unprivileged_userns")
	f.Restricted = ok && v != 0
	_, err := os.Stat("/proc/sys/kernel/seccomp/actions_avail")
	f.Seccomp = err == nil
	f.Cgroup, f.Delegate = e.cgroups.describe()
	if p, err := e.pythons.find(ctx, python); err != nil {
		f.NoPython = err
	} else {
		f.Python = p.Executable
		f.Version = fmt.Sprintf("%d.%d.%d", p.Version[0], p.Version[1], p.Version[2])
	}
	return f
}

// describe tells the version of cgroups and who would give a sandbox its own.
func (c *cgroups) describe() (version, delegate string) {
	if !unified() {
		if _, err := os.Stat(cgroupRoot); err != nil {
			return "", ""
		}
		return "1", ""
	}
	own := filepath.Join(cgroupRoot, membership(os.Getpid()))
	if has(own, "cgroup.subtree_control", "memory", "pids") || has(own, "cgroup.controllers", "memory", "pids") && given(own) {
		return "2", "own cgroup"
	}
	if _, err := c.scopes.connect(); err == nil {
		return "2", "systemd"
	}
	return "2", ""
}
