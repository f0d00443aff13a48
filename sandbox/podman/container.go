package podman

import (
	"crypto/rand"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bridge/sandbox"
	"bridge/sandbox/owner"

	"github.com/containers/podman/v5/pkg/specgen"
	"github.com/opencontainers/runtime-spec/specs-go"
	"go.podman.io/image/v5/manifest"
)

const (
	// guestID is the user and the group that the guest is.
	guestID = "65534:65534"

	// period is that of the CPU quota, in microseconds.
	period = 100000

	// startup is the memory that runc's first step takes: it runs with the
	// container's own rlimits, and compiles the seccomp profile under them.
	startup = 128 << 20

	// inodes is how many files one tmpfs can hold.
	inodes = 16384

	// crowd bounds the processes of all sandboxes of a user together, where a
	// cgroup bounds each of them: RLIMIT_NPROC counts by user.
	crowd = 4096
)

// environment is all of the guest's.
var environment = map[string]string{
	"PATH":                    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME":                    "/workspace",
	"TMPDIR":                  "/tmp",
	"LANG":                    "C.UTF-8",
	"PYTHONDONTWRITEBYTECODE": "1",
	"MPLBACKEND":              "Agg",
	// Each arena of malloc reserves 64 MiB of the address space.
	"MALLOC_ARENA_MAX": "2",
}

// masked is what podman shows in a container, and no session needs. The first
// process has the session's user, who must not rewrite it.
var masked = []string{
	"/sys", "/dev/mqueue", "/dev/pts", "/proc/version", "/proc/keys", "/proc/sysrq-trigger", "/proc/config.gz", "/proc/modules", "/proc/kallsyms",
	"/proc/1/mem", "/proc/1/task/1/mem",
}

// A plan is a container to be made.
type plan struct {
	spec *specgen.SpecGenerator
	held map[string]string
}

// plan says what container a spec means. Whatever is not set here is podman's
// default, which containers.conf may change: what matters is set, always.
func (e *Engine) plan(s *service, spec sandbox.Spec, image string, args []string) (*plan, error) {
	limits := spec.Limits.WithDefaults()
	mounts, err := mounts(spec, s.local())
	if err != nil {
		return nil, err
	}
	held := s.host.holds()
	g := specgen.NewSpecGenerator(image, false)
	g.Entrypoint = []string{"python3"}
	g.Command = args
	g.Name = "bridge-" + strings.ToLower(rand.Text())
	g.Labels = owner.Labels(spec.Label, e.owner)
	g.Env = maps.Clone(environment)
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
	if g.SeccompProfilePath, err = s.seccomp(); err != nil {
		return nil, err
	}
	confine(g)
	if err := adjust(g, spec); err != nil {
		return nil, err
	}
	g.Mounts = append(tmpfs(limits, g.User), mounts...)
	bound(g, limits, held)
	return &plan{spec: g, held: held}, nil
}

// confine takes everything from the container that a session does not need.
func confine(g *specgen.SpecGenerator) {
	g.NetNS = specgen.Namespace{NSMode: specgen.NoNetwork}
	g.PidNS = specgen.Namespace{NSMode: specgen.Private}
	g.UtsNS = specgen.Namespace{NSMode: specgen.Private}
	g.IpcNS = specgen.Namespace{NSMode: specgen.None}
	g.CgroupNS = specgen.Namespace{NSMode: specgen.Private}
	g.UseImageHosts = new(true)
	g.UseImageResolvConf = new(true)
	g.Privileged = new(false)
	g.User = guestID
	g.CapDrop = []string{"ALL"}
	g.NoNewPrivileges = new(true)
	g.ReadOnlyFilesystem = new(true)
	g.ReadWriteTmpfs = new(false)
	g.Passwd = new(false)
	g.Mask = masked
	g.Umask = "0022"
}

