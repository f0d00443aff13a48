//go:build !linux

package reaper

import (
	"os"
	"syscall"
)

// bound is nothing where only podman's clients run, and no service.
func bound() *syscall.SysProcAttr { return nil }

func terminate(p *os.Process) { p.Kill() }

func (answer) endRest() {}
