package docker

import (
	"fmt"
	"strings"

	"bridge/sandbox"
	"bridge/sandbox/container"

	api "github.com/moby/moby/api/types/container"
)

// held says how the daemon holds each limit, as far as it tells: a rootless one
// has only the cgroups of version 2 that systemd delegates.
func (d *daemon) held() map[string]string {
	// Without a count of swap, version 1 still keeps a group with no
	// swappiness from swapping; version 2 cannot be asked to.
	memory := d.info.MemoryLimit && (d.info.SwapLimit || d.info.CgroupVersion != "2")
	return container.Held(memory, d.info.CPUCfsQuota, d.info.PidsLimit)
}

// enforce is an error if a limit is not in force.
func (d *daemon) enforce() error {
	names := sandbox.Loose(d.held())
	if len(names) == 0 {
		return nil
	}
	remedy := "mount the cgroup controllers"
	if d.rootless() {
		remedy = "use cgroup version 2 and have systemd delegate cpu, memory and pids to users"
	}
	return fmt.Errorf("docker cannot hold these limits here: %s; %s, or do without enforced in the profile's limits", strings.Join(names, ", "), remedy)
}

// resources are the limits that cgroups and rlimits hold.
func (d *daemon) resources(limits sandbox.Limits) api.Resources {
	r := api.Resources{}
	for _, l := range container.Rlimits(limits, d.held()) {
		if l.Name == "as" {
			continue // the runc of docker reserves more than the least memory leaves it
		}
		if l.Name != "nofile" { // of which a daemon that runs as root may give what the spec says
			l.Value = container.Lowered(l)
		}
		r.Ulimits = append(r.Ulimits, &api.Ulimit{Name: l.Name, Soft: l.Value, Hard: l.Value})
	}
	if d.info.MemoryLimit {
		r.Memory = limits.Memory
		if d.info.SwapLimit {
			r.MemorySwap = limits.Memory // memory and swap together
		}
		if d.info.CgroupVersion != "2" {
			r.MemorySwappiness = new(int64)
		}
	}
	if d.info.CPUCfsQuota {
		// Docker refuses more than there are, and less than 0.01.
		r.NanoCPUs = int64(max(0.01, min(limits.CPUs, float64(d.info.NCPU))) * 1e9)
	}
	if d.info.PidsLimit {
		r.PidsLimit = &limits.PIDs
	}
	return r
}
