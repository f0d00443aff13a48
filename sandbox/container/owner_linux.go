package container

import (
	"fmt"
	"os"
	"strings"
)

func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text)), err
}

// startOf reads field 22 of proc(5)'s stat, in ticks since the machine was
// started. The name before it may hold anything.
func startOf(pid int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	stat := string(text)
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	// A zombie has ended.
	if fields[0] == "Z" || fields[0] == "X" {
		return "", os.ErrNotExist
	}
	return fields[19], nil
}

func machineID() string {
	text, _ := os.ReadFile("/etc/machine-id")
	return strings.TrimSpace(string(text))
}

func pidNamespace() string {
	name, _ := os.Readlink("/proc/self/ns/pid")
	return name
}
