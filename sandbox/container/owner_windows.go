package container

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// bootID needs no more than this: the time of a process's start is absolute.
func bootID() (string, error) { return "windows", nil }

func startOf(pid int) (string, error) {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(pid))
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return "", os.ErrNotExist
	}
	if err != nil {
		return "", err
	}
	defer windows.CloseHandle(process)
	// While somebody holds a handle, a process that has ended can be opened.
	if state, err := windows.WaitForSingleObject(process, 0); err == nil && state == windows.WAIT_OBJECT_0 {
		return "", os.ErrNotExist
	}
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(process, &created, &exited, &kernel, &user); err != nil {
		return "", err
	}
	return fmt.Sprint(created.Nanoseconds()), nil
}

func machineID() string { return "" }

func pidNamespace() string { return "all" }
