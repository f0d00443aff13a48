package podman

import (
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"

	"bridge/sandbox/podman/reaper"
)

// labels of our containers: what one is for, and whose it is.
const (
	labelUse   = "bridge"
	labelOwner = reaper.Label
)

// self names an engine of this process so that no other is ever meant by it:
// the boot of the machine, the pid namespace, the process's number there, when
// it started, and a word of the engine's own.
func self() string {
	pid := os.Getpid()
	return fmt.Sprintf("%s %s %d %s %s", boot(), namespace(), pid, or(startOf(pid), "-"), rand.Text())
}

// parts is how many words an owner has.
const parts = 5

// gone tells whether the process that a label names has certainly ended. Of a
// process on another machine, or in another pid namespace of this one, nothing
// can be said.
func gone(owner string) bool {
	f := strings.Fields(owner)
	if len(f) != parts || f[0] != boot() || f[1] != namespace() {
		return false
	}
	pid, err := strconv.Atoi(f[2])
	return err == nil && startOf(pid) != f[3] && known(pid)
}

// earlier tells whether a label is of an earlier boot, if the machine is this one.
func earlier(owner string) bool {
	f := strings.Fields(owner)
	return len(f) == parts && f[0] != boot() && f[0] != "-" && boot() != "-"
}

func boot() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "-"
	}
	return strings.TrimSpace(string(text))
}

func namespace() string {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "-"
	}
	return strings.Trim(strings.TrimPrefix(link, "pid:"), "[]")
}

// startOf is when a process started, in the kernel's ticks since the boot; ""
// if there is none or the system does not tell.
func startOf(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name in parentheses may hold anything; field 22 is the 20th after it.
	_, rest, ok := cutLast(string(text), ") ")
	f := strings.Fields(rest)
	if !ok || len(f) < 20 {
		return ""
	}
	return f[19]
}

func cutLast(s, sep string) (before, after string, found bool) {
	at := strings.LastIndex(s, sep)
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+len(sep):], true
}
