package native

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"bridge/sandbox"
	"bridge/sandbox/native/stage"

	"golang.org/x/sys/unix"
)

// fit refuses a spec that asks for what only a container can have: the engine
// would have to leave it out.
func fit(spec sandbox.Spec) error {
	const remedy = "use podman or docker"
	switch {
	case spec.Image != "":
		return fmt.Errorf("the native engine has no images, and the image %q is asked for; %s", spec.Image, remedy)
	case spec.User != "" && spec.User != fmt.Sprintf("%d:%[1]d", guestID):
		return fmt.Errorf("the native engine's user is %d, and %s is asked for; %s", guestID, spec.User, remedy)
	case len(spec.SecurityOpt) > 0:
		return fmt.Errorf("the native engine has no security options of containers, and %q is asked for; %s", spec.SecurityOpt[0], remedy)
	}
	return nil
}

// share adds folders and files of the host to what the sandbox sees.
func share(cfg *stage.Config, mounts []sandbox.Mount) error {
	own := &tree{mounts: cfg.Mounts, links: cfg.Links}
	var shared []stage.Mount
	for _, m := range mounts {
		if at := own.obstacle(m.Target); at != "" {
			return fmt.Errorf("mount %q: its target %q is in the way of %s, which the sandbox needs; name another target", m.Source, m.Target, at)
		}
		info, err := os.Stat(m.Source)
		switch {
		case err != nil && m.Optional:
			continue
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("mount %q: no such file or folder on this machine; make it, or take it out of the profile's mounts", m.Source)
		case err != nil:
			return fmt.Errorf("mount %q: %w", m.Source, errors.Unwrap(err))
		}
		if err := m.Inspect(); err != nil {
			return err
		}
		attr := uint64(readOnly)
		if m.Writable {
			attr = writable
		}
		shared = append(shared, stage.Mount{Source: m.Source, Target: m.Target, Dir: info.IsDir(), Attr: attr})
	}
	if len(shared) == 0 {
		return nil
	}
	cfg.Mounts = append(cfg.Mounts, shared...)
	slices.SortFunc(cfg.Mounts, func(a, b stage.Mount) int { return cmp.Compare(a.Target, b.Target) })
	cfg.Landlock = newLandlock(landlockABI(), cfg.Mounts)
	return nil
}

// obstacle is what of the tree is at a path, around it, or below it.
func (t *tree) obstacle(target string) string {
	for _, m := range t.mounts {
		if within(target, m.Target) || within(m.Target, target) {
			return m.Target
		}
	}
	for _, l := range t.links {
		if within(target, l.Path) || within(l.Path, target) {
			return l.Path
		}
	}
	return ""
}

// enforced is an error if a limit is not held exactly by the kernel.
func enforced(held map[string]string) error {
	var loose []string
	for _, limit := range []string{"memory", "cpus", "pids"} {
		if how := held[limit]; how == "" || how == "watchdog" || how == "affinity" {
			loose = append(loose, limit)
		}
	}
	if len(loose) == 0 {
		return nil
	}
	return fmt.Errorf("limits that are to be enforced are not held by this machine's kernel: %s; run the bridge where it has a cgroup of version 2, or take enforced: true out of the profile's limits", strings.Join(loose, ", "))
}

// isShared tells whether a mount lets the guest write to the host.
func isShared(m stage.Mount) bool { return m.Source != "" && m.Attr&unix.MOUNT_ATTR_RDONLY == 0 }
