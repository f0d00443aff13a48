package container

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func bootID() (string, error) {
	return unix.Sysctl("kern.bootsessionuuid")
}

func startOf(pid int) (string, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return "", os.ErrNotExist
	}
	start := info.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", start.Sec, start.Usec), nil
}

func machineID() string {
	id, _ := unix.Sysctl("kern.uuid")
	return id
}

func pidNamespace() string { return "all" }
