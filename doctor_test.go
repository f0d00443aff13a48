package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"bridge/harness/project"
	"bridge/sandbox"
	"bridge/sandbox/container"
)

// finding is a line of the doctor's, with what is in it as regular expressions.
type finding struct{ check, status, text, remedy string }

// TestDoctor holds every line of the doctor's on this machine, as text and as
// JSON, against what the test finds out by itself. It is for a machine with all
// engines: as root podman, docker and native, as another user podman and native.
func TestDoctor(t *testing.T) {
	wanted := []string{"podman", "native"}
	if os.Geteuid() == 0 {
		wanted = append(wanted, "docker")
	}
	if only := strings.Fields(os.Getenv(Engines)); len(only) > 0 && slices.ContainsFunc(wanted, func(e string) bool { return !slices.Contains(only, e) }) {
		t.Skip("not all engines are wanted")
	}
	ready := 0
	forEachEngine(t, func(*testing.T, sandbox.Engine) { ready++ })
	if ready < len(wanted) {
		project.Skip(t, "engines are ready: ", ready, ", and it is about ", strings.Join(wanted, ", "))
	}
	policy := filepath.Join(t.TempDir(), "policy.cue")
	if err := os.WriteFile(policy, []byte("servers: toy: command: \"toy\"\nprofiles: all: {rootful: true, servers: toy: tools: [_]: {}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var want []finding
	want = append(want, hostFindings(t)...)
	toy, err := exec.LookPath("toy")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want,
		finding{"policies", "ok", regexp.QuoteMeta(policy) + "; profiles: all; built in: default, strict", ""},
		finding{"profile", "ok", `"all"`, ""},
		finding{`server "toy"`, "ok", regexp.QuoteMeta(toy), ""})
	want = append(want, podmanFindings()...)
	want = append(want, dockerFindings()...)
	want = append(want, nativeFindings()...)
	want = append(want, finding{"engine", "ok", "podman, the first that is ready", ""})

	t.Run("json", func(t *testing.T) {
		var got []struct{ Check, Status, Finding, Remedy string }
		if err := json.Unmarshal(consult(t, policy, "--json"), &got); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, c := range got {
			lines = append(lines, line(c.Check, c.Status, c.Finding, c.Remedy))
		}
		compare(t, lines, want)
	})
	t.Run("text", func(t *testing.T) {
		text := strings.ReplaceAll(string(consult(t, policy)), "\n      mend: ", "; mend: ")
		var lines []string
		for l := range strings.Lines(text) {
			if l = strings.TrimSuffix(l, "\n"); l != "" { // between groups
				lines = append(lines, l)
			}
		}
		compare(t, lines, want)
	})
}

// consult asks the doctor, for whom nothing here is a fail.
func consult(t *testing.T, policy string, args ...string) []byte {
	t.Helper()
	program, err := exec.LookPath("bridge")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{"doctor", "--wait", "120s", "--profile", "all", "--policies", policy}, args...)...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool {
		return strings.HasPrefix(pair, "MCP_BRIDGE_") || strings.HasPrefix(pair, "BRIDGE_POLICIES=")
	})
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return out
}

func line(check, status, text, remedy string) string {
	l := fmt.Sprintf("%-4s  %s: %s", status, check, text)
	if remedy != "" {
		l += "; mend: " + remedy
	}
	return l
}

// compare holds lines against findings, in order.
func compare(t *testing.T, lines []string, want []finding) {
	t.Helper()
	for i := range max(len(lines), len(want)) {
		switch {
		case i >= len(want):
			t.Errorf("one more line:\n%s", lines[i])
		case i >= len(lines):
			t.Errorf("no line for\n%+v", want[i])
		default:
			w := want[i]
			pattern := line(regexp.QuoteMeta(w.check), w.status, w.text, w.remedy)
			if !regexp.MustCompile("^" + pattern + "$").MatchString(lines[i]) {
				t.Errorf("the line\n%s\nis not as wanted\n%s", lines[i], pattern)
			}
		}
	}
}

// contents is what a file of the system holds, "" if there is none.
func contents(path string) string {
	text, _ := os.ReadFile(path)
	return strings.TrimSpace(string(text))
}

// unified tells whether the machine has cgroups of version 2.
func unified() bool {
	_, err := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	return err == nil
}

