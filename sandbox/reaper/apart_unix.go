//go:build !windows

package reaper

import "syscall"

// apart keeps a process from the signals of the bridge's group and terminal.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
