package upstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bridge/definition"
	"bridge/upstream/keeper"
)

// life is a process that is told apart from a later one with its number by the
// time at which it started.
type life struct{ pid, since string }

// stat reads what proc(5) says of a process: its fields from the third on.
func stat(pid string) []string {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

func (l life) over() bool {
	fields := stat(l.pid)
	return fields == nil || fields[0] == "Z" || fields[19] != l.since
}

// below gives every process below the one with this number.
func below(t *testing.T, root int) []life {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	children := map[string][]life{}
	for _, proc := range procs {
		pid := filepath.Base(proc)
		if fields := stat(pid); fields != nil {
			children[fields[1]] = append(children[fields[1]], life{pid, fields[19]})
		}
	}
	var all []life
	for queue := children[strconv.Itoa(root)]; len(queue) > 0; queue = queue[1:] {
		all = append(all, queue[0])
		queue = append(queue, children[queue[0].pid]...)
	}
	return all
}

// daemon waits for the process that a toy has left behind.
func daemon(t *testing.T, file string) life {
	t.Helper()
	var l life
	waitFor(t, "the daemon is there", func() bool {
		text, _ := os.ReadFile(file)
		fields := stat(string(text))
		if len(text) == 0 || fields == nil {
			return false
		}
		l = life{string(text), fields[19]}
		return true
	})
	return l
}

// If the bridge is killed, nothing that it started is alive five seconds
// later: not a server that ignores the end of its input and SIGTERM, nor what
// has left its group and its session.
func TestNothingOutlivesABridgeThatIsKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	holder := exec.Command(binary(t, "holder"), binary(t, "toy"), "-daemon", file, "-stubborn")
	holder.Dir = t.TempDir()
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "ready\n" {
		t.Fatalf("holder: %q, %v", line, err)
	}
	left := append(below(t, holder.Process.Pid), daemon(t, file))
	if len(left) < 3 {
		t.Fatalf("processes = %v, want a keeper, a toy and a daemon", left)
	}
	holder.Process.Kill()
	killed := time.Now()
	holder.Wait()
	for _, l := range left {
		waitFor(t, "process "+l.pid+" has ended", l.over)
	}
	if took := time.Since(killed); took > 5*time.Second {
		t.Errorf("all gone after %v", took)
	}
}

func TestCloseEndsAllThatAServerStarted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	set := open(t, toyDefinition(t, "-daemon", file, "-stubborn"))
	call(t, set, "echo", `{"text":"x"}`)
	left := append(below(t, os.Getpid()), daemon(t, file))
	call := make(chan error, 1)
	go func() {
		_, err := set.Call(t.Context(), "toy", "sleep", json.RawMessage(`{"seconds":600}`))
		call <- err
	}()
	set.Close()
	for _, l := range left {
		if !l.over() {
			t.Errorf("process %v is alive", l)
		}
	}
	if err := <-call; err == nil {
		t.Error("the call that was under way has a result")
	}
}

func TestADeadServerTakesItsOwnWithIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	set := open(t, toyDefinition(t, "-daemon", file))
	call(t, set, "echo", `{"text":"x"}`)
	left := daemon(t, file)
	// The daemon holds the pipes open: only the process's end tells.
	failure := refuse(t, set, "crash", `{}`)
	if want := `server "toy": ended (exit status 3) before it answered crash; the end of its stderr: toy: crashing, as asked`; failure.Error() != want {
		t.Errorf("error = %v, want %s", failure, want)
	}
	waitFor(t, "the daemon has ended", left.over)
}

// Whoever is gone before the signal arrives, and has left another, is a moving
// target: it is ended all the same.
func TestAServerThatKeepsForkingIsEnded(t *testing.T) {
	script := `trap '' TERM; f() { f & }; f; f; f; exec sleep 600`
	def := definition.Server{Name: "toy", Command: "sh", Args: []string{"-c", script}, StartTimeout: 300 * time.Millisecond}
	set := open(t, def)
	refuse(t, set, "echo", `{}`)
	set.Close()
	if left := below(t, os.Getpid()); len(left) > 0 {
		t.Errorf("processes = %v", left)
	}
}

// A keeper is there for each server: it must not cost what the whole bridge
// costs at its start. Should a package of the bridge or of a library be
// initialised before it, this names it.
func TestAKeeperRunsBeforeLargePackagesAreInitialised(t *testing.T) {
	controlR, controlW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	controlW.Close()
	defer controlR.Close()
	var trace bytes.Buffer
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{keeper.Name}, Env: []string{"GODEBUG=inittrace=1"},
		Stderr: &trace, ExtraFiles: []*os.File{controlR, controlR},
	}
	cmd.Run() // it has nothing to start, and says so by its exit status
	if !strings.Contains(trace.String(), "init os @") {
		t.Fatalf("trace = %q", trace.String())
	}
	for _, line := range strings.Split(trace.String(), "\n") {
		if path, ok := strings.CutPrefix(line, "init "); ok {
			first, _, _ := strings.Cut(strings.Fields(path)[0], "/")
			if strings.Contains(first, ".") || first == "bridge" {
				t.Errorf("initialised before the keeper: %s", line)
			}
		}
	}
}

// Should somebody kill a keeper, its server goes too, and a new one comes.
func TestAServerWithoutItsKeeperIsReplaced(t *testing.T) {
	set := open(t, toyDefinition(t, "-stubborn"))
	call(t, set, "echo", `{"text":"x"}`)
	family := below(t, os.Getpid())
	if len(family) != 2 {
		t.Fatalf("processes = %v, want a keeper and a toy", family)
	}
	pid, err := strconv.Atoi(family[0].pid)
	if err != nil {
		t.Fatal(err)
	}
	syscall.Kill(pid, syscall.SIGKILL)
	waitFor(t, "the server has ended", family[1].over)
	waitFor(t, "a new server answers", func() bool {
		_, err := set.Call(t.Context(), "toy", "echo", json.RawMessage(`{"text":"x"}`))
		return err == nil
	})
}

func TestAStartThatIsUnderWayEndsWithTheSet(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	set := open(t, toyDefinition(t, "-daemon", file, "-stubborn", "-start-delay", "1h"))
	set.Warm()
	left := daemon(t, file)
	set.Close()
	if all := below(t, os.Getpid()); len(all) > 0 || !left.over() {
		t.Errorf("processes = %v, %v", all, left)
	}
}

// Every start has its end: no goroutine and no descriptor is left of a server,
// however it went.
func TestNothingIsLeftOfServersInTheBridge(t *testing.T) {
	files := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	def, dying := toyDefinition(t), toyDefinition(t, "-die-at-start")
	def.CallTimeout = 20 * time.Millisecond
	round := func() {
		for _, def := range []definition.Server{def, dying} {
			set := New([]definition.Server{def}, slog.New(slog.DiscardHandler))
			set.Tools(t.Context(), "toy")
			set.Call(t.Context(), "toy", "sleep", json.RawMessage(`{"seconds":600}`))
			set.Call(t.Context(), "toy", "crash", nil)
			set.Close()
		}
	}
	round()
	goroutines, open := runtime.NumGoroutine(), files()
	for range 10 {
		round()
	}
	waitFor(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= goroutines })
	if now := files(); now > open {
		t.Errorf("%d descriptors, then %d", open, now)
	}
}
