//go:build linux

package docker

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/container"
	"bridge/sandbox/enginetest"

	"github.com/moby/moby/client"
)

// testDaemon is a dockerd of the test's own, which can be ended at will.
type testDaemon struct {
	dir  string
	cmd  *exec.Cmd
	exit chan struct{}
}

func newDaemon(t *testing.T) *testDaemon {
	t.Helper()
	if os.Geteuid() != 0 {
		enginetest.Skip(t, "starting a dockerd needs root")
	}
	if _, err := exec.LookPath("dockerd"); err != nil {
		enginetest.Skip(t, "dockerd is not installed; install docker.io")
	}
	// The path of a socket has little room.
	dir, err := os.MkdirTemp("", "bridge-dockerd-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &testDaemon{dir: dir}
	t.Cleanup(func() {
		// What docker mounts in its folder stays when it ends.
		defer exec.Command("umount", "-l", filepath.Join(dir, "data")).Run()
		select {
		case <-d.exit:
		default:
			d.end(syscall.SIGTERM)
		}
	})
	d.exit = make(chan struct{})
	close(d.exit)
	d.start(t)
	return d
}

func (d *testDaemon) host() string { return "unix://" + filepath.Join(d.dir, "docker.sock") }

func (d *testDaemon) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	in := func(name string) string { return filepath.Join(d.dir, name) }
	d.cmd = exec.Command("dockerd", "--data-root="+in("data"), "--exec-root="+in("exec"), "--pidfile="+in("pid"),
		"--host="+d.host(), "--iptables=false", "--ip6tables=false", "--bridge=none")
	d.cmd.Stdout, d.cmd.Stderr = log, log
	// One that is killed leaves its number and that of its containerd, and
	// waits in vain for them.
	os.Remove(in("pid"))
	os.Remove(in("exec/containerd/containerd.pid"))
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.exit = make(chan struct{})
	go func(cmd *exec.Cmd, exit chan struct{}) {
		defer close(exit)
		cmd.Wait()
	}(d.cmd, d.exit)
	c, err := client.New(client.WithHost(d.host()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		if _, err := c.Ping(ctx, client.PingOptions{}); err == nil {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-d.exit:
			text, _ := os.ReadFile(filepath.Join(d.dir, "log"))
			t.Fatalf("dockerd ended:\n%s", text[max(0, len(text)-2000):])
		case <-ctx.Done():
			t.Fatal("dockerd does not come up")
		}
	}
}

func (d *testDaemon) end(s syscall.Signal) {
	d.cmd.Process.Signal(s)
	<-d.exit
}

// give copies an image from another daemon.
func (d *testDaemon) give(t *testing.T, name string) {
	t.Helper()
	from, to := exec.Command("docker", "save", name), exec.Command("docker", "-H", d.host(), "load")
	if _, err := exec.LookPath("docker"); err != nil {
		enginetest.Skip(t, "the docker command is not installed; install docker-cli")
	}
	pipe, err := from.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	to.Stdin = pipe
	if err := from.Start(); err != nil {
		t.Fatal(err)
	}
	out, err := to.CombinedOutput()
	if err := from.Wait(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestRestart ends docker in the middle of a run, politely and not: the run
// tells that it is lost, nothing is left, and the next one works.
func TestRestart(t *testing.T) {
	newEngine(t)
	image := os.Getenv(imageEnv)
	d := newDaemon(t)
	d.give(t, image)
	e := New(Options{Image: image, Host: d.host(), Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))})
	t.Cleanup(e.Close)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			s, err := sandbox.Open(t.Context(), e, allowed(sandbox.Spec{}), nil, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			began := make(chan struct{})
			begin := sync.OnceFunc(func() { close(began) })
			type outcome struct {
				r   sandbox.Result
				err error
			}
			ended := make(chan outcome, 1)
			go func() {
				r, err := s.Run(t.Context(), sandbox.Run{Code: "print('up', flush=True)\nwhile True: pass", Stream: func(string, string, int64) { begin() }})
				ended <- outcome{r, err}
			}()
			<-began
			at := time.Now()
			d.end(signal)
			o := <-ended
			t.Logf("lost after %v: %v", time.Since(at).Round(time.Millisecond), o.r.Lost)
			if o.err != nil || o.r.Status != sandbox.Lost || o.r.Lost.Error() != "the sandbox is gone: docker went away" {
				t.Errorf("status %q, lost %v, %v", o.r.Status, o.r.Lost, o.err)
			}
			s.Close()
			if err := e.Ready(t.Context(), allowed(sandbox.Spec{})); err == nil || !strings.Contains(err.Error(), "; start it: systemctl start docker") && !strings.Contains(err.Error(), "; install docker") {
				t.Errorf("ready without a daemon: %v", err)
			}
			d.start(t)
			b := enginetest.Start(t, e, allowed(sandbox.Spec{}), "print(1 + 1)")
			if out, stderr, exit := enginetest.Collect(t, b); out != "2\n" || exit != (sandbox.Exit{}) {
				t.Errorf("%q, %+v %s", out, exit, stderr)
			}
			// One that starts while the container still runs kills it, and takes ten
			// seconds if it has missed the news of its end.
			deadline := time.Now().Add(30 * time.Second)
			for len(containersOn(t, e, container.OwnerLabel)) > 0 {
				if time.Now().After(deadline) {
					t.Fatalf("left: %v", containersOn(t, e, container.OwnerLabel))
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
}
