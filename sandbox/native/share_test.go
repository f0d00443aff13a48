//go:build linux

package native

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bridge/sandbox"
	"bridge/sandbox/enginetest"
	"bridge/sandbox/native/stage"

	"golang.org/x/sys/unix"
)

// TestShare shows folders and files of the host, for reading unless they are to
// be written to as well. Nothing in them counts as a device or gives rights.
func TestShare(t *testing.T) {
	e := newEngine(t)
	dir := t.TempDir()
	for _, name := range []string{"in/sub", "out"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"in/sub/a", "file"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"out", "file"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	b := enginetest.Start(t, e, sandbox.Spec{Mounts: []sandbox.Mount{
		{Source: dir + "/in", Target: "/data/in"},
		{Source: dir + "/out", Target: "/data/out", Writable: true},
		{Source: dir + "/file", Target: "/etc.d/one", Writable: true},
		{Source: dir + "/file", Target: "/etc.d/two"},
	}}, `
import os
print(open("/data/in/sub/a").read(), open("/etc.d/two").read())
for path in "/data/in/new", "/data/in/sub/a", "/etc.d/two", "/data/new":
    try:
        open(path, "a")
        print("opened", path)
    except OSError as e:
        pass
os.mkdir("/data/out/made")
open("/data/out/made/x", "w").write("x")
os.rename("/data/out/made/x", "/data/out/x")
open("/etc.d/one", "w").write("changed")
try:
    os.mknod("/data/out/null", 0o20666, os.makedev(1, 3))
    print("made a device")
except OSError:
    pass
`)
	out, errs, exit := enginetest.Collect(t, b)
	if out != "in/sub/a file\n" || errs != "" || exit.Code != 0 {
		t.Errorf("%q, %q, %+v", out, errs, exit)
	}
	for name, want := range map[string]string{"out/x": "x", "file": "changed", "in/sub/a": "in/sub/a"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}

// TestLandlockOfMounts handles the right to connect where the kernel has it, and
// gives it to no folder.
func TestLandlockOfMounts(t *testing.T) {
	mounts := []stage.Mount{{Target: "/tmp", Dir: true}, {Source: "/a", Target: "/a", Dir: true, Attr: readOnly}, {Source: "/b", Target: "/b", Dir: true, Attr: writable}}
	for abi, handled := range map[int]bool{1: false, 8: false, 9: true, 12: true} {
		l := newLandlock(abi, mounts)
		if got := l.FS&unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX != 0; got != handled {
			t.Errorf("version %d: handled is %v, want %v", abi, got, handled)
		}
		for _, r := range l.Rules {
			if r.Access&^l.FS != 0 || r.Access&unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX != 0 {
				t.Errorf("version %d: %s has %#x of %#x", abi, r.Path, r.Access, l.FS)
			}
		}
	}
}

// TestUnfit refuses what the engine would have to leave out.
func TestUnfit(t *testing.T) {
	e := newEngine(t)
	dir := t.TempDir()
	mount := func(source, target string) sandbox.Spec {
		return sandbox.Spec{Mounts: []sandbox.Mount{{Source: source, Target: target}}}
	}
	for want, spec := range map[string]sandbox.Spec{
		`the native engine has no images, and the image "python" is asked for; use podman or docker`:                                  {Image: "python"},
		`the native engine's user is 65534, and 1000:1000 is asked for; use podman or docker`:                                         {User: "1000:1000"},
		`the native engine has no security options of containers, and "label=type:x" is asked for; use podman or docker`:              {SecurityOpt: []string{"label=type:x"}},
		fmt.Sprintf("mount %q: no such file or folder on this machine; make it, or take it out of the profile's mounts", dir+"/none"): mount(dir+"/none", "/data"),
		fmt.Sprintf("mount %q: its target \"/tmp/x\" is in the way of /tmp, which the sandbox needs; name another target", dir):       mount(dir, "/tmp/x"),
		fmt.Sprintf("mount %q: its target \"/usr/share\" is in the way of /usr, which the sandbox needs; name another target", dir):   mount(dir, "/usr/share"),
		fmt.Sprintf("mount %q: its target \"/dev\" is in the way of /dev/full, which the sandbox needs; name another target", dir):    mount(dir, "/dev"),
	} {
		b, err := e.Start(t.Context(), spec, []string{"-I", "-c", ""}, io.Discard)
		if err == nil {
			b.Kill()
			b.Wait()
			t.Errorf("started, in place of: %s", want)
		} else if err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	enginetest.Start(t, e, sandbox.Spec{User: "65534:65534"}, "")
}

// TestEnforced starts nothing where the kernel does not hold the limits that
// are to be enforced.
func TestEnforced(t *testing.T) {
	e := newEngine(t)
	held := enginetest.Start(t, e, sandbox.Spec{}, "").Limits()
	b, err := e.Start(t.Context(), sandbox.Spec{Enforced: true}, []string{"-I", "-c", ""}, io.Discard)
	if err == nil {
		b.Kill()
		b.Wait()
	}
	exact := held["memory"] == "cgroup" && held["cpus"] == "cgroup"
	if exact != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), "limits that are to be enforced are not held by this machine's kernel: memory, cpus; ") {
		t.Errorf("held as %v: %v", held, err)
	}
}
