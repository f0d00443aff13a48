package sandbox_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"bridge/sandbox"
)

// plain is an engine without isolation, for what only the wire and the guest
// decide: a child process, in a process namespace so that its end takes every
// process of the session with it.
type plain struct{ python string }

func (plain) Name() string                              { return "plain" }
func (plain) Ready(context.Context, sandbox.Spec) error { return nil }

func (p plain) Start(_ context.Context, _ sandbox.Spec, args []string, _ io.Writer) (sandbox.Sandbox, error) {
	dir, err := os.MkdirTemp("", "bridge-plain-") // its /tmp, so to say
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(p.python, args...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "TMPDIR=" + dir, "LANG=C.UTF-8"}
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWPID | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: syscall.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: syscall.Getgid(), Size: 1}},
	}
	b := &plainBox{cmd: cmd, done: make(chan struct{})}
	if b.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if b.stdout, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if b.stderr, err = cmd.StderrPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	go func() {
		defer close(b.done)
		defer os.RemoveAll(dir)
		// Not Wait: it would close the pipes before they are read.
		state, err := cmd.Process.Wait()
		if err == nil {
			status := state.Sys().(syscall.WaitStatus)
			b.exit = sandbox.Exit{Code: status.ExitStatus()}
			if status.Signaled() {
				b.exit = sandbox.Exit{Code: -1, Signal: int(status.Signal())}
			}
		}
	}()
	return b, nil
}

type plainBox struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.Reader
	stderr io.Reader
	done   chan struct{}
	exit   sandbox.Exit
	kill   sync.Once
}

func (b *plainBox) Stdin() io.WriteCloser     { return b.stdin }
func (b *plainBox) Stdout() io.Reader         { return b.stdout }
func (b *plainBox) Stderr() io.Reader         { return b.stderr }
func (b *plainBox) Kill()                     { b.kill.Do(func() { _ = b.cmd.Process.Kill() }) }
func (b *plainBox) Wait() sandbox.Exit        { <-b.done; return b.exit }
func (b *plainBox) OutOfMemory() bool         { return false }
func (b *plainBox) Limits() map[string]string { return map[string]string{} }
