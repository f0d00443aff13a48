package reaper

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// bound lets a service end with this process, whatever ends that.
func bound() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }

func terminate(p *os.Process) { p.Signal(syscall.SIGTERM) }

// endRest kills what the first process of a service leaves. Without privileges
// podman is two, of which the second may outlive the first, and one more keeps
// its namespaces for ever. What was there before does not have the mark.
func (a answer) endRest() {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		pid, _ := strconv.Atoi(filepath.Base(folder))
		process, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		env, _ := os.ReadFile(folder + "/environ")
		name, _ := os.ReadFile(folder + "/comm")
		args, _ := os.ReadFile(folder + "/cmdline")
		ours := slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool { return string(v) == mark+"="+a.Dir })
		if ours && (string(name) == "podman pause\n" || bytes.Contains(args, []byte("unix://"+a.Socket))) {
			process.Kill()
		}
		process.Release()
	}
}
