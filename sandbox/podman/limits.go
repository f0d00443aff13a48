package podman

import (
	"fmt"
	"slices"
	"strings"

	"bridge/sandbox"
)

// withDefaults fills in what the spec leaves open.
func withDefaults(l sandbox.Limits) sandbox.Limits {
	l.Memory = or(l.Memory, 512<<20)
	l.PIDs = or(l.PIDs, 64)
	l.Files = or(l.Files, 256)
	l.Tmp = or(l.Tmp, 64<<20)
	l.Workspace = or(l.Workspace, 64<<20)
	l.Shm = or(l.Shm, 64<<20)
	if !(l.CPUs > 0) { // NaN too
		l.CPUs = 1
	}
	return l
}

// holds tells how the service holds each limit, "" where it does not.
func (s *service) holds() map[string]string {
	held := map[string]string{
		"memory": "", "cpus": "", "pids": "rlimit",
		"files": "rlimit", "tmp": "tmpfs", "workspace": "tmpfs", "shm": "tmpfs",
	}
	host := s.info.Host
	if s.rootless() && host.CgroupsVersion == "v1" {
		return held
	}
	for name, controller := range map[string]string{"memory": "memory", "cpus": "cpu", "pids": "pids"} {
		if slices.Contains(host.CgroupControllers, controller) {
			held[name] = "cgroup"
		}
	}
	return held
}

// fits tells whether the service holds what the spec demands to be held.
func (s *service) fits(spec sandbox.Spec) error {
	if !spec.Enforced {
		return nil
	}
	loose := s.loose()
	if len(loose) == 0 {
		return nil
	}
	why := "its cgroups are not delegated; run: systemctl --user restart podman.socket on a machine that delegates them, or use a podman that runs as root, with rootful: true"
	if s.info.Host.CgroupsVersion == "v1" {
		why = "rootless on cgroup v1; use a machine with cgroup v2, or a podman that runs as root, with rootful: true"
	}
	return fmt.Errorf("podman cannot hold the limits of %s: %s", strings.Join(loose, ", "), why)
}

// loose are the limits that the service does not hold.
func (s *service) loose() []string {
	var names []string
	for name, how := range s.holds() {
		if how == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
