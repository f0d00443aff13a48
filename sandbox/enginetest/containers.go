package enginetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/reaper"
)

// Containers is what the tests of an engine that runs containers need. They
// outlive the process that has made them, unless something is done about it.
type Containers struct {
	Make   func(owner string) Engine                 // outside a test; an owner other than "" takes the place of its own
	Owner  func(Engine) string                       // the value of its containers' label
	Owned  func(t testing.TB, owner string) []string // the containers with that label, running or not
	Remove func(t testing.TB, e Engine, name string) // from outside, as the engine's own command does
	Ways   []string                                  // variables that have a helper reach the engine in other ways
}

// Main runs the tests of a package, or a helper: one of the package's own, or
// one that holds containers.
func (s Subject) Main(m *testing.M, own map[string]func()) {
	helpers := map[string]func(){
		"sandboxes": func() { s.hold(s.holdSandboxes) },
		"flood":     func() { s.hold(s.holdFlood) },
		"deaf":      func() { s.hold(s.holdDeaf) },
		"starts":    func() { s.hold(s.holdStarts) },
	}
	for name, f := range own {
		helpers[name] = f
	}
	Main(m, helpers)
}

// hold has an engine make containers, prints whose they are, and waits to be
// killed.
func (s Subject) hold(what func(Engine) error) {
	e := s.Containers.Make("")
	if err := what(e); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Containers.Owner(e))
	select {}
}

// holdOne has a sandbox that has written "up".
func (s Subject) holdOne(e Engine, source string) (sandbox.Sandbox, error) {
	b, err := e.Start(context.Background(), s.Spec, []string{"-I", "-c", source}, io.Discard)
	if err == nil {
		up(b)
	}
	return b, err
}

// holdSandboxes has a sandbox that does not want to end, two sessions that are
// stuck in Python and in C, and a warm container.
func (s Subject) holdSandboxes(e Engine) error {
	if _, err := s.holdOne(e, Stubborn); err != nil {
		return err
	}
	for _, code := range []string{"while True: pass", "import re; re.match('(a*)*b', 'a' * 64)"} {
		session, err := sandbox.Open(context.Background(), e, s.Spec, nil, io.Discard)
		if err != nil {
			return err
		}
		began := make(chan struct{})
		begin := sync.OnceFunc(func() { close(began) })
		go session.Run(context.Background(), sandbox.Run{Code: "print('up', flush=True)\n" + code, Stream: func(string, string, int64) { begin() }})
		<-began
	}
	return e.(sandbox.Preparer).Prepare(context.Background(), s.Spec, program)
}

// holdFlood has one that writes on and on.
func (s Subject) holdFlood(e Engine) error {
	_, err := s.holdOne(e, "print('up', flush=True)\nwhile True: print('x' * 100000)")
	return err
}

// holdDeaf writes to one that does not read, until the engine takes no more:
// then it does not see the end of the connection either.
func (s Subject) holdDeaf(e Engine) error {
	b, err := s.holdOne(e, "import signal; print('up', flush=True); signal.pause()")
	if err != nil {
		return err
	}
	go func() {
		for {
			if _, err := b.Stdin().Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}()
	return nil
}

// holdStarts starts and ends sandboxes, two at a time.
func (s Subject) holdStarts(e Engine) error {
	for range 2 {
		go func() {
			for {
				b, err := e.Start(context.Background(), s.Spec, []string{"-I", "-c", "import signal; signal.pause()"}, io.Discard)
				if err != nil {
					fmt.Println(err)
					return
				}
				b.Kill()
				b.Wait()
			}
		}()
	}
	return nil
}

// helper starts a helper that holds containers, and returns it with their owner.
func (s Subject) helper(t *testing.T, name string, env ...string) (cmd *exec.Cmd, owner string) {
	t.Helper()
	cmd = Helper(t, name, env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if owner = strings.TrimSpace(line); err != nil || len(strings.Fields(owner)) != 6 {
		t.Fatalf("the helper says %q, %v", line, err)
	}
	return cmd, owner
}

func kill(cmd *exec.Cmd) {
	cmd.Process.Kill()
	cmd.Wait()
}

// containers tests what is special about containers.
func (s Subject) containers(t *testing.T) {
	if s.Containers == nil {
		t.Log("the engine runs none")
		return
	}
	t.Run("killed owner", s.killedOwner)
	t.Run("killed at any moment", s.killedAtAnyMoment)
	t.Run("reaper ends", s.reaperEnds)
	t.Run("sweep", s.sweep)
	t.Run("removed", s.removed)
	t.Run("prepared and removed", s.preparedAndRemoved)
}

// killedOwner kills a process that holds sandboxes: nothing of them is left,
// whatever they have done to stay, and whether the guest sees the end of its
// input or not.
func (s Subject) killedOwner(t *testing.T) {
	s.New(t) // or the test is skipped
	for _, way := range append([]string{""}, s.Containers.Ways...) {
		for name, want := range map[string]int{"sandboxes": 4, "flood": 1, "deaf": 1} {
			t.Run(strings.TrimSpace(name+" "+way), func(t *testing.T) {
				dir := OpenDir(t, 0o777) // for temporary files of this process alone
				cmd, owner := s.helper(t, name, way, "TMPDIR="+dir)
				if all := s.Containers.Owned(t, owner); len(all) != want {
					t.Errorf("containers: %v, want %d", all, want)
				}
				kill(cmd)
				Within(t, func() []string {
					folders, _ := filepath.Glob(filepath.Join(dir, "bridge-*"))
					return append(s.Containers.Owned(t, owner), folders...)
				})
			})
		}
	}
}

// killedAtAnyMoment kills a process that starts and ends sandboxes, also between
// the making of a container and its start.
func (s Subject) killedAtAnyMoment(t *testing.T) {
	s.New(t)
	var owners []string
	for n := range 12 {
		cmd, owner := s.helper(t, "starts")
		owners = append(owners, owner)
		time.Sleep(time.Duration(150+n*31) * time.Millisecond) // the moment
		kill(cmd)
	}
	Within(t, func() (left []string) {
		for _, owner := range owners {
			left = append(left, s.Containers.Owned(t, owner)...)
		}
		return left
	})
}

// reapers counts the processes that look after this process's containers.
func reapers(t *testing.T) int {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		status, _ := os.ReadFile(filepath.Dir(path) + "/status")
		if strings.HasPrefix(string(text), reaper.Name+"\x00") && strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", os.Getpid())) {
			n++
		}
	}
	return n
}

