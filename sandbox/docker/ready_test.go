//go:build linux

package docker

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	api "github.com/moby/moby/api/types/container"

	"bridge/sandbox"
	"bridge/sandbox/container"
	"bridge/sandbox/enginetest"
)

// TestReady words what keeps a sandbox from being made.
func TestReady(t *testing.T) {
	e := newEngine(t)
	facts, err := e.Describe(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	none, nameless := New(Options{Image: "localhost/bridge-python:none"}), New(Options{})
	t.Cleanup(none.Close)
	t.Cleanup(nameless.Close)
	dir := t.TempDir()
	for _, c := range []struct {
		name   string
		engine *Engine
		spec   sandbox.Spec
		want   string
	}{
		{"the bridge's own image", none, sandbox.Spec{}, `image "localhost/bridge-python:none" is not on docker; run: bridge image build --engine docker`},
		{"the profile's image", e, sandbox.Spec{Image: "example.com/none:1"}, `image "example.com/none:1" is not on docker; run: docker pull example.com/none:1`},
		{"no image", nameless, sandbox.Spec{}, `no image is named; name one with image: in the profile`},
		{"a digest", e, sandbox.Spec{Image: "example.com/none@sha256:" + strings.Repeat("0", 64)}, "is not on docker; run: docker pull example.com/none@sha256:"},
		{"no name", e, sandbox.Spec{Image: "Not A Name"}, `image "Not A Name" is`},
		{"a mount that is not there", e, sandbox.Spec{Mounts: []sandbox.Mount{{Source: dir + "/none", Target: "/data"}}},
			`mount "` + dir + `/none" is not on the host: no such file or directory; make it, or take it out of the profile's mounts`},
		{"a mount over everything", e, sandbox.Spec{Mounts: []sandbox.Mount{{Source: dir, Target: "/"}}},
			`mount "` + dir + `" on "/": the sandbox has its own there; choose another target, such as /workspace/data`},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.engine.Ready(t.Context(), allowed(c.spec))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
	t.Run("root's daemon", func(t *testing.T) {
		err := e.Ready(t.Context(), sandbox.Spec{})
		if facts.Rootless {
			if err != nil {
				t.Error(err)
			}
			return
		}
		want := "docker at " + facts.Endpoint + " runs as root, which the profile does not allow; allow it with rootful: true in the profile, or run a daemon of your own: dockerd-rootless-setuptool.sh install"
		if err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	})
	t.Run("enforced", func(t *testing.T) {
		err := e.Ready(t.Context(), allowed(sandbox.Spec{Enforced: true}))
		if len(sandbox.Loose(facts.Limits)) == 0 && err != nil {
			t.Error(err)
		}
		if want := "docker cannot hold these limits here: " + strings.Join(sandbox.Loose(facts.Limits), ", "); len(sandbox.Loose(facts.Limits)) > 0 && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%v\nwant %s", err, want)
		}
	})
}

// TestEnforced tells which limits a daemon does not hold that has no cgroups,
// as a rootless one on cgroup version 1.
func TestEnforced(t *testing.T) {
	l := &daemon{}
	l.info.SecurityOptions = []string{"name=seccomp,profile=default", "name=rootless"}
	want := "docker cannot hold these limits here: cpus, memory; use cgroup version 2 and have systemd delegate cpu, memory and pids to users, or do without enforced in the profile's limits"
	if err := l.allow(sandbox.Spec{Enforced: true}); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if err := l.allow(sandbox.Spec{}); err != nil {
		t.Error(err)
	}
	if r := l.resources(sandbox.Limits{}.WithDefaults()); r.Memory != 0 || r.NanoCPUs != 0 || r.PidsLimit != nil || !slices.ContainsFunc(r.Ulimits, func(u *api.Ulimit) bool { return u.Name == "nproc" && u.Soft == sandbox.Limits{}.WithDefaults().PIDs }) {
		t.Errorf("asks for what the daemon refuses: %+v", r)
	}
	if held := l.held(); held["pids"] != "rlimit" || held["tmp"] != "tmpfs" {
		t.Errorf("%v", held)
	}
}

// TestRefusals starts what docker refuses: the cause is told.
func TestRefusals(t *testing.T) {
	e := newEngine(t)
	bare := buildImage(t, e, "bare", "FROM scratch\nLABEL bridge.test=1\n")
	for _, c := range []struct {
		spec sandbox.Spec
		want string
	}{
		{sandbox.Spec{Image: bare}, "the image has no python3; name one that has with image: in the profile"},
		{sandbox.Spec{Limits: sandbox.Limits{Files: 1 << 40}}, "docker may not give 1099511627776 open files to a process; lower files in the profile's limits, or raise LimitNOFILE of dockerd"},
	} {
		if _, err := e.Start(t.Context(), allowed(c.spec), nil, io.Discard); err == nil || err.Error() != c.want {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
}

// TestMounts shows folders of the host: to read, and to write only where the
// spec says so.
func TestMounts(t *testing.T) {
	e := newEngine(t)
	dir, err := os.MkdirTemp("", "bridge-mounts-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, name := range []string{"read", "write", "label"} {
		write(t, "of the host", dir, name, "file")
		// The guest's user is not ours.
		if err := os.Chmod(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, name, "file"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	b := enginetest.Start(t, e, allowed(sandbox.Spec{Mounts: []sandbox.Mount{
		{Source: dir + "/read", Target: "/read"},
		{Source: dir + "/write", Target: "/workspace/write", Writable: true},
		{Source: dir + "/label", Target: "/label", Relabel: true},
	}}), `
import os
for folder in "/read", "/workspace/write", "/label":
    try:
        open(folder + "/new", "w").write("of the guest")
        how = "written"
    except OSError as e: how = e.strerror
    print(folder, open(folder + "/file").read(), how)`)
	stdout, stderr, _ := enginetest.Collect(t, b)
	if want := "/read of the host Read-only file system\n/workspace/write of the host written\n/label of the host Read-only file system\n"; stdout != want {
		t.Errorf("%s\nwant\n%s\n%s", stdout, want, stderr)
	}
	if text, err := os.ReadFile(dir + "/write/new"); string(text) != "of the guest" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestBuild builds an image, with its words, and tells why one cannot be.
func TestBuild(t *testing.T) {
	e := newEngine(t)
	tag := buildImage(t, e, "build", "ARG BASE\nFROM $BASE\nUSER root\nRUN test $(ulimit -n) = 1024 && echo built > /built\n")
	images, err := e.Images(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(images, func(i container.Image) bool { return i.Name == tag })
	if at < 0 || images[at].Size == 0 || images[at].Created.IsZero() || !strings.HasPrefix(images[at].ID, "sha256:") {
		t.Errorf("%+v", images)
	}
	b := enginetest.Start(t, e, allowed(sandbox.Spec{Image: tag}), "print(open('/built').read())")
	if out, stderr, _ := enginetest.Collect(t, b); out != "built\n\n" {
		t.Errorf("%q %s", out, stderr)
	}
	var output bytes.Buffer
	err = e.Build(t.Context(), sandbox.Spec{}, container.Build{Tag: tag + "-bad", Containerfile: []byte("ARG BASE\nFROM $BASE\nRUN echo words; echo more words >&2; exit 3\n"),
		Args: map[string]string{"BASE": os.Getenv(imageEnv)}, Output: &output})
	if err == nil || !strings.Contains(err.Error(), "returned a non-zero code: 3") || !strings.Contains(output.String(), "\nwords\n") || !strings.Contains(output.String(), "\nmore words\n") {
		t.Errorf("%v\n%s", err, output.String())
	}
}
