package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"bridge/sandbox"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"
)

// inodes is how many files one tmpfs can hold.
const inodes = 16384

// plan is a sandbox that the daemon can make.
type plan struct {
	*link
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
	l, err := e.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.allow(spec); err != nil {
		return nil, err
	}
	p := &plan{link: l, spec: spec, limits: spec.Limits.WithDefaults()}
	if err := p.secure(); err != nil {
		return nil, err
	}
	if err := p.bind(); err != nil {
		return nil, err
	}
	name := cmp.Or(spec.Image, e.options.Image)
	if name == "" {
		return nil, errors.New("no image is named for docker; name one with image: in the profile")
	}
	image, err := l.client.ImageInspect(ctx, name)
	switch {
	case cerrdefs.IsNotFound(err) && spec.Image != "" && spec.Image != e.options.Image:
		return nil, &absent{l, name}
	case cerrdefs.IsNotFound(err):
		return nil, fmt.Errorf("image %q is not on docker; run: %s", name, e.options.Build)
	case cerrdefs.IsInvalidArgument(err):
		return nil, fmt.Errorf("image %q is no name of an image; write it as NAME:TAG or NAME@DIGEST", name)
	case err != nil:
		return nil, l.silent(ctx, err)
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

// allow refuses a daemon that the spec does not want, or that would make the
// sandbox weaker than it is promised to be.
func (l *link) allow(spec sandbox.Spec) error {
	if !l.rootless() && !spec.Rootful {
		return fmt.Errorf("docker at %s runs as root, which the profile does not allow; allow it with rootful: true in the profile, or run a daemon of your own: dockerd-rootless-setuptool.sh install", display(l.endpoint.host))
	}
	if spec.Enforced {
		return l.enforce()
	}
	return nil
}

// bind checks the mounts and says how docker is to make them.
func (p *plan) bind() error {
	for _, m := range p.spec.Mounts {
		if _, err := os.Stat(m.Source); m.Optional && (!p.endpoint.local() || err != nil) {
			continue
		}
		if !path.IsAbs(m.Target) || path.Clean(m.Target) == "/" || !filepath.IsAbs(m.Source) && !path.IsAbs(m.Source) {
			return fmt.Errorf("mount %q to %q; both must be absolute paths, and not the whole of the sandbox", m.Source, m.Target)
		}
		if p.endpoint.local() {
			if _, err := os.Stat(m.Source); err != nil {
				var at *fs.PathError
				if errors.As(err, &at) {
					err = at.Err
				}
				return fmt.Errorf("mount %q is not on the host: %w; make it, or take it out of the profile's mounts", m.Source, err)
			}
			if err := m.Inspect(); err != nil {
				return err
			}
		}
		// It would make a source that only we see, which is no reason not to start.
		if m.Relabel && !m.Optional {
			// Only this older form knows labels. It makes a source that is
			// missing, so it is for a daemon whose files we see.
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
			// Read-only would else not be so for what is mounted below it.
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

// volume mounts a folder by docker's own driver, since a bind mount cannot be
// told that neither devices nor set-user-id files count in it. The volume has no
// name, and goes with the container. Read-only, it leaves out what is mounted
// below the folder, which would not be read-only.
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

// spare takes out what the sandbox can do without, and tells whether there was
// such a thing.
func (p *plan) spare() bool {
	all := len(p.mounts)
	for _, m := range p.spec.Mounts {
		if m.Optional {
			p.mounts = slices.DeleteFunc(p.mounts, func(made mount.Mount) bool { return made.Target == m.Target })
		}
	}
	return len(p.mounts) < all
}

// environment is all that Python finds, and nothing else: a name without a
// value takes out what the image or docker would set.
func (p *plan) environment() []string {
	set := map[string]string{
		"PATH":                    cmp.Or(p.env["PATH"], "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
		"HOME":                    "/workspace",
		"LANG":                    "C.UTF-8",
		"TMPDIR":                  "/tmp",
		"MPLBACKEND":              "Agg",
		"PYTHONDONTWRITEBYTECODE": "1",
		"MALLOC_ARENA_MAX":        "2",
	}
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

// container says what docker is to make.
func (p *plan) container(args []string, labels map[string]string) client.ContainerCreateOptions {
	never := false
	uid, gid, _ := strings.Cut(p.user, ":")
	tmpfs := func(size int64, more string) string {
		return fmt.Sprintf("rw,nosuid,nodev,%s,size=%d,nr_inodes=%d,mode=0700,uid=%s,gid=%s", more, size, inodes, uid, gid)
	}
	mounts := slices.Clone(p.mounts)
	for _, target := range p.volumes {
		// Else docker makes a folder of its own there that anyone may fill.
		mounts = append(mounts, mount.Mount{Type: mount.TypeTmpfs, Target: target, ReadOnly: true, TmpfsOptions: &mount.TmpfsOptions{SizeBytes: 4 << 10}})
	}
	return client.ContainerCreateOptions{
		Config: &container.Config{
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
			Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
		},
		HostConfig: &container.HostConfig{
			AutoRemove:     true,
			NetworkMode:    "none",
			ReadonlyRootfs: true,
			CapDrop:        []string{"ALL"},
			SecurityOpt:    p.security,
			MaskedPaths:    p.masked,
			CgroupnsMode:   container.CgroupnsModePrivate,
			// A namespace of its own, and its /dev/shm is ours to make.
			IpcMode:   container.IPCModeNone,
			LogConfig: container.LogConfig{Type: "none"},
			Init:      &never,
			// The first to go when the machine runs out of memory.
			OomScoreAdj: 1000,
			Tmpfs: map[string]string{
				"/tmp":       tmpfs(p.limits.Tmp, "exec"),
				"/workspace": tmpfs(p.limits.Workspace, "exec"),
				"/dev/shm":   tmpfs(p.limits.Shm, "noexec"),
			},
			Mounts:    mounts,
			Binds:     p.binds,
			Resources: p.resources(p.limits),
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
