// Package container is what the engines that run sandboxes as containers share:
// the image, the environment, the user, what is masked, the mounts, the limits,
// the seccomp profile, the streams, the pool of warm containers, and the labels
// that say which bridge a container belongs to.
//
// It does not know any engine's API. Each engine turns these values into its
// own, and says in a comment where it must differ.
package container

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"bridge/sandbox"
)

// DefaultUser is the user and group of the guest, unless the spec names others.
const DefaultUser = "65534:65534"

// Facts describe an engine.
type Facts struct {
	Endpoint string // its address
	Source   string // what named the address; "" if it is where the engine listens by default
	Version  string
	API      string // version of the API that both sides speak
	Rootless bool
	Cgroup   string            // version of cgroups: "1" or "2"
	Limits   map[string]string // how each limit is held, as in sandbox.Sandbox
	Warnings []string          // the engine's own
}

// Environment is the whole environment of the guest.
func Environment() map[string]string { return maps.Clone(environment) }

var environment = map[string]string{
	"PATH":                    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME":                    "/workspace",
	"TMPDIR":                  "/tmp",
	"LANG":                    "C.UTF-8",
	"PYTHONDONTWRITEBYTECODE": "1",
	"MPLBACKEND":              "Agg",
	// Each arena of malloc reserves 64 MiB of address space.
	"MALLOC_ARENA_MAX": "2",
}

// User returns the user and group of the guest, as UID:GID.
func User(spec sandbox.Spec) (string, error) {
	if spec.User == "" {
		return DefaultUser, nil
	}
	uid, gid, both := strings.Cut(spec.User, ":")
	if !both {
		gid = uid
	}
	for _, id := range []string{uid, gid} {
		if n, err := strconv.ParseUint(id, 10, 31); err != nil || n == 0 {
			return "", fmt.Errorf("user %q: must be a user and a group other than root's, by their numbers, such as %s", spec.User, DefaultUser)
		}
	}
	return uid + ":" + gid, nil
}

// masked are paths that engines show in a container and that a session does not
// need. Process 1 runs as the session's user, who must not rewrite its memory.
var masked = []string{
	"/sys", "/dev/mqueue", "/dev/pts", "/proc/asound", "/proc/config.gz", "/proc/interrupts", "/proc/kallsyms", "/proc/keys",
	"/proc/modules", "/proc/sysrq-trigger", "/proc/version", "/proc/1/mem", "/proc/1/task/1/mem",
}

// Confinement is what confines the guest's processes besides its seccomp profile.
type Confinement struct {
	Masked   []string // paths that are hidden
	Labels   []string // options of SELinux's label, such as type:container_t
	AppArmor string   // profile, "" for the engine's own
}

// Confine returns what hides and labels a sandbox: the fixed part, and the
// security options of the spec, which can only add to it.
func Confine(spec sandbox.Spec) (Confinement, error) {
	c := Confinement{Masked: slices.Clone(masked)}
	for _, option := range spec.SecurityOpt {
		name, value, _ := strings.Cut(option, "=")
		key, _, _ := strings.Cut(value, ":")
		paths := strings.Split(value, ":")
		switch {
		case name == "no-new-privileges" && value != "false":
		case name == "label" && slices.Contains([]string{"type", "user", "role", "level"}, key):
			c.Labels = append(c.Labels, value)
		case name == "apparmor" && value != "unconfined" && value != "":
			c.AppArmor = value
		case name == "mask" && !slices.ContainsFunc(paths, func(p string) bool { return !path.IsAbs(p) }):
			c.Masked = append(c.Masked, paths...)
		default:
			return Confinement{}, fmt.Errorf("security option %q does not add to the sandbox's confinement; these do: label=…, apparmor=PROFILE, mask=PATHS", option)
		}
	}
	return c, nil
}

// ImageOf is the image that a spec means, on an engine whose own is given.
func ImageOf(spec sandbox.Spec, own string) (string, error) {
	switch {
	case spec.Image != "":
		return spec.Image, nil
	case own != "":
		return own, nil
	}
	return "", errors.New("no image is named; name one with image: in the profile")
}

// Pulls reports whether a missing image may be pulled. The bridge's own is in no
// registry.
func Pulls(spec sandbox.Spec, own string) bool {
	return spec.Pull && spec.Image != "" && spec.Image != own
}

// MissingImage is the error of an image that the engine does not have.
func MissingImage(engine, name, own string) error {
	if name == own {
		return fmt.Errorf("image %q is not on %s; run: bridge image build --engine %s", name, engine, engine)
	}
	return fmt.Errorf("image %q is not on %s; run: %s pull %s", name, engine, engine, name)
}

// ExitOf decodes the one number that engines give for a status and a signal: a
// process that exits with 128 and more looks like one that a signal has ended.
func ExitOf(code int) sandbox.Exit {
	const signals = 64
	if code > 128 && code <= 128+signals {
		return sandbox.Exit{Code: -1, Signal: code - 128}
	}
	return sandbox.Exit{Code: code}
}

// IsClosed reports whether a channel that carries no values is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
