package podman

import "syscall"

// apart keeps a process from what is sent to the bridge's console.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
