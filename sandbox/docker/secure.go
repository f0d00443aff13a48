package docker

import (
	"errors"
	"strings"

	"bridge/sandbox/container"
)

// maskedByDefault are the paths that docker masks unless it is given a list.
var maskedByDefault = []string{
	"/proc/acpi", "/proc/kcore", "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
}

// secure settles what confines the processes.
func (p *plan) secure() error {
	var err error
	if p.user, err = container.User(p.spec); err != nil {
		return err
	}
	c, err := container.Confine(p.spec)
	if err != nil {
		return err
	}
	p.masked = append(c.Masked, maskedByDefault...)
	if p.security, err = p.filters(); err != nil {
		return err
	}
	for _, label := range c.Labels {
		p.security = append(p.security, "label="+label)
	}
	if c.AppArmor != "" {
		p.security = append(p.security, "apparmor="+c.AppArmor)
	}
	return nil
}

// filters are the security options of every sandbox. A seccomp profile that the
// operator gave dockerd stays; docker's default, or none, is replaced by ours,
// which is narrower.
func (d *daemon) filters() ([]string, error) {
	options := []string{"no-new-privileges"}
	theirs, is := d.option("seccomp")
	if !is {
		return nil, errors.New("docker cannot filter system calls here; run it on a kernel with seccomp")
	}
	switch theirs = strings.TrimPrefix(theirs, "profile="); theirs {
	case "", "default", "builtin", "unconfined":
		ours, err := container.Seccomp()
		if err != nil {
			return nil, err
		}
		if len(ours) > 0 {
			return append(options, "seccomp="+string(ours)), nil
		}
		if theirs == "unconfined" {
			return nil, errors.New("docker filters no system calls here; start dockerd without seccomp-profile unconfined")
		}
	}
	return options, nil
}