// adjust does what the operator wants in addition. Nothing of it may take the
// place of what confine has set.
func adjust(g *specgen.SpecGenerator, spec sandbox.Spec) error {
	if spec.User != "" {
		user, group, _ := strings.Cut(spec.User, ":")
		if n, err := strconv.ParseUint(user, 10, 31); err != nil || n == 0 || group == "0" {
			return fmt.Errorf("user %q: must be numbers of a user and a group other than root's, as in %q", spec.User, guestID)
		}
		g.User = spec.User
	}
	for _, option := range spec.SecurityOpt {
		name, value, _ := strings.Cut(option, "=")
		switch {
		case name == "no-new-privileges" && value != "false":
		case name == "label" && value != "disable" && value != "nested":
			g.SelinuxOpts = append(g.SelinuxOpts, value)
		case name == "apparmor" && value != "unconfined" && value != "":
			g.ApparmorProfile = value
		case name == "mask" && value != "":
			g.Mask = append(slices.Clone(g.Mask), strings.Split(value, ":")...)
		default:
			return fmt.Errorf("security option %q is not one that adds to podman's confinement; these are: label=…, apparmor=PROFILE, mask=PATHS", option)
		}
	}
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
	nproc := l.PIDs
	if held["pids"] == "cgroup" {
		r.Pids = &specs.LinuxPids{Limit: l.PIDs}
		nproc = max(crowd, l.PIDs)
	}
	g.ResourceLimits = r
	g.OOMScoreAdj = new(1000)
	limit := func(name string, value int64) specs.POSIXRlimit {
		v := ceiling(name, uint64(value))
		return specs.POSIXRlimit{Type: name, Soft: v, Hard: v}
	}
	const slack = 1 << 20
	g.Rlimits = []specs.POSIXRlimit{
		limit("core", 0),
		limit("memlock", 0),
		limit("msgqueue", 0),
		limit("nice", 0),
		limit("rtprio", 0),
		limit("sigpending", crowd),
		limit("nofile", l.Files),
		limit("nproc", nproc),
		// A little above the largest tmpfs, so that a full one is "no space
		// left on device" and not a signal.
		limit("fsize", max(l.Tmp, l.Workspace, l.Shm)+slack),
		// One process alone learns of its limit by a MemoryError, which loses
		// less than being killed. Where there is less than runc needs to start
		// it is killed: the cgroup takes what this leaves.
		limit("data", max(l.Memory, startup)),
		limit("as", l.Memory+1<<30),
	}
}

// tmpfs are the places to write. Programs may be run from two of them:
// packages with compiled parts, or a script that the guest wrote.
//
// Podman takes no option of a tmpfs but size and mode. It looks at what is
// before the equals sign, and hands all of an option on to the kernel.
func tmpfs(l sandbox.Limits, user string) []specs.Mount {
	uid, gid, ok := strings.Cut(user, ":")
	if !ok {
		gid = uid
	}
	one := func(target string, size int64, exec string) specs.Mount {
		return specs.Mount{Type: "tmpfs", Source: "tmpfs", Destination: target, Options: []string{
			"rw", "nosuid", "nodev", exec, "notmpcopyup",
			fmt.Sprintf("mode=0700,uid=%s,gid=%s", uid, gid), fmt.Sprintf("size=%d,nr_inodes=%d", size, inodes)}}
	}
	return []specs.Mount{
		one("/tmp", l.Tmp, "exec"),
		one("/workspace", l.Workspace, "exec"),
		one("/dev/shm", l.Shm, "noexec"),
	}
}

// mounts are the folders of the host that the spec names.
func mounts(spec sandbox.Spec, local bool) ([]specs.Mount, error) {
	var all []specs.Mount
	for _, m := range spec.Mounts {
		if _, err := os.Stat(m.Source); m.Optional && (!local || err != nil) {
			continue
		}
		if !filepath.IsAbs(m.Source) || !path.IsAbs(m.Target) {
			return nil, fmt.Errorf("mount %q on %q: both must be absolute paths", m.Source, m.Target)
		}
		target := path.Clean(m.Target)
		if slices.Contains([]string{"/", "/tmp", "/workspace", "/dev/shm", "/dev", "/proc", "/sys"}, target) {
			return nil, fmt.Errorf("mount %q on %q: that is the sandbox's own; choose another target, like /workspace/data", m.Source, m.Target)
		}
		if _, err := os.Stat(m.Source); err != nil && local {
			return nil, fmt.Errorf("mount %q: %w; make it, or take it out of the profile", m.Source, cause(err))
		}
		if local {
			if err := m.Inspect(); err != nil {
				return nil, err
			}
		}
		options := []string{"rbind", "nosuid", "nodev", "ro"}
		if m.Writable {
			options[3] = "rw"
		}
		if m.Relabel {
			options = append(options, "z")
		}
		all = append(all, specs.Mount{Type: "bind", Source: m.Source, Destination: target, Options: options})
	}
	return all, nil
}
