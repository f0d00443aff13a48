//go:build unix

package toy

import (
	"os"
	"os/exec"
	"syscall"
)

// startDaemon leaves a process behind in a session of its own, which holds
// the server's stdio open. The file is written once it ignores what it should.
func startDaemon(file string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Args = []string{os.Args[0], "-as-daemon", file}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}
