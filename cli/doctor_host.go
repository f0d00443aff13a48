package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"strings"

	"bridge/sandbox"
	"bridge/sandbox/engines"
	"bridge/sandbox/native"
)

// examineHost looks at what this machine offers to engines.
func examineHost(ctx context.Context, spec sandbox.Spec) []check {
	e := native.New()
	defer e.Close()
	f := e.Describe(ctx, spec.Python)
	checks := []check{{"kernel", ok, strings.TrimSpace(fmt.Sprintf("%s %s on %s", system(), f.Kernel, f.Machine)), ""}}
	if runtime.GOOS != "linux" {
		return checks // the engines' machines are elsewhere
	}
	return append(checks, userNamespaces(f), appArmor(f), seccomp(f), landlock(f), cgroups(f), subordinates(), seLinux())
}

func system() string {
	if runtime.GOOS == "linux" {
		return "Linux"
	}
	return ""
}

func userNamespaces(f native.Facts) check {
	if f.Namespaces == nil {
		return check{"user namespaces", ok, "may be made", ""}
	}
	r := engines.NewRefusal("native", f.Namespaces)
	return check{"user namespaces", warn, r.Cause, r.Remedy}
}

func appArmor(f native.Facts) check {
	switch {
	case !f.Restricted:
		return check{"apparmor", ok, "does not keep user namespaces from anybody", ""}
	case os.Geteuid() == 0:
		return check{"apparmor", ok, "keeps user namespaces from ordinary users without a profile, not from root", ""}
	}
	exe, err := os.Executable()
	if err != nil {
		exe = "/usr/local/bin/bridge"
	}
	return check{"apparmor", warn, "keeps user namespaces from programs without a profile (kernel.apparmor_restrict_unprivileged_userns is 1)",
		fmt.Sprintf("echo 'abi <abi/4.0>, profile bridge %s flags=(unconfined) { userns, }' | sudo tee /etc/apparmor.d/bridge && sudo apparmor_parser -r /etc/apparmor.d/bridge", exe)}
}

func seccomp(f native.Facts) check {
	if f.Seccomp {
		return check{"seccomp", ok, "the kernel filters system calls", ""}
	}
	return check{"seccomp", warn, "the kernel cannot filter system calls", "use a kernel with CONFIG_SECCOMP_FILTER"}
}

func landlock(f native.Facts) check {
	if f.Landlock > 0 {
		return check{"landlock", ok, fmt.Sprintf("version %d", f.Landlock), ""}
	}
	return check{"landlock", warn, "not in use by this kernel; native sandboxes are held by their mounts alone",
		"add landlock to lsm= on the kernel's command line (cat /sys/kernel/security/lsm shows the present list)"}
}

func cgroups(f native.Facts) check {
	switch {
	case f.Cgroup == "2" && f.Delegate == "systemd":
		return check{"cgroups", ok, "version 2; systemd gives each sandbox its own", ""}
	case f.Cgroup == "2" && f.Delegate != "":
		return check{"cgroups", ok, "version 2; a part of the tree is delegated to the bridge", ""}
	case f.Cgroup == "2":
		return check{"cgroups", warn, "version 2, but none is delegated to the bridge; native limits memory by a watchdog and rlimits, which do not count all that the kernel holds for it",
			"systemd-run --user --scope -p Delegate=yes bridge …, or log in with a systemd of your own: sudo loginctl enable-linger $USER"}
	case f.Cgroup == "":
		return check{"cgroups", warn, "none; native limits memory by a watchdog and rlimits, which do not count all that the kernel holds for it", "mount -t cgroup2 none /sys/fs/cgroup"}
	}
	return check{"cgroups", warn, "version 1; native, and rootless engines, cannot use them to limit memory, processors and processes; native's watchdog does not count all that the kernel holds for a sandbox",
		"boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line"}
}

// subordinates are the ids that rootless engines give to those inside.
func subordinates() check {
	const what = "subordinate ids"
	if os.Geteuid() == 0 {
		return check{what, ok, "not needed by root", ""}
	}
	id := strconv.Itoa(os.Geteuid())
	u, err := user.LookupId(id)
	if err != nil {
		u = &user.User{Username: id, Uid: id} // not in /etc/passwd, and may be listed all the same
	}
	for _, file := range []string{"/etc/subuid", "/etc/subgid"} {
		if !listed(file, u.Username, u.Uid) {
			return check{what, warn, fmt.Sprintf("%s is not in %s; rootless podman and docker need them", u.Username, file),
				fmt.Sprintf("sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 %s", u.Username)}
		}
	}
	return check{what, ok, u.Username + " has some in /etc/subuid and /etc/subgid", ""}
}

// listed tells whether a file such as /etc/subuid has an entry for the user.
func listed(file, name, id string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if who, _, _ := strings.Cut(lines.Text(), ":"); who == name || who == id {
			return true
		}
	}
	return false
}

func seLinux() check {
	mode, err := os.ReadFile("/sys/fs/selinux/enforce")
	switch {
	case err != nil:
		return check{"selinux", ok, "not in use", ""}
	case strings.TrimSpace(string(mode)) == "0":
		return check{"selinux", ok, "permissive", ""}
	}
	return check{"selinux", ok, "enforcing; folders that a profile mounts need relabel: true to be read", ""}
}
