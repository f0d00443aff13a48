//go:build linux

package native

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bridge/sandbox"
	"bridge/sandbox/enginetest"
	"bridge/sandbox/native/stage"
)

// newVenv makes a virtual environment with a package in it, in a folder that
// only its owner can enter.
func newVenv(t *testing.T, py *python) string {
	t.Helper()
	dir := filepath.Join(enginetest.OpenDir(t, 0o700), "project", "venv")
	out, err := exec.CommandContext(t.Context(), py.Executable, "-m", "venv", "--without-pip", dir).CombinedOutput()
	if err != nil {
		enginetest.Skip(t, "python3 cannot make virtual environments; install python3-venv: "+string(out))
	}
	found, err := filepath.Glob(filepath.Join(dir, "lib", "python3*", "site-packages"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if err := os.WriteFile(filepath.Join(found[0], "mine.py"), []byte("answer = 42\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestVirtualEnvironment runs Python from a virtual environment, named by its
// folder and by its interpreter: its packages are there, and cannot be
// changed, though their owner may be the guest itself.
func TestVirtualEnvironment(t *testing.T) {
	e := newEngine(t)
	py, err := e.pythons.find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	venv := newVenv(t, py)
	const code = `
import json, mine, os, sys
def write(path):
    try: os.close(os.open(path, os.O_WRONLY | os.O_APPEND)); return "open"
    except OSError as e: return e.strerror
print(json.dumps([sys.prefix, sys.base_prefix, mine.answer, write(mine.__file__), os.listdir(os.path.dirname(sys.prefix))]))
`
	for _, name := range []string{venv, filepath.Join(venv, "bin", "python"), filepath.Join(venv, "bin", "python3")} {
		out, stderr, exit := enginetest.Collect(t, enginetest.Start(t, e, sandbox.Spec{Python: name}, code))
		refused := "Read-only file system"
		if os.Geteuid() == 0 {
			refused = "Permission denied" // not the owner, which is asked first
		}
		want, _ := json.Marshal([]any{venv, py.base(), 42, refused, []string{"venv"}})
		if got := strings.ReplaceAll(strings.TrimSpace(out), ", ", ","); got != string(want) || exit.Code != 0 {
			t.Errorf("%s: %s, want %s\n%s%+v", name, got, want, stderr, exit)
		}
	}
	// The control: outside, the same file can be written to.
	out, err := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "python"), "-I", "-c", code).Output()
	if err != nil || !strings.Contains(string(out), `42, "open"`) {
		t.Errorf("control: %s, %v", out, err)
	}
}

// base is the prefix that a virtual environment of the interpreter is based on.
func (p *python) base() string { return p.Prefixes[1] }

// TestLinkedPython runs an interpreter through links from elsewhere.
func TestLinkedPython(t *testing.T) {
	e := newEngine(t)
	py, err := e.pythons.find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	dir := enginetest.OpenDir(t, 0o700)
	if err := os.Symlink(py.Executable, filepath.Join(dir, "python3")); err != nil {
		t.Fatal(err)
	}
	out, stderr, exit := enginetest.Collect(t, enginetest.Start(t, e, sandbox.Spec{Python: filepath.Join(dir, "python3")}, "import json; print(json.dumps(1))"))
	if out != "1\n" {
		t.Errorf("%q %s %+v", out, stderr, exit)
	}
}

// TestUpgradedPython removes an interpreter that was asked before: the next
// start asks again.
func TestUpgradedPython(t *testing.T) {
	e := newEngine(t)
	py, err := e.pythons.find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	venv := newVenv(t, py)
	enginetest.Start(t, e, sandbox.Spec{Python: venv}, "")
	if err := os.Rename(venv, venv+"-2"); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Start(t.Context(), sandbox.Spec{Python: venv}, nil, io.Discard); err == nil {
		t.Error("started from a folder that is gone")
	}
	if err := os.Rename(venv+"-2", venv); err != nil {
		t.Fatal(err)
	}
	enginetest.Start(t, e, sandbox.Spec{Python: venv}, "")
}

// TestRevealingPython refuses interpreters whose folder holds other things.
func TestRevealingPython(t *testing.T) {
	t.Setenv("HOME", "/data/people/ann")
	for folder, want := range map[string]bool{
		"/": true, "/home": true, "/home/ann": true, "/root": true, "/etc": true, "/opt": true, "/tmp": true, "/var": true,
		"/etc/python": true, "/dev/shm/venv": true, "/data/people/ann": true, "/data/people": true, "/data": true,
		"/opt/conda": false, "/home/ann/venv": false, "/root/.pyenv/versions/3.11.7": false, "/data/people/ann/venv": false, "/tmp/venv": false,
	} {
		if got := reveals(folder); got != want {
			t.Errorf("%s: %v, want %v", folder, got, want)
		}
	}
	_, err := newTree(&python{Executable: "/data/people/ann/bin/python3", Prefixes: []string{"/usr", t.TempDir() + "/../../.."}}, sandbox.Limits{}.WithDefaults())
	if err == nil || !strings.Contains(err.Error(), "holds more than Python and would be seen in the sandbox; name a virtual environment in a folder of its own") {
		t.Errorf("%v", err)
	}
}

// TestUnreadablePython does not take an interpreter that root can run and the
// guest could not read.
func TestUnreadablePython(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("an ordinary user is the guest itself, and reads what it can run")
		return
	}
	e := newEngine(t)
	py, err := e.pythons.find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	venv := newVenv(t, py)
	exe := filepath.Join(venv, "bin", "closed")
	text, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(exe, text, 0o700); err != nil {
		t.Fatal(err)
	}
	closed := &python{Executable: exe, Stdlib: py.Stdlib}
	want := exe + " is not open to everyone, so the sandbox cannot read it; chmod -R o+rX " + venv
	if err := closed.reachable(); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := py.reachable(); err != nil {
		t.Error(err)
	}
}

// TestFirstInitialised starts the stage in a program that links much else: of
// the packages beyond the standard library, none may be initialised before
// it, or every start of a sandbox would pay for them all.
func TestFirstInitialised(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	initialised := func(argv0 string) (packages []string) {
		cmd := exec.Command(exe, "-test.run=^$")
		cmd.Args[0] = argv0
		cmd.Env = []string{"GODEBUG=inittrace=1"}
		var stderr strings.Builder
		cmd.Stderr = &stderr
		cmd.Run() // the stage fails: it was given nothing
		for line := range strings.Lines(stderr.String()) {
			if rest, ok := strings.CutPrefix(line, "init "); ok {
				name, _, _ := strings.Cut(rest, " ")
				packages = append(packages, name)
			}
		}
		return packages
	}
	foreign := func(packages []string) (found []string) {
		for _, p := range packages {
			if first, _, _ := strings.Cut(p, "/"); strings.Contains(first, ".") || first == "bridge" {
				found = append(found, p)
			}
		}
		return found
	}
	staged := initialised(stage.Name)
	if len(staged) == 0 {
		t.Fatal("no packages are traced")
	}
	if found := foreign(staged); len(found) > 0 {
		t.Errorf("initialised before the stage: %v", found)
	}
	// The control: without the stage, there are some.
	if found := foreign(initialised(exe)); len(found) < 3 {
		t.Errorf("control: only %v are initialised", found)
	}
}
