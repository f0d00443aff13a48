package native

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"bridge/sandbox"

	"golang.org/x/sys/unix"
)

const (
	// complete is a file in an environment in which everything was installed.
	complete = ".complete"

	// unused is for how long an environment is kept that nobody uses.
	unused = 90 * 24 * time.Hour
)

// withPackages is the interpreter of the environment that has a spec's packages,
// which is made if need be. It is the base itself if there are none, or if none
// may be made and the environment is not there.
func (e *Engine) withPackages(ctx context.Context, spec sandbox.Spec, mayMake bool, progress io.Writer) (*python, error) {
	base, err := e.pythons.find(ctx, spec.Python)
	if err != nil || spec.Packages.None() {
		return base, err
	}
	digest, err := spec.Packages.Digest(fmt.Sprint(base.Executable, base.Version))
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(spec.Packages.Folder, digest)
	now := time.Now()
	if os.Chtimes(filepath.Join(dir, complete), now, now) != nil {
		if !mayMake {
			return base, nil
		}
		if err := makeEnvironment(ctx, dir, base, spec.Packages, progress); err != nil {
			return nil, err
		}
	}
	return e.pythons.find(ctx, dir)
}

// makeEnvironment makes a virtual environment with packages, with uv if it is
// there, or else with Python's own venv and pip. One bridge does it at a time.
func makeEnvironment(ctx context.Context, dir string, base *python, p sandbox.Packages, progress io.Writer) (err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	for unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
	if _, err := os.Stat(filepath.Join(dir, complete)); err == nil {
		return nil // another has made it
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	removeUnused(filepath.Dir(dir))
	fmt.Fprintf(progress, "installing %s\n", strings.Join(append(slices.Clone(p.List), strings.Fields(p.File)...), ", "))
	wanted := slices.Clone(p.List)
	if p.File != "" {
		wanted = append([]string{"-r", p.File}, wanted...)
	}
	python := filepath.Join(dir, "bin", "python3")
	steps := [][]string{
		{base.Executable, "-I", "-m", "venv", dir},
		append([]string{python, "-I", "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off"}, wanted...),
	}
	if uv, err := exec.LookPath("uv"); err == nil && filepath.IsAbs(uv) {
		steps = [][]string{
			{uv, "venv", "--python", base.Executable, dir},
			append([]string{uv, "pip", "install", "--python", python}, wanted...),
		}
	}
	for _, step := range steps {
		if err := install(ctx, step, progress); err != nil {
			os.RemoveAll(dir)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("installing the profile's packages: %w", err)
		}
	}
	return os.WriteFile(filepath.Join(dir, complete), nil, 0o644)
}

// install runs a step, whose output is progress. The error is the last that it says.
func install(ctx context.Context, args []string, progress io.Writer) error {
	// The sandbox's user has to be able to read what is installed.
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", `umask 022 && exec "$@"`, "sh"}, args...)...)
	cmd.Dir = "/"
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PYTHON") })
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	last := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		fmt.Fprintln(progress, line)
		if line != "" && (last == "" || !strings.HasPrefix(last, "ERROR: ") || strings.HasPrefix(line, "ERROR: ")) {
			last = line
		}
	}
	if err := cmd.Wait(); err != nil {
		remedy := "see whether this works: " + strings.Join(args, " ")
		if strings.Contains(strings.Join(args, " "), "-m venv") {
			remedy = "install uv, or python3-venv"
		}
		if last == "" {
			return fmt.Errorf("%w; %s", err, remedy)
		}
		return errors.New(strings.ReplaceAll(strings.TrimPrefix(last, "ERROR: "), "; ", ", ") + "; " + remedy)
	}
	return nil
}

// removeUnused removes environments that have not been used for long.
func removeUnused(folder string) {
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		dir := filepath.Join(folder, entry.Name())
		if info, err := os.Stat(filepath.Join(dir, complete)); err == nil && time.Since(info.ModTime()) > unused {
			os.RemoveAll(dir)
			os.Remove(dir + ".lock")
		}
	}
}
