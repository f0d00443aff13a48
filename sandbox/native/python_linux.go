package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// oldest is the oldest Python that the guest's code runs on.
var oldest = [2]int{3, 9}

// patience is how long an interpreter may take to say what it is: a version
// manager's shim on a cold disk takes a second.
const patience = 20 * time.Second

// python is an interpreter as it describes itself. What is found on PATH may
// be a shell script of a version manager; what runs in the sandbox is the
// executable behind it.
type python struct {
	Executable string   `json:"executable"`
	Prefixes   []string `json:"prefixes"` // folders that hold its library and packages
	Stdlib     string   `json:"stdlib"`
	Version    [3]int   `json:"version"`
}

// question also runs on interpreters that are too old, so that they can say so.
const question = `
import json, sys, sysconfig
paths = [sysconfig.get_path(n) for n in ("stdlib", "platstdlib", "purelib", "platlib")]
names = ("prefix", "base_prefix", "exec_prefix", "base_exec_prefix")
print("\n" + json.dumps({
    "executable": sys.executable,
    "prefixes": [getattr(sys, n) for n in names if getattr(sys, n, "")] + [p for p in paths if p],
    "stdlib": paths[0],
    "version": list(sys.version_info[:3]),
}))
`

// pythons remembers the interpreters that were asked.
type pythons struct {
	turn  chan struct{}      // holds a token; whoever has it may use known
	known map[string]*python // by the name that a spec gives
}

func newPythons() *pythons {
	ps := &pythons{turn: make(chan struct{}, 1), known: make(map[string]*python)}
	ps.turn <- struct{}{}
	return ps
}

// find returns the interpreter that a spec names, or one for "".
func (ps *pythons) find(ctx context.Context, name string) (*python, error) {
	select {
	case <-ps.turn:
		defer func() { ps.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p := ps.known[name]; p != nil {
		return p, nil
	}
	p, err := choose(ctx, name)
	if err != nil {
		return nil, err
	}
	ps.known[name] = p
	return p, nil
}

func (ps *pythons) forget(name string) {
	<-ps.turn
	defer func() { ps.turn <- struct{}{} }()
	delete(ps.known, name)
}

// choose asks the named interpreter, or, without a name, the first python3
// that will do: the one on PATH may be too old, or out of the guest's reach.
func choose(ctx context.Context, name string) (*python, error) {
	if name != "" {
		path, err := locate(name)
		if err != nil {
			return nil, fmt.Errorf("python %q: %w", name, err)
		}
		return ask(ctx, path)
	}
	var candidates []string
	if path, err := exec.LookPath("python3"); err == nil && filepath.IsAbs(path) {
		candidates = append(candidates, path)
	}
	for _, path := range []string{"/usr/bin/python3", "/usr/local/bin/python3"} {
		if _, err := os.Stat(path); err == nil && !slices.Contains(candidates, path) {
			candidates = append(candidates, path)
		}
	}
	if len(candidates) == 0 {
		return nil, errors.New("no python3 on PATH; install Python 3.9 or later, or name one with python: in the profile")
	}
	var first error
	for _, path := range candidates {
		p, err := ask(ctx, path)
		if err == nil {
			return p, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// locate turns what a spec names into the path of an interpreter.
func locate(name string) (string, error) {
	if !strings.Contains(name, "/") {
		path, err := exec.LookPath(name)
		if err != nil || !filepath.IsAbs(path) {
			return "", errors.New("not found on PATH; name an interpreter or a virtual environment by its absolute path")
		}
		return path, nil
	}
	if !filepath.IsAbs(name) {
		return "", errors.New("not an absolute path; name an interpreter or a virtual environment by its absolute path")
	}
	info, err := os.Stat(name)
	if err != nil {
		return "", fmt.Errorf("%w; name an interpreter or a virtual environment that exists", bare(err))
	}
	if !info.IsDir() {
		return name, nil
	}
	for _, in := range []string{"bin/python3", "bin/python"} {
		path := filepath.Join(name, in)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", errors.New("the folder has no bin/python3; name an interpreter or a virtual environment")
}

// ask runs the interpreter on the host, away from the current folder and from
// the variables that would change what it loads.
func ask(ctx context.Context, path string) (*python, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-E", "-s", "-c", question)
	cmd.Dir = "/"
	// A shim starts processes of its own. The kernel signals them when the
	// thread that started the first one ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PYTHON") })
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if cause := crowded(err); cause != nil {
			return nil, cause
		}
		if ctx.Err() != nil {
			err = ctx.Err()
		} else if last := lastLine(stderr.String()); last != "" {
			err = fmt.Errorf("%s (%w)", last, bare(err))
		}
		return nil, fmt.Errorf("python %q: %w; name a working interpreter with python: in the profile", path, bare(err))
	}
	p := new(python)
	if err := json.Unmarshal([]byte(lastLine(string(out))), p); err != nil || !filepath.IsAbs(p.Executable) {
		return nil, fmt.Errorf("python %q: does not answer like a Python; name another interpreter with python: in the profile", path)
	}
	if slices.Compare(p.Version[:2], oldest[:]) < 0 {
		return nil, fmt.Errorf("python %q: version %d.%d.%d is too old; name one of 3.9 or later with python: in the profile",
			path, p.Version[0], p.Version[1], p.Version[2])
	}
	if err := p.reachable(); err != nil {
		return nil, fmt.Errorf("python %q: %w", path, err)
	}
	return p, nil
}

// reachable tells whether the guest can read the interpreter. What root can
// run is not always open to an id that owns nothing; what an ordinary user can
// run, the guest can, being that user.
func (p *python) reachable() error {
	if os.Geteuid() != 0 {
		return nil
	}
	want := []struct {
		path string
		mode os.FileMode
	}{{p.Executable, 0o005}, {p.Stdlib, 0o005}, {filepath.Join(p.Stdlib, "os.py"), 0o004}}
	for _, w := range want {
		info, err := os.Stat(w.path)
		if err != nil {
			return bare(err)
		}
		if info.Mode()&w.mode != w.mode {
			return fmt.Errorf("%s is not open to everyone, so the sandbox cannot read it; chmod -R o+rX %s", w.path, filepath.Dir(filepath.Dir(p.Executable)))
		}
	}
	return nil
}

func lastLine(s string) string {
	s = strings.TrimRight(s, "\n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// bare takes the operation and the path off an error that is about to be
// told with its own.
func bare(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var e *exec.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