// reaperEnds closes an engine: the process that would look after what it leaves
// ends with it.
func (s Subject) reaperEnds(t *testing.T) {
	e := s.New(t)
	Start(t, e, s.Spec, "pass").Wait()
	before := reapers(t)
	e.Close()
	if after := reapers(t); after >= before {
		t.Errorf("%d reapers, %d before the engine was closed", after, before)
	}
}

// sweep has an engine find its service, which nobody has to ask for: what bridges
// have left that are certainly gone is removed, and nothing of one that may be
// alive.
func (s Subject) sweep(t *testing.T) {
	me := strings.Fields(s.Containers.Owner(s.New(t)))
	as := func(change func(owner []string)) (owner string) {
		words := slices.Clone(me)
		words[5] = "TEST" + strings.Repeat("X", len(words[5])-4)
		change(words)
		owner = strings.Join(words, " ")
		other := s.Containers.Make(owner)
		t.Cleanup(other.Close)
		up(Start(t, other, s.Spec, Stubborn))
		return owner
	}
	// Those that stay are made first: each engine sweeps when it begins.
	stay := map[string]string{
		"of another engine of this process": as(func([]string) {}),
		"of another machine":                as(func(o []string) { o[0], o[1] = "elsewhere", "another" }),
		"of another pid namespace":          as(func(o []string) { o[2], o[3] = "1", "4194303" }),
	}
	gone := map[string]string{
		"of a process that is gone":  as(func(o []string) { o[3] = "4194303" }),
		"of another with its number": as(func(o []string) { o[4] = "1" }),
		"of an earlier boot":         as(func(o []string) { o[1] = "0b75a5c8-0000-4000-8000-000000000000" }),
	}
	Start(t, s.New(t), s.Spec, "pass").Wait()
	Within(t, func() (left []string) {
		for why, owner := range gone {
			if len(s.Containers.Owned(t, owner)) > 0 {
				left = append(left, why)
			}
		}
		return left
	})
	for why, owner := range stay {
		if len(s.Containers.Owned(t, owner)) != 1 {
			t.Errorf("removed: %s", why)
		}
	}
}

// removed removes a container from outside: the sandbox has ended.
func (s Subject) removed(t *testing.T) {
	e := s.New(t)
	b := Start(t, e, s.Spec, Stubborn)
	up(b)
	for _, name := range s.Left(t, e) {
		s.Containers.Remove(t, e, name)
	}
	if exit := b.Wait(); exit.Code != -1 {
		t.Errorf("ended with %+v, want code -1", exit)
	}
}

// preparedAndRemoved removes a warm container from outside, as an engine's prune
// does: the next start does without.
func (s Subject) preparedAndRemoved(t *testing.T) {
	e := s.New(t)
	if err := e.(sandbox.Preparer).Prepare(t.Context(), s.Spec, program); err != nil {
		t.Fatal(err)
	}
	for _, name := range s.Left(t, e) {
		s.Containers.Remove(t, e, name)
	}
	if out, stderr, exit := Collect(t, Start(t, e, s.Spec, program[2])); out != "up\n" || exit != (sandbox.Exit{}) {
		t.Errorf("%q, ended with %+v\n%s", out, exit, stderr)
	}
	Within(t, func() []string { return s.Left(t, e) })
}
