//go:build linux

package docker

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/enginetest"

	"github.com/moby/moby/client"
)

// held starts a helper and returns it with the owner that it says it is.
func held(t *testing.T, e *Engine, name string) (cmd *exec.Cmd, owner string) {
	t.Helper()
	cmd = enginetest.Helper(t, name, "BRIDGE_TEST_IMAGE="+imageName(t, e))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	if _, ok := parseOwner(lines.Text()); !ok {
		t.Fatalf("the helper says %q", lines.Text())
	}
	return cmd, lines.Text()
}

// reapers counts the processes that look after the owner's containers.
func reapers(t *testing.T) int {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(text), "bridge-docker-reaper\x00") {
			n++
		}
	}
	return n
}

// TestKilledOwner kills a process that holds sandboxes: nothing of them is
// left, whether the guest sees the end of its input or not.
func TestKilledOwner(t *testing.T) {
	e := newEngine(t)
	for _, name := range []string{"session", "flood", "deaf"} {
		t.Run(name, func(t *testing.T) {
			cmd, owner := held(t, e, name)
			if len(containers(t, labelOwner+"="+owner)) == 0 {
				t.Error("there is no container to begin with")
			}
			cmd.Process.Kill()
			cmd.Wait()
			enginetest.Within(t, func() []string { return containers(t, labelOwner+"="+owner) })
		})
	}
}

// TestKilledAtAnyMoment kills a process that starts and ends sandboxes, also
// between the making of a container and its start.
func TestKilledAtAnyMoment(t *testing.T) {
	e := newEngine(t)
	var owners []string
	for n := range 12 {
		cmd, owner := held(t, e, "starts")
		owners = append(owners, owner)
		time.Sleep(time.Duration(150+n*31) * time.Millisecond) // the moment
		cmd.Process.Kill()
		cmd.Wait()
	}
	time.Sleep(5 * time.Second) // what the promise allows
	for _, owner := range owners {
		if left := containers(t, labelOwner+"="+owner); len(left) > 0 {
			t.Errorf("left of %s: %v", owner, left)
		}
	}
}

// TestReaperEnds closes an engine: the process that would look after what it
// leaves ends with it.
func TestReaperEnds(t *testing.T) {
	e := newEngine(t)
	enginetest.Start(t, e, subject.Spec, "pass").Wait()
	before := reapers(t)
	e.Close()
	if after := reapers(t); after != before-1 {
		t.Errorf("%d reapers, %d before the engine was closed", after, before)
	}
}

// TestSweep removes what a bridge of before has left, and nothing else.
func TestSweep(t *testing.T) {
	e := newEngine(t)
	l, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	me, err := self()
	if err != nil {
		t.Fatal(err)
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	machine, _, _ := strings.Cut(host(), "/")
	for _, c := range []struct {
		name, owner, host string
		stays             bool
	}{
		{"this process", me.String(), host(), true},
		{"a process that has ended", owner{me.boot, ended.Process.Pid, "1"}.String(), host(), false},
		{"another process of the same number", owner{me.boot, me.pid, "1"}.String(), host(), false},
		{"a process before the machine was started", owner{"another", me.pid, me.start}.String(), machine + "/elsewhere", false},
		{"a process of another machine", owner{"another", 1, "1"}.String(), "elsewhere/1", true},
		{"a process in another pid namespace", owner{me.boot, ended.Process.Pid, "1"}.String(), machine + "/elsewhere", true},
		{"nobody known", "x", host(), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := e.plan(t.Context(), allowed(sandbox.Spec{}))
			if err != nil {
				t.Fatal(err)
			}
			made, err := l.client.ContainerCreate(t.Context(), p.container(nil, map[string]string{labelFor: "test", labelOwner: c.owner, labelHost: c.host}))
			if err != nil {
				t.Fatal(err)
			}
			defer e.remove(l.client, made.ID)
			if err := e.Sweep(t.Context()); err != nil {
				t.Error(err)
			}
			_, err = l.client.ContainerInspect(t.Context(), made.ID, client.ContainerInspectOptions{})
			if stays := err == nil; stays != c.stays {
				t.Errorf("stays is %v, want %v", stays, c.stays)
			}
		})
	}
}

// TestSweepAtFirst removes what a bridge of before has left as soon as an
// engine finds its docker, which nobody has to ask for.
func TestSweepAtFirst(t *testing.T) {
	e := newEngine(t)
	p, err := e.plan(t.Context(), allowed(sandbox.Spec{}))
	if err != nil {
		t.Fatal(err)
	}
	me, err := self()
	if err != nil {
		t.Fatal(err)
	}
	gone := owner{me.boot, me.pid, "1"}.String()
	var made []string
	for _, o := range []string{gone, gone, me.String()} {
		c, err := p.client.ContainerCreate(t.Context(), p.container(nil, map[string]string{labelFor: "test", labelOwner: o, labelHost: host()}))
		if err != nil {
			t.Fatal(err)
		}
		defer e.remove(p.client, c.ID)
		made = append(made, c.ID)
	}
	another := New(Options{Image: e.options.Image, Log: e.log})
	enginetest.Start(t, another, subject.Spec, "pass").Wait()
	another.Close()
	for i, id := range made {
		_, err := p.client.ContainerInspect(t.Context(), id, client.ContainerInspectOptions{})
		if stays := err == nil; stays != (i == 2) {
			t.Errorf("container %d stays: %v", i, stays)
		}
	}
}
