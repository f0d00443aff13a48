package podman

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bridge/sandbox"
	"bridge/sandbox/container"
	"bridge/sandbox/enginetest"
)

// TestBuild builds an image, sees it listed, and runs a sandbox on it.
func TestBuild(t *testing.T) {
	e := newEngine(t)
	const tag = "localhost/bridge-test-build:latest"
	var said bytes.Buffer
	err := e.Build(t.Context(), sandbox.Spec{}, container.Build{
		Tag:           tag,
		Containerfile: []byte("ARG BASE\nFROM ${BASE}\nUSER 0:0\nENV SECRET=1\nVOLUME /data\nHEALTHCHECK CMD true\nENTRYPOINT [\"false\"]\nRUN echo built > /built && mkdir -m 777 /open\n"),
		Args:          map[string]string{"BASE": testImage()},
		Output:        &said,
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	s, err := e.connect(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.do(t.Context(), http.MethodDelete, "/images/%s", tag, nil, nil, nil)
	if !strings.Contains(said.String(), "RUN echo built") {
		t.Errorf("the build says %q", said.String())
	}
	all, err := e.Images(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(i container.Image) bool {
		return i.Name == tag && i.Size > 0 && len(i.ID) == 64 && !i.Created.IsZero()
	}) {
		t.Errorf("it is not in %+v", all)
	}
	b := enginetest.Start(t, e, sandbox.Spec{Image: tag}, `
import os
print(open("/built").read(), "SECRET" in os.environ, os.access("/data", os.W_OK), os.access("/open", os.W_OK))`)
	if stdout, stderr, _ := enginetest.Collect(t, b); stdout != "built\n False False False\n" {
		t.Errorf("%q %s", stdout, stderr)
	}
}

// TestRefusals compares what is said of what cannot be.
func TestRefusals(t *testing.T) {
	e := newEngine(t)
	want := `image "localhost/none" is not on podman; run: podman pull localhost/none`
	if _, err := e.Start(t.Context(), sandbox.Spec{Image: "localhost/none"}, nil, io.Discard); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	own := New(Options{Image: "localhost/bridge-none:1"})
	defer own.Close()
	if err := own.Ready(t.Context(), sandbox.Spec{}); err == nil || err.Error() != `image "localhost/bridge-none:1" is not on podman; run: bridge image build --engine podman` {
		t.Error(err)
	}
	t.Setenv("CONTAINER_HOST", "unix:///no/such.sock")
	lost := New(Options{})
	defer lost.Close()
	if err := lost.Ready(t.Context(), sandbox.Spec{}); err == nil || err.Error() != "CONTAINER_HOST=unix:///no/such.sock: no such file; start podman there, or unset the variable" {
		t.Error(err)
	}
}

// TestMounts reads and writes folders of the host, as far as the spec says.
func TestMounts(t *testing.T) {
	e := newEngine(t)
	shown, given := enginetest.OpenDir(t, 0o755), enginetest.OpenDir(t, 0o777)
	spec := sandbox.Spec{Mounts: []sandbox.Mount{
		{Source: shown, Target: "/workspace/shown"},
		{Source: given, Target: "/data/given", Writable: true, Relabel: true},
	}}
	b := enginetest.Start(t, e, spec, `
import os
for folder in "/workspace/shown", "/data/given":
    try:
        os.close(os.open(folder + "/made", os.O_CREAT | os.O_WRONLY))
        print("written")
    except OSError as e:
        print(e.strerror)
flags = {line.split()[4]: line.split()[5].split(",") for line in open("/proc/self/mountinfo")}
print([sorted({"nosuid", "nodev"} & set(flags[m])) for m in ("/workspace/shown", "/data/given")])`)
	want := "Read-only file system\nwritten\n[['nodev', 'nosuid'], ['nodev', 'nosuid']]\n"
	if stdout, stderr, _ := enginetest.Collect(t, b); stdout != want {
		t.Errorf("%q %s", stdout, stderr)
	}
}