// hostFindings are of the machine.
func hostFindings(t *testing.T) []finding {
	t.Helper()
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	all := []finding{
		{"kernel", "ok", regexp.QuoteMeta("Linux " + contents("/proc/sys/kernel/osrelease") + " on " + machine), ""},
		{"user namespaces", "ok", "may be made", ""},
	}
	root := os.Geteuid() == 0
	switch restricted := contents("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1"; {
	case !restricted:
		all = append(all, finding{"apparmor", "ok", "does not keep user namespaces from anybody", ""})
	case root:
		all = append(all, finding{"apparmor", "ok", "keeps user namespaces from ordinary users without a profile, not from root", ""})
	default:
		all = append(all, finding{"apparmor", "warn", "keeps user namespaces from programs without a profile .*", "echo .* && sudo apparmor_parser -r /etc/apparmor.d/bridge"})
	}
	all = append(all,
		finding{"seccomp", "ok", "the kernel filters system calls", ""},
		finding{"landlock", "ok", `version [1-9]\d*`, ""})
	if unified() {
		all = append(all, finding{"cgroups", "(ok  |warn)", "version 2.*", ""}) // and what mends it
	} else {
		all = append(all, finding{"cgroups", "warn", "version 1; native, and rootless engines, cannot use them to limit memory, processors and processes; native's watchdog does not count all that the kernel holds for a sandbox",
			"boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line"})
	}
	ids := "not needed by root"
	if !root {
		me, err := user.Current()
		if err != nil {
			t.Fatal(err)
		}
		ids = regexp.QuoteMeta(me.Username) + " has some in /etc/subuid and /etc/subgid"
	}
	return append(all,
		finding{"subordinate ids", "ok", ids, ""},
		finding{"selinux", "ok", map[string]string{"": "not in use", "0": "permissive", "1": "enforcing; folders that a profile mounts need relabel: true to be read"}[contents("/sys/fs/selinux/enforce")], ""})
}

// sandboxed is the line of a sandbox that is as it should be.
func sandboxed(engine string) finding {
	return finding{engine + " sandbox", "ok", `started in \d\S*s: Python 3\.\d+\.\d+, user 65534 without capabilities or new privileges, system calls filtered, no network, read-only`, ""}
}

// held are the limits, with how those that are not always held alike are.
func held(memory, cpus, pids string) string {
	var all []string
	for _, limit := range [][3]string{
		{"memory 512MiB", memory, ", tried"}, {"cpus 1", cpus, ""}, {"pids 128", pids, ", tried"}, {"files 256", "rlimit", ", tried"},
		{"tmp 64MiB", "tmpfs", ", tried"}, {"workspace 128MiB", "tmpfs", ", tried"}, {"shm 16MiB", "tmpfs", ", tried"},
	} {
		if limit[1] != "" {
			all = append(all, limit[0]+` \(`+limit[1]+limit[2]+`\)`)
		}
	}
	return strings.Join(all, ", ")
}

// contained are the lines of an engine of containers that runs as root, or on
// cgroups that it may divide.
func contained(engine, service, rights string) []finding {
	version := "1"
	if unified() {
		version = "2"
	}
	return []finding{
		{engine + " service", "ok", service + `, version \d+\.\d+\.\d+\S*, API \d+\.\d+(\.\d+)?, ` + rights + `, cgroup version ` + version, ""},
		{engine + " image", "ok", regexp.QuoteMeta(container.OwnImage(containerfile)) + `, \d+ MB, built \d{4}-\d\d-\d\d`, ""},
		sandboxed(engine),
		{engine + " limits", "ok", held("cgroup", "cgroup", "cgroup"), ""},
	}
}

func podmanFindings() []finding {
	service, rights := regexp.QuoteMeta("/run/podman/podman.sock"), "rootful"
	if host := os.Getenv("CONTAINER_HOST"); host != "" {
		service = regexp.QuoteMeta("CONTAINER_HOST=" + host)
	}
	if os.Geteuid() != 0 {
		rights = "rootless"
	}
	all := contained("podman", service, rights)
	if rights == "rootless" && !unified() {
		all[3].text = held("", "", "rlimit")
		all = append(all, finding{"podman limits", "warn", "not in force: memory, cpus",
			"use an engine or a machine that holds them; enforced: true in the profile's limits makes this an error"})
	}
	return all
}

func dockerFindings() []finding {
	if os.Geteuid() != 0 {
		return []finding{{"docker service", "warn", `does not answer at unix:///var/run/docker\.sock \(docker's default\): permission denied`,
			regexp.QuoteMeta("become a member of its group, or run a daemon of your own: dockerd-rootless-setuptool.sh install")}}
	}
	return contained("docker", `unix:///var/run/docker\.sock \(docker's default\)`, "rootful")
}

func nativeFindings() []finding {
	limits := held("watchdog", "affinity", "rlimit")
	if unified() {
		limits = held("(cgroup|watchdog)", "(cgroup|affinity)", "(cgroup|rlimit)")
	}
	return []finding{
		{"native python", "ok", `version 3\.\d+\.\d+`, ""},
		sandboxed("native"),
		{"native limits", "ok", limits, ""},
	}
}
