package native

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"bridge/sandbox/native/stage"

	"golang.org/x/sys/unix"
)

// supported tells whether the kernel is new enough for mount_setattr, without
// which the tree could not be read-only from its first moment.
var supported = sync.OnceValue(func() error {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return fmt.Errorf("asking for the kernel's version: %w", err)
	}
	return recent(unix.ByteSliceToString(u.Release[:]))
})

func recent(release string) error {
	var major, minor int
	fmt.Sscanf(release, "%d.%d", &major, &minor)
	if major > 5 || major == 5 && minor >= 12 {
		return nil
	}
	return fmt.Errorf("linux %s is too old, the native engine needs 5.12 or later; use podman or docker", release)
}

// refusal gives the cause of what the kernel refused, as far as it can be
// found out, and after "; " the remedy.
func refusal(err error) error {
	errno, step := syscall.Errno(0), ""
	var failure *stage.Failure
	if errors.As(err, &failure) {
		errno, step = syscall.Errno(failure.Errno), failure.Step
	} else {
		errors.As(err, &errno)
	}
	if cause := crowded(errno); cause != nil {
		return cause
	}
	switch errno {
	case syscall.ENOSPC, syscall.EUSERS:
		if failure == nil {
			return exhausted()
		}
	case syscall.EPERM, syscall.EACCES:
		// Where AppArmor lets a namespace be made, it takes the capabilities
		// in it: then it is the stage that is refused.
		if cause := forbidden(); cause != nil && !strings.HasPrefix(step, execute) {
			return cause
		}
		if failure == nil && filtered() {
			return errors.New("new namespaces are refused by a seccomp filter that bridge itself runs under, as in a container; " +
				"run bridge outside, or start the container with --security-opt seccomp=unconfined")
		}
	case syscall.EINVAL, syscall.ENOSYS:
		if failure == nil {
			return errors.New("this kernel lacks user, pid, net or cgroup namespaces; use podman or docker")
		}
	}
	if failure == nil {
		return fmt.Errorf("the kernel refuses new namespaces (%w); use podman or docker", err)
	}
	if path, ok := strings.CutPrefix(step, execute); ok {
		return fmt.Errorf("executing python %q in the sandbox: %s; name another interpreter with python: in the profile", path, failure.Text)
	}
	if filtered() {
		return fmt.Errorf("making the sandbox: %w; bridge itself runs under a seccomp filter, as in a container, which may be why: run it outside, or start the container with --security-opt seccomp=unconfined", failure)
	}
	return fmt.Errorf("making the sandbox: %w; use podman or docker", failure)
}

// execute begins the name of the stage's last step.
const execute = "execute "

// exhausted finds the kind of namespace of which no more may be made.
func exhausted() error {
	for _, kind := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		name := "user.max_" + kind + "_namespaces"
		if v, ok := sysctl(name); ok && v == 0 {
			return fmt.Errorf("%s namespaces are off (%s is 0); sudo sysctl -w %s=15000", kind, name, name)
		}
	}
	return errors.New("no more namespaces may be made (user.max_user_namespaces and its like); raise them with sudo sysctl -w user.max_user_namespaces=15000")
}

// crowded tells which bound on open files has been met, if it is one.
func crowded(err error) error {
	switch {
	case errors.Is(err, syscall.EMFILE):
		var l unix.Rlimit
		if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
			return errors.New("bridge has as many files open as it may (ulimit -n); raise that, as with ulimit -n 4096")
		}
		return fmt.Errorf("bridge has as many files open as it may (ulimit -n is %d); raise that, as with ulimit -n 4096", l.Cur)
	case errors.Is(err, syscall.ENFILE):
		return errors.New("this machine has as many files open as it may (fs.file-max); raise that, as with sudo sysctl -w fs.file-max=1000000")
	}
	return nil
}

// forbidden looks for who keeps this process from making user namespaces.
func forbidden() error {
	ordinary := os.Geteuid() != 0
	if v, ok := sysctl("kernel.unprivileged_userns_clone"); ok && v == 0 && ordinary {
		return errors.New("user namespaces are off for ordinary users (kernel.unprivileged_userns_clone is 0); sudo sysctl -w kernel.unprivileged_userns_clone=1")
	}
	if v, ok := sysctl("kernel.apparmor_restrict_unprivileged_userns"); ok && v == 1 && ordinary {
		exe, err := os.Executable()
		if err != nil {
			exe = "/path/to/bridge"
		}
		return fmt.Errorf("user namespaces are kept from bridge by AppArmor (kernel.apparmor_restrict_unprivileged_userns is 1); "+
			"write 'abi <abi/4.0>, profile bridge %s flags=(unconfined) { userns, }' to /etc/apparmor.d/bridge and run sudo apparmor_parser -r /etc/apparmor.d/bridge", exe)
	}
	return nil
}

// filtered tells whether this process runs under a seccomp filter.
func filtered() bool {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if mode, ok := strings.CutPrefix(line, "Seccomp:"); ok {
			return strings.TrimSpace(mode) == "2"
		}
	}
	return false
}

func sysctl(name string) (int, bool) {
	text, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	if err != nil {
		return 0, false
	}
	v, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return v, err == nil
}
