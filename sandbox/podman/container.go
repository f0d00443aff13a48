package podman

import (
	"math"
	"strings"

	"bridge/sandbox"
	"bridge/sandbox/container"

	"github.com/containers/podman/v5/pkg/specgen"
	"github.com/opencontainers/runtime-spec/specs-go"
	"go.podman.io/image/v5/manifest"
)

// period is that of the CPU quota, in microseconds.
const period = 100000

// A plan is a container to be made.
type plan struct {
	spec *specgen.SpecGenerator
	held map[string]string
}

// plan says what container a spec means. Whatever is not set here is podman's
// default, which containers.conf may change: what matters is set, always.
func (e *Engine) plan(s *service, spec sandbox.Spec, image string, args []string) (*plan, error) {
	limits := spec.Limits.WithDefaults()
	held := s.host.holds()
	g := specgen.NewSpecGenerator(image, false)
	g.Entrypoint = []string{"python3"}
	g.Command = args
	g.Labels = container.Labels(spec.Label, e.all.Owner)
	g.Env = container.Environment() // PATH too: the image's would cost a request
	g.UnsetEnvAll = new(true)
	g.EnvHost = new(false)
	g.HTTPProxy = new(false)
	g.Stdin = new(true)
	g.Terminal = new(false)
	// Podman forgets how a container ended that it removes itself. It has to
	// where no reaper of ours can.
	g.Remove = new(s.keeper == nil)
	g.StopTimeout = new(uint(0))
	g.Systemd = "false"
	g.SdNotifyMode = "ignore"
	g.RestartPolicy = "no"
	g.LogConfiguration = &specgen.LogConfig{Driver: "none"}
	g.HealthConfig = &manifest.Schema2HealthConfig{Test: []string{"NONE"}}
	g.Hostname = "sandbox"
	g.Init = new(false)
	g.WorkDir = "/workspace"
	g.ImageVolumeMode = "ignore"
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
func confine(g *specgen.SpecGenerator, spec sandbox.Spec) error {
	c, err := container.Confine(spec)
	if err != nil {
		return err
	}
	if g.User, err = container.User(spec); err != nil {
		return err
	}
	g.Mask, g.SelinuxOpts, g.ApparmorProfile = c.Masked, c.Labels, c.AppArmor
	g.NetNS = specgen.Namespace{NSMode: specgen.NoNetwork}
	g.PidNS = specgen.Namespace{NSMode: specgen.Private}
	g.UtsNS = specgen.Namespace{NSMode: specgen.Private}
	g.IpcNS = specgen.Namespace{NSMode: specgen.None}
	g.CgroupNS = specgen.Namespace{NSMode: specgen.Private}
	g.UseImageHosts = new(true)
	g.UseImageResolvConf = new(true)
	g.Privileged = new(false)
	g.CapDrop = []string{"ALL"}
	g.NoNewPrivileges = new(true)
	g.ReadOnlyFilesystem = new(true)
	g.ReadWriteTmpfs = new(false)
	g.Passwd = new(false)
	g.Umask = "0022"
	return nil
}

// bound sets the limits. One that the service cannot hold is left out, since
// not every version of podman would leave it out itself.
func bound(g *specgen.SpecGenerator, l sandbox.Limits, held map[string]string) {
	r := &specs.LinuxResources{}
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
	g.ResourceLimits = r
	g.OOMScoreAdj = new(1000)
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
