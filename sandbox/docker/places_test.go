//go:build linux

package docker

import (
	"os"
	"slices"
	"strings"
	"testing"

	"bridge/sandbox"
	"bridge/sandbox/enginetest"
)

// TestPlaces looks at every mount of the sandbox: there are three to write to,
// bounded, and what lies in /dev/shm cannot be executed.
func TestPlaces(t *testing.T) {
	e := newEngine(t)
	tag := buildImage(t, e, "volume", "ARG BASE\nFROM $BASE\nENV BRIDGE_OF_THE_IMAGE=1\nVOLUME /data /var/lib/more\nHEALTHCHECK CMD true\nENTRYPOINT [\"/bin/false\"]\n")
	b := enginetest.Start(t, e, allowed(sandbox.Spec{Image: tag, Limits: enginetest.Small}), `
import json, os
places = {}
for line in open("/proc/self/mountinfo"):
    place, flags = line.split()[4:6]
    if not os.path.isdir(place): continue
    try:
        open(place + "/file", "w").close()
    except OSError: continue
    os.unlink(place + "/file")
    s = os.statvfs(place)
    places[place] = [s.f_blocks * s.f_frsize >> 20, s.f_files, *sorted(set(flags.split(",")) & {"nosuid", "nodev", "noexec"})]
for folder in ("/", "/etc", "/var/tmp", "/run", "/run/lock", "/var/lib/more", "/data", "/home", "/dev", "/usr", "/sys/fs/cgroup"):
    if os.access(folder, os.W_OK) and not folder.startswith(tuple(places)): places[folder] = "writable"
print(json.dumps([places, os.environ.get("BRIDGE_OF_THE_IMAGE")]))`)
	stdout, stderr, _ := enginetest.Collect(t, b)
	want := `[{"/tmp": [16, 16384, "nodev", "nosuid"], "/workspace": [24, 16384, "nodev", "nosuid"], "/dev/shm": [8, 16384, "nodev", "noexec", "nosuid"]}, null]` + "\n"
	sorted := func(s string) string { r := []byte(s); slices.Sort(r); return string(r) }
	if sorted(stdout) != sorted(want) {
		t.Errorf("%s\nwant, in any order:\n%s%s", stdout, want, stderr)
	}
}

// TestNetwork looks for one: there is loopback, and nothing else, and sockets
// are local ones.
func TestNetwork(t *testing.T) {
	e := newEngine(t)
	b := enginetest.Start(t, e, allowed(sandbox.Spec{}), `
import os, socket
def opens(family, kind):
    try:
        socket.socket(family, kind).close()
    except PermissionError:
        return False
    except OSError as error:
        print(family, kind, error)
    return True
print([line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line], open("/proc/net/route").read().count("\n"))
print([family for family in range(64) for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW) if opens(family, kind)])
print(os.readlink("/proc/self/ns/net"))`)
	stdout, stderr, _ := enginetest.Collect(t, b)
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	after, is := strings.CutPrefix(stdout, "['lo'] 1\n[1, 1, 1]\n")
	if !is || !strings.HasPrefix(after, "net:") || strings.TrimSpace(after) == own {
		t.Errorf("%s%s", stdout, stderr)
	}
}

// TestUser runs as another user than nobody, with one more path hidden.
func TestUser(t *testing.T) {
	e := newEngine(t)
	b := enginetest.Start(t, e, allowed(sandbox.Spec{User: "1000:1001", SecurityOpt: []string{"no-new-privileges", "mask=/etc/passwd"}}), `
import os
for place in "/tmp", "/workspace", "/dev/shm": open(place + "/file", "w").close()
print(os.getresuid(), os.getresgid(), os.path.getsize("/etc/passwd"), os.listdir("/sys"))`)
	if stdout, stderr, _ := enginetest.Collect(t, b); stdout != "(1000, 1000, 1000) (1001, 1001, 1001) 0 []\n" {
		t.Errorf("%s%s", stdout, stderr)
	}
}
