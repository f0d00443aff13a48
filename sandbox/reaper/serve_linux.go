package reaper

import (
	"os"
	"syscall"
)

// bound lets a service end with this process, whatever ends that.
func bound() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }

func terminate(p *os.Process) { p.Signal(syscall.SIGTERM) }
