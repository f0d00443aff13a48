package podman

import (
	"context"

	"bridge/sandbox"

	"github.com/containers/podman/v5/pkg/bindings"
)

// Facts are what podman says of itself.
type Facts struct {
	Endpoint string // its address, or what it was named by
	Own      bool   // whether the bridge has started it
	Version  string
	API      string // version of the interface that it speaks
	System   string // the operating system it runs on
	Rootless bool
	Cgroup   string            // "v1" or "v2"
	Driver   string            // of cgroups: cgroupfs or systemd
	Runtime  string            // what starts its containers: crun, runc
	Seccomp  bool              // whether it filters system calls
	AppArmor bool              // whether it confines containers
	SELinux  bool              // whether it labels them
	Limits   map[string]string // how each limit is held, "" where it is not
	Loose    []string          // names of those that are not
}

// Describe tells what podman is: what answers, if need be one that is started
// for it. The spec says whether one that runs as root may be asked.
func (e *Engine) Describe(ctx context.Context, spec sandbox.Spec) (Facts, error) {
	s, err := e.connect(ctx, spec)
	if err != nil {
		return Facts{}, err
	}
	info, err := s.about(ctx)
	if err != nil {
		return Facts{}, err
	}
	host, held := info.Host, hostOf(info).holds()
	f := Facts{
		Endpoint: s.place.name,
		Own:      s.place.own,
		Version:  info.Version.Version,
		API:      bindings.ServiceVersion(s.conn).String(),
		System:   host.OS + "/" + host.Arch + ", " + host.Kernel,
		Rootless: host.Security.Rootless,
		Cgroup:   host.CgroupsVersion,
		Driver:   host.CgroupManager,
		Seccomp:  host.Security.SECCOMPEnabled,
		AppArmor: host.Security.AppArmorEnabled,
		SELinux:  host.Security.SELinuxEnabled,
		Limits:   held,
		Loose:    sandbox.Loose(held),
	}
	if host.OCIRuntime != nil {
		f.Runtime = host.OCIRuntime.Name
	}
	return f, nil
}
