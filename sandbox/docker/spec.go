package docker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"bridge/sandbox"
	"bridge/sandbox/container"

	cerrdefs "github.com/containerd/errdefs"
	api "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"
)

// plan is a sandbox that the daemon can make.
type plan struct {
	*daemon
	spec    sandbox.Spec
	limits  sandbox.Limits
	image   string            // its id: a name may be moved while we are at it
	env     map[string]string // what the image sets
	volumes []string          // what the image would have writable
	mounts  []mount.Mount
	binds   []string

	user     string   // and group, as numbers
	security []string // options
	masked   []string // paths that are hidden
}

// plan compares the spec with what the daemon has.
func (e *Engine) plan(ctx context.Context, spec sandbox.Spec) (*plan, error) {
	d, err := e.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.allow(spec); err != nil {
		return nil, err
	}
	p := &plan{daemon: d, spec: spec, limits: spec.Limits.WithDefaults()}
	if err := p.secure(); err != nil {
		return nil, err
	}
	if err := p.bind(); err != nil {
		return nil, err
	}
	name, err := container.ImageOf(spec, e.options.Image)
	if err != nil {
		return nil, err
	}
	image, err := d.client.ImageInspect(ctx, name)
	switch {
	case cerrdefs.IsNotFound(err) && name != e.options.Image:
		return nil, &absent{d, name}
	case cerrdefs.IsNotFound(err):
		return nil, container.MissingImage(Name, name, e.options.Image)
	case cerrdefs.IsInvalidArgument(err):
		return nil, fmt.Errorf("image %q is not the name of an image; write it as NAME:TAG or NAME@DIGEST", name)
	case err != nil:
		return nil, d.silent(ctx, err)
	}
	p.image = image.ID
	p.env = map[string]string{}
	if image.Config != nil {
		for _, pair := range image.Config.Env {
			key, value, _ := strings.Cut(pair, "=")
			p.env[key] = value
		}
		p.volumes = slices.Sorted(maps.Keys(image.Config.Volumes))
	}
	return p, nil
}

// allow is an error if the spec does not allow this daemon, or demands limits
// that it cannot hold.
func (d *daemon) allow(spec sandbox.Spec) error {
	if !d.rootless() && !spec.Rootful {
		return fmt.Errorf("docker at %s runs as root, which the profile does not allow; allow it with rootful: true in the profile, or run a daemon of your own: dockerd-rootless-setuptool.sh install", display(d.endpoint.host))
	}
	if spec.Enforced {
		return d.enforce()
	}
	return nil
}

// bind says how docker is to make the mounts.
func (p *plan) bind() error {
	mounts, err := container.Mounts(p.spec, p.endpoint.local())
	if err != nil {
		return err
	}
	for _, m := range mounts {
		// An optional mount does without its label rather than stop the start.
		if m.Relabel && !m.Optional {
			// Only a bind, the older form, knows labels. It makes a missing
			// source, so it is used only where the daemon sees our files.
			if !p.endpoint.local() || strings.Contains(m.Source+m.Target, ":") {
				return fmt.Errorf("mount %q cannot be given a label by docker at %s; do without relabel in the profile", m.Source, display(p.endpoint.host))
			}
			mode := "ro,z"
			if m.Writable {
				mode = "rw,z"
			}
			p.binds = append(p.binds, m.Source+":"+m.Target+":"+mode)
			continue
		}
		if p.mountsFor(m.Source) {
			p.mounts = append(p.mounts, volume(m))
			continue
		}
		options := &mount.BindOptions{Propagation: mount.PropagationRPrivate}
		if !m.Writable {
			// Otherwise what is mounted below it would be writable.
			recursive := versions.GreaterThanOrEqualTo(p.client.ClientVersion(), "1.44")
			options.ReadOnlyForceRecursive, options.NonRecursive = recursive, !recursive
		}
		p.mounts = append(p.mounts, mount.Mount{Type: mount.TypeBind, Source: m.Source, Target: m.Target, ReadOnly: !m.Writable, BindOptions: options})
	}
	return nil
}

// mountsFor tells whether docker can mount a path as a volume: a folder, on a
// daemon that runs as root of this machine.
func (p *plan) mountsFor(source string) bool {
	info, err := os.Stat(source)
	return err == nil && info.IsDir() && p.endpoint.local() && !p.rootless() && p.info.OperatingSystem != "Docker Desktop"
}

