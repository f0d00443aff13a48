//go:build linux

package native

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bridge/sandbox"
	"bridge/sandbox/enginetest"
	"bridge/sandbox/native/stage"
)

// TestRefusedNamespaces takes from the engine what it needs. It must say what
// is missing, and must not go on without.
func TestRefusedNamespaces(t *testing.T) {
	newEngine(t)
	uid, gid := os.Geteuid(), os.Getegid()
	root := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: gid, Size: 1}},
	}
	for _, c := range []struct {
		helper string
		attr   *syscall.SysProcAttr
		want   string
	}{
		{"no more namespaces", root, "user namespaces are off (user.max_user_namespaces is 0); sudo sysctl -w user.max_user_namespaces=15000\n"},
		{"filtered", nil, "new namespaces are refused by a seccomp filter that bridge itself runs under, as in a container; " +
			"run bridge outside, or start the container with --security-opt seccomp=unconfined\n"},
		// The control: the same process, without what is taken from it, in a
		// user namespace with a single id.
		{"ready", root, "ready\n"},
	} {
		t.Run(c.helper, func(t *testing.T) {
			cmd := enginetest.Helper(t, c.helper)
			cmd.SysProcAttr = c.attr
			out, err := cmd.CombinedOutput()
			if strings.HasPrefix(string(out), "cannot be tried") {
				enginetest.Skip(t, string(out))
			}
			if err != nil || string(out) != c.want {
				t.Errorf("%v\n%s\nwant\n%s", err, out, c.want)
			}
		})
	}
}

// TestFewFiles has too few files to open for one step after the other.
func TestFewFiles(t *testing.T) {
	newEngine(t)
	out, err := enginetest.Helper(t, "few files").CombinedOutput()
	if strings.HasPrefix(string(out), "cannot be tried") {
		enginetest.Skip(t, string(out))
	}
	if err != nil || len(out) == 0 {
		t.Errorf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		n, text, _ := strings.Cut(line, " ")
		if want := "bridge has as many files open as it may (ulimit -n is " + n + "); raise that, as with ulimit -n 4096\n"; text != want {
			t.Errorf("with %s: %swant %s", n, text, want)
		}
	}
	want := "this machine has as many files open as it may (fs.file-max); raise that, as with sudo sysctl -w fs.file-max=1000000"
	if err := refusal(&stage.Failure{Step: "open_tree /usr", Errno: uint64(syscall.ENFILE)}); err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestOldKernel(t *testing.T) {
	for release, ok := range map[string]bool{"5.10.0-28-amd64": false, "5.11.22": false, "4.18.0-553.el8": false, "5.12.0": true, "6.1.0-50-amd64": true, "": false} {
		err := recent(release)
		if (err == nil) != ok {
			t.Errorf("%q: %v", release, err)
		}
	}
	want := "linux 5.10.0-28-amd64 is too old, the native engine needs 5.12 or later; use podman or docker"
	if err := recent("5.10.0-28-amd64"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestBrokenStage starts stages that cannot do what they are told: each is an
// error that names the step, and Python has not run.
func TestBrokenStage(t *testing.T) {
	e := newEngine(t)
	py, err := e.pythons.find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	limits, who := sandbox.Limits{}.WithDefaults(), identify()
	for _, c := range []struct {
		name   string
		change func(*stage.Config)
		want   string
	}{
		{"mount", func(c *stage.Config) {
			c.Mounts = append(slices.Clone(c.Mounts), stage.Mount{Source: "/nonexistent", Target: "/nonexistent", Attr: readOnly})
		}, "making the sandbox: open_tree /nonexistent: no such file or directory; use podman or docker"},
		{"tmpfs", func(c *stage.Config) {
			c.Mounts = []stage.Mount{{Target: "/tmp", Dir: true, Options: [][2]string{{"size", "much"}}}}
		}, "making the sandbox: tmpfs size: invalid argument; use podman or docker"},
		{"filter", func(c *stage.Config) { c.Seccomp = "" }, "making the sandbox: seccomp: no filter; use podman or docker"},
		{"wrong filter", func(c *stage.Config) { c.Seccomp = strings.Repeat("\x00", 8) }, "making the sandbox: seccomp: invalid argument; use podman or docker"},
		{"landlock", func(c *stage.Config) { c.Landlock = &stage.Landlock{FS: 1 << 63} }, "making the sandbox: landlock_create_ruleset: invalid argument; use podman or docker"},
		{"interpreter", func(c *stage.Config) { c.Path = "/usr/bin/nonexistent" },
			`executing python "/usr/bin/nonexistent" in the sandbox: no such file or directory; name another interpreter with python: in the profile`},
		{"folder", func(c *stage.Config) { c.Dir = "/nonexistent" }, "making the sandbox: chdir /nonexistent: no such file or directory; use podman or docker"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "landlock" && landlockABI() == 0 {
				enginetest.Skip(t, "this kernel has no Landlock; boot with lsm=landlock,…")
			}
			cfg, err := newConfig(py, who, limits, []string{"-I", "-c", "print('ran')"})
			if err != nil {
				t.Fatal(err)
			}
			c.change(cfg)
			b, err := e.start(t.Context(), cfg, who, limits)
			if err == nil {
				out, _, exit := enginetest.Collect(t, b)
				t.Fatalf("started: %q, %+v", out, exit)
			}
			if err.Error() != c.want {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}

// TestStageAlone starts the stage as anybody could: it is not the first of a
// pid namespace, and refuses.
func TestStageAlone(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	cmd := exec.Command(exe)
	cmd.Args = []string{stage.Name}
	cmd.ExtraFiles = []*os.File{null, w}
	err = cmd.Run()
	w.Close()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 125 {
		t.Errorf("%v, want exit status 125", err)
	}
	text := make([]byte, 1000)
	n, _ := r.Read(text)
	var got stage.Failure
	want := stage.Failure{Step: "stage", Text: "not the first process of a pid namespace"}
	if err := stage.Decode(text[:n], &got); err != nil || got != want {
		t.Errorf("%+v, want %+v (%v)", got, want, err)
	}
}

// TestRefusedPython names interpreters that will not do.
func TestRefusedPython(t *testing.T) {
	e := New()
	defer e.Close()
	dir := enginetest.OpenDir(t, 0o755)
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old := script("old", `echo '{"executable": "/usr/bin/python3.8", "prefixes": ["/usr"], "stdlib": "/usr/lib/python3.8", "version": [3, 8, 18]}'`)
	silent := script("silent", "exit 0")
	failing := script("failing", "echo 'pyenv: python3: command not found' >&2; exit 127")
	for name, want := range map[string]string{
		"/nonexistent/python": `python "/nonexistent/python": no such file or directory; name an interpreter or a virtual environment that exists`,
		"venv/bin/python":     `python "venv/bin/python": not an absolute path; name an interpreter or a virtual environment by its absolute path`,
		"python0":             `python "python0": not found on PATH; name an interpreter or a virtual environment by its absolute path`,
		dir:                   `python "` + dir + `": the folder has no bin/python3; name an interpreter or a virtual environment`,
		old:                   `python "` + old + `": version 3.8.18 is too old; name one of 3.9 or later with python: in the profile`,
		silent:                `python "` + silent + `": does not answer like a Python; name another interpreter with python: in the profile`,
		failing:               `python "` + failing + `": pyenv: python3: command not found (exit status 127); name a working interpreter with python: in the profile`,
	} {
		_, err := e.Start(t.Context(), sandbox.Spec{Python: name}, nil, io.Discard)
		if err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}
