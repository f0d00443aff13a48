//go:build !windows

package podman

import "syscall"

// apart keeps a process from what is sent to the bridge's group and terminal.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