// volume mounts a folder by docker's own driver, since a bind mount has no nodev
// and nosuid. The volume has no name and is removed with the container. If it is
// read-only, it leaves out what is mounted below the folder, which would be
// writable.
func volume(m sandbox.Mount) mount.Mount {
	how := "bind,nosuid,nodev,ro"
	if m.Writable {
		how = "rbind,nosuid,nodev"
	}
	return mount.Mount{Type: mount.TypeVolume, Target: m.Target, VolumeOptions: &mount.VolumeOptions{
		NoCopy:       true,
		DriverConfig: &mount.Driver{Name: "local", Options: map[string]string{"type": "none", "o": how, "device": m.Source}},
	}}
}

// dropOptional removes the optional mounts and reports whether there were any.
func (p *plan) dropOptional() bool {
	all := len(p.mounts)
	for _, m := range p.spec.Mounts {
		if m.Optional {
			p.mounts = slices.DeleteFunc(p.mounts, func(made mount.Mount) bool { return made.Target == path.Clean(m.Target) })
		}
	}
	return len(p.mounts) < all
}

// environment is the guest's. A name without a value removes what the image or
// docker would set. PATH is the image's: images have their python3 in different
// folders, and docker has inspected the image already.
func (p *plan) environment() []string {
	set := container.Environment()
	set["PATH"] = cmp.Or(p.env["PATH"], set["PATH"])
	env := []string{"HOSTNAME"}
	for _, name := range slices.Sorted(maps.Keys(p.env)) {
		if _, ours := set[name]; !ours {
			env = append(env, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	return env
}

// options says what docker is to make.
func (p *plan) options(args []string, labels map[string]string) client.ContainerCreateOptions {
	never := false
	tmpfs := map[string]string{}
	for _, t := range container.Writable(p.limits) {
		tmpfs[t.Target] = strings.Join(t.Options(p.user), ",")
	}
	mounts := slices.Clone(p.mounts)
	for _, target := range p.volumes {
		// Else docker makes a folder of its own there that anyone may fill.
		mounts = append(mounts, mount.Mount{Type: mount.TypeTmpfs, Target: target, ReadOnly: true, TmpfsOptions: &mount.TmpfsOptions{SizeBytes: 4 << 10}})
	}
	return client.ContainerCreateOptions{
		Config: &api.Config{
			Image:      p.image,
			Entrypoint: []string{"python3"},
			Cmd:        args,
			Env:        p.environment(),
			Hostname:   "sandbox",
			User:       p.user,
			WorkingDir: "/workspace",
			Labels:     labels,
			// Not even a network called none, which takes docker longer to make
			// than all the rest.
			NetworkDisabled: true,
			AttachStdin:     true,
			AttachStdout:    true,
			AttachStderr:    true,
			OpenStdin:       true,
			// What ends the sandbox when this process is killed: docker closes
			// the guest's fd 0 with the connection that feeds it.
			StdinOnce:  true,
			StopSignal: "SIGKILL",
			// An image's own would be run in the sandbox, again and again.
			Healthcheck: &api.HealthConfig{Test: []string{"NONE"}},
		},
		HostConfig: &api.HostConfig{
			AutoRemove:     true,
			NetworkMode:    "none",
			ReadonlyRootfs: true,
			CapDrop:        []string{"ALL"},
			SecurityOpt:    p.security,
			MaskedPaths:    p.masked,
			CgroupnsMode:   api.CgroupnsModePrivate,
			// A namespace of its own, and its /dev/shm is ours to make.
			IpcMode:   api.IPCModeNone,
			LogConfig: api.LogConfig{Type: "none"},
			Init:      &never,
			// The first to go when the machine runs out of memory.
			OomScoreAdj: 1000,
			Tmpfs:       tmpfs,
			Mounts:      mounts,
			Binds:       p.binds,
			Resources:   p.resources(p.limits),
		},
	}
}

// display is an endpoint without what an address may carry besides itself.
func display(host string) string {
	u, err := url.Parse(host)
	if err != nil {
		return "an address that cannot be read"
	}
	return u.Redacted()
}
