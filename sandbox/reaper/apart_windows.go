package reaper

import "syscall"

// apart keeps a process from the signals of the bridge's console.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
