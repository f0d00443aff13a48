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
	"bridge/sandbox/container"
	"bridge/sandbox/enginetest"
	"bridge/sandbox/reaper"

	"github.com/moby/moby/client"
)

// held starts a helper and returns it with the owner that it says it is.
func held(t *testing.T, e *Engine, name string) (cmd *exec.Cmd, whose string) {
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
	if len(strings.Fields(lines.Text())) != 6 {
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
		if text, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(text), reaper.Name+"\x00") {
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
			cmd, whose := held(t, e, name)
			if len(containers(t, container.OwnerLabel+"="+whose)) == 0 {
				t.Error("there is no container to begin with")
			}
			cmd.Process.Kill()
			cmd.Wait()
			enginetest.Within(t, func() []string { return containers(t, container.OwnerLabel+"="+whose) })
		})
	}
}

// TestKilledAtAnyMoment kills a process that starts and ends sandboxes, also
// between the making of a container and its start.
func TestKilledAtAnyMoment(t *testing.T) {
	e := newEngine(t)
	var owners []string
	for n := range 12 {
		cmd, whose := held(t, e, "starts")
		owners = append(owners, whose)
		time.Sleep(time.Duration(150+n*31) * time.Millisecond) // the moment
		cmd.Process.Kill()
		cmd.Wait()
	}
	time.Sleep(5 * time.Second) // what the promise allows
	for _, whose := range owners {
		if left := containers(t, container.OwnerLabel+"="+whose); len(left) > 0 {
			t.Errorf("left of %s: %v", whose, left)
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

// TestSweepAtFirst removes what a bridge of before has left as soon as an
// engine finds its docker, which nobody has to ask for, and nothing else.
func TestSweepAtFirst(t *testing.T) {
	e := newEngine(t)
	p, err := e.plan(t.Context(), allowed(sandbox.Spec{}))
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(e.owner)
	words[4] = "1" // another process of the same number
	gone := strings.Join(words, " ")
	var made []string
	for _, whose := range []string{gone, gone, e.owner, container.NewOwner(), "x"} {
		c, err := p.client.ContainerCreate(t.Context(), p.options(nil, container.Labels("test", whose)))
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
		if stays := err == nil; stays != (i >= 2) {
			t.Errorf("container %d stays: %v", i, stays)
		}
	}
}
