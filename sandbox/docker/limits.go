package docker

import (
	"fmt"
	"strings"

	"bridge/sandbox"

	"github.com/moby/moby/api/types/container"
)

// held says how the daemon holds each limit, as far as it tells: a rootless
// one has cgroups only of version 2, and only those that systemd delegates.
func (l *link) held() map[string]string {
	held := map[string]string{
		"memory": "", "cpus": "", "pids": "rlimit", "files": "rlimit",
		"tmp": "tmpfs", "workspace": "tmpfs", "shm": "tmpfs",
	}
	// Without a count of swap, version 1 still keeps a group with no
	// swappiness from swapping; version 2 cannot be asked to.
	if l.info.MemoryLimit && (l.info.SwapLimit || l.info.CgroupVersion != "2") {
		held["memory"] = "cgroup"
	}
	if l.info.CPUCfsQuota {
		held["cpus"] = "cgroup"
	}
	if l.info.PidsLimit {
		held["pids"] = "cgroup"
	}
	return held
}

// enforce is an error if a limit is not in force.
func (l *link) enforce() error {
	names := sandbox.Loose(l.held())
	if len(names) == 0 {
		return nil
	}
	remedy := "mount the cgroup controllers"
	if l.rootless() {
		remedy = "use cgroup version 2 and have systemd delegate cpu, memory and pids to users"
	}
	return fmt.Errorf("docker cannot hold these limits here: %s; %s, or do without enforced in the profile's limits", strings.Join(names, ", "), remedy)
}

// resources are the limits that cgroups and rlimits hold.
func (l *link) resources(limits sandbox.Limits) container.Resources {
	r := container.Resources{Ulimits: ulimits(limits)}
	if l.info.MemoryLimit {
		r.Memory = limits.Memory
		if l.info.SwapLimit {
			r.MemorySwap = limits.Memory // memory and swap together
		}
		if l.info.CgroupVersion != "2" {
			r.MemorySwappiness = new(int64)
		}
	}
	if l.info.CPUCfsQuota {
		// More than there are is an error to docker, and so is less than 0.01.
		r.NanoCPUs = int64(max(0.01, min(limits.CPUs, float64(l.info.NCPU))) * 1e9)
	}
	if l.info.PidsLimit {
		r.PidsLimit = &limits.PIDs
	} else {
		// The kernel counts this for all processes of the user, those of
		// other sandboxes too. So it is for want of something better.
		r.Ulimits = append(r.Ulimits, &container.Ulimit{Name: "nproc", Soft: limits.PIDs, Hard: limits.PIDs})
	}
	return r
}

// startup is the memory that runc's first step takes: it runs with the
// container's own rlimits, and compiles the seccomp profile under them.
const startup = 128 << 20

// ulimits are what the kernel counts for each process. None is above what a
// daemon without CAP_SYS_RESOURCE may give, unless the spec asks for it.
func ulimits(limits sandbox.Limits) []*container.Ulimit {
	const slack = 1 << 20
	var all []*container.Ulimit
	for _, u := range []struct {
		name  string
		value int64
	}{
		{"core", 0},
		{"memlock", 0},
		{"msgqueue", 0},
		{"nice", 0},
		{"rtprio", 0},
		{"nofile", limits.Files},
		// A little above the largest tmpfs, so that a full one is "no space
		// left on device" and not a signal.
		{"fsize", max(limits.Tmp, limits.Workspace, limits.Shm) + slack},
		// One process that asks for too much gets a MemoryError, and lives.
		// Where there is less than runc needs to start, it is killed: the
		// cgroup takes what this leaves.
		{"data", max(limits.Memory, startup)},
	} {
		all = append(all, &container.Ulimit{Name: u.name, Soft: u.value, Hard: u.value})
	}
	return all
}
