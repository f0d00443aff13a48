package docker

import (
	"context"
	"slices"
	"strings"

	"bridge/sandbox"
)

// Facts are what the daemon says of itself.
type Facts struct {
	Endpoint string // its address
	Source   string // what has named the address
	Version  string
	API      string // version of the interface that both sides speak
	System   string // the operating system it runs on
	Rootless bool
	Cgroup   string            // "1" or "2"
	Driver   string            // of cgroups: cgroupfs, systemd or none
	Seccomp  string            // name of its own profile, "" if it cannot filter system calls
	AppArmor bool              // whether it confines containers
	SELinux  bool              // whether it labels them
	Limits   map[string]string // how each limit is held, "" where it is not
	Loose    []string          // names of those that are not
	Warnings []string          // its own words
}

// Describe asks the daemon what it is, anew.
func (e *Engine) Describe(ctx context.Context) (Facts, error) {
	l, err := e.connect(ctx)
	if err != nil {
		return Facts{}, err
	}
	fresh := &link{endpoint: l.endpoint, client: l.client}
	if err := fresh.ask(ctx); err != nil {
		return Facts{}, err
	}
	seccomp, filters := fresh.option("seccomp")
	if seccomp = strings.TrimPrefix(seccomp, "profile="); filters && seccomp == "" {
		seccomp = "default"
	}
	_, apparmor := fresh.option("apparmor")
	_, selinux := fresh.option("selinux")
	held := fresh.held()
	return Facts{
		Endpoint: display(fresh.endpoint.host),
		Source:   fresh.endpoint.source,
		Version:  fresh.info.ServerVersion,
		API:      fresh.client.ClientVersion(),
		System:   fresh.info.OperatingSystem,
		Rootless: fresh.rootless(),
		Cgroup:   fresh.info.CgroupVersion,
		Driver:   fresh.info.CgroupDriver,
		Seccomp:  seccomp,
		AppArmor: apparmor,
		SELinux:  selinux,
		Limits:   held,
		Loose:    sandbox.Loose(held),
		Warnings: slices.Clone(fresh.info.Warnings),
	}, nil
}
