package podman

import (
	"math"
	"strings"

	"bridge/sandbox"
	"bridge/sandbox/container"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// period is that of the CPU quota, in microseconds.
const period = 100000

// A plan is a container to be made.
type plan struct {
	spec *containerSpec
	held map[string]string
}

// plan says what container a spec means. Whatever is not set here is podman's
// default, which containers.conf may change: what matters is set, always.
func (e *Engine) plan(s *service, spec sandbox.Spec, image string, args []string) (*plan, error) {
	limits := spec.Limits.WithDefaults()
	held := s.host.holds()
	g := &containerSpec{
		Image:       image,
		Entrypoint:  []string{"python3"},
		Command:     args,
		Labels:      container.Labels(spec.Label, e.all.Owner),
		Env:         container.Environment(), // PATH too: the image's would cost a request
		UnsetEnvAll: true,
		Stdin:       true,
		// Podman forgets how a container ended that it removes itself. It has to
		// where no reaper of ours can.
		Remove:           s.keeper == nil,
		Systemd:          "false",
		SdNotifyMode:     "ignore",
		RestartPolicy:    "no",
		LogConfiguration: map[string]string{"driver": "none"},
		HealthConfig:     map[string][]string{"Test": {"NONE"}},
		Hostname:         "sandbox",
		WorkDir:          "/workspace",
		ImageVolumeMode:  "ignore",
	}
	var err error
	if g.SeccompProfilePath, err = s.seccomp(); err != nil {
		return nil, err
	}
	if err := confine(g, spec); err != nil {
		return nil, err
	}
	mounts, err := mounts(spec, s.local())
	if err != nil {
		return nil, err
	}
	g.Mounts = append(tmpfs(limits, g.User), mounts...)
	bound(g, limits, held)
	return &plan{spec: g, held: held}, nil
}

// confine takes everything from the container that a session does not need.
func confine(g *containerSpec, spec sandbox.Spec) error {
	c, err := container.Confine(spec)
	if err != nil {
		return err
	}
	if g.User, err = container.User(spec); err != nil {
		return err
	}
	g.Mask, g.SelinuxOpts, g.ApparmorProfile = c.Masked, c.Labels, c.AppArmor
	g.NetNS = namespace{"none"}
	g.PidNS = namespace{"private"}
	g.UtsNS = namespace{"private"}
	g.IpcNS = namespace{"none"}
	g.CgroupNS = namespace{"private"}
	g.UseImageHosts, g.UseImageResolvConf = true, true
	g.CapDrop = []string{"ALL"}
	g.NoNewPrivileges = true
	g.ReadOnlyFilesystem = true
	g.Umask = "0022"
	return nil
}

// bound sets the limits. One that the service cannot hold is left out, since
// not every version of podman would leave it out itself.
func bound(g *containerSpec, l sandbox.Limits, held map[string]string) {
	r := &g.Resources
	if held["memory"] != "" {
		// Equal: no swap beyond the memory.
		r.Memory = &specs.LinuxMemory{Limit: &l.Memory, Swap: &l.Memory}
	}
	if held["cpus"] != "" {
		// A thousandth of a second is the least that the kernel takes.
		r.CPU = &specs.LinuxCPU{Quota: new(max(int64(math.Ceil(l.CPUs*period)), 1000)), Period: new(uint64(period))}
	}
	if held["pids"] == "cgroup" {
		r.Pids = &specs.LinuxPids{Limit: l.PIDs}
	}
	g.OOMScoreAdj = 1000
	for _, r := range container.Rlimits(l, held) {
		value := uint64(container.Lowered(r))
		g.Rlimits = append(g.Rlimits, specs.POSIXRlimit{Type: r.Name, Soft: value, Hard: value})
	}
}

// tmpfs are the places where the guest may write.
//
// Podman takes no option of a tmpfs but size and mode. It looks at what is
// before the first equals sign, and hands the whole option on to the kernel.
func tmpfs(l sandbox.Limits, user string) []specs.Mount {
	var all []specs.Mount
	for _, t := range container.Writable(l) {
		o := t.Options(user)
		flags, mode, size := o[:4:4], strings.Join(o[4:7], ","), strings.Join(o[7:], ",")
		all = append(all, specs.Mount{Type: "tmpfs", Source: "tmpfs", Destination: t.Target, Options: append(flags, "notmpcopyup", mode, size)})
	}
	return all
}

// mounts are the folders of the host that the spec names.
func mounts(spec sandbox.Spec, local bool) ([]specs.Mount, error) {
	list, err := container.Mounts(spec, local)
	if err != nil {
		return nil, err
	}
	var all []specs.Mount
	for _, m := range list {
		options := []string{"rbind", "nosuid", "nodev", "ro"}
		if m.Writable {
			options[3] = "rw"
		}
		if m.Relabel {
			options = append(options, "z")
		}
		all = append(all, specs.Mount{Type: "bind", Source: m.Source, Destination: m.Target, Options: options})
	}
	return all, nil
}
