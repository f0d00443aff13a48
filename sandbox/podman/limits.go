package podman

import (
	"fmt"
	"slices"
	"strings"

	"bridge/sandbox"
	"bridge/sandbox/container"
)

// A host is what decides how a service can hold limits.
type host struct {
	rootless    bool
	v1          bool     // of cgroups
	controllers []string // of cgroups, that the service may use
}

// hostOf is the host as the service describes it.
func hostOf(info information) host {
	h := info.Host
	return host{rootless: h.Security.Rootless, v1: h.CgroupsVersion == "v1", controllers: h.CgroupControllers}
}

// holds tells how podman holds each limit on a host, "" where it does not.
func (h host) holds() map[string]string {
	if h.rootless && h.v1 {
		return container.Held(false, false, false)
	}
	may := func(controller string) bool { return slices.Contains(h.controllers, controller) }
	return container.Held(may("memory"), may("cpu"), may("pids"))
}

// fits tells whether the service holds what the spec demands to be held.
func (s *service) fits(spec sandbox.Spec) error {
	if !spec.Enforced {
		return nil
	}
	loose := sandbox.Loose(s.host.holds())
	if len(loose) == 0 {
		return nil
	}
	why := "its cgroups are not delegated; run: systemctl --user restart podman.socket on a machine that delegates them, or use a podman that runs as root, with rootful: true"
	if s.host.v1 {
		why = "rootless on cgroup v1; use a machine with cgroup v2, or a podman that runs as root, with rootful: true"
	}
	return fmt.Errorf("podman cannot hold the limits of %s: %s", strings.Join(loose, ", "), why)
}
