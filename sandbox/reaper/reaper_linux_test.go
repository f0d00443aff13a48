package reaper

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// program writes a shell script that stands in for podman.
func program(t *testing.T, script string) string {
	path := filepath.Join(t.TempDir(), "podman")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// folders are what reapers have made in the folder for temporary files.
func folders(t *testing.T, dir string) []string {
	all, err := filepath.Glob(filepath.Join(dir, "reaped-*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A bridge that is killed while its reaper starts has asked the engine for
// nothing: the reaper ends at once and leaves nothing, however slowly the service
// comes up.
func TestKilledWhileStarting(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{Name}
	cmd.Env = []string{"TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(in).Encode(Orders{Podman: program(t, "exec sleep 60"), Serve: true, Folder: "reaped-"}); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); len(folders(t, dir)) == 0 && time.Since(begun) < 10*time.Second; {
		time.Sleep(time.Millisecond)
	}
	// What the end of the bridge does to its reaper.
	out.Close()
	in.Close()
	late := time.AfterFunc(5*time.Second, func() { cmd.Process.Kill() })
	cmd.Wait()
	if !late.Stop() {
		t.Error("the reaper is there after 5 s")
	}
	if left := folders(t, dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A start that is given up, or that fails, leaves nothing either.
func TestStartGivenUp(t *testing.T) {
	dir := t.TempDir()
	env := []string{"TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, Orders{Podman: program(t, "exec sleep 60"), Serve: true, Folder: "reaped-"}, env); err != context.DeadlineExceeded {
		t.Errorf("given up: %v", err)
	}
	_, err := Start(t.Context(), Orders{Podman: program(t, "echo it will not >&2; exit 1"), Serve: true, Folder: "reaped-"}, env)
	if err == nil || err.Error() != "it will not" {
		t.Errorf("failed: %v", err)
	}
	if left := folders(t, dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A start that is given up asks the engine for nothing: there may be sandboxes
// of the bridge's that are in use.
func TestStartGivenUpAsksNothing(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "engine.sock")
	engine, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	asked := make(chan struct{}, 100)
	go func() {
		for {
			c, err := engine.Accept()
			if err != nil {
				return
			}
			asked <- struct{}{}
			c.Close()
		}
	}()
	for wait := range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(wait)*500*time.Microsecond)
		k, err := Start(ctx, Orders{Socket: socket, Containers: "/containers", Label: "a=b"}, nil)
		cancel()
		if err == nil {
			k.Close()
		}
	}
	if len(asked) > 0 {
		t.Errorf("%d connections to the engine", len(asked))
	}
}

// A reaper that was killed has its folder removed by the bridge, when that ends.
func TestReaperKilled(t *testing.T) {
	dir := t.TempDir()
	k, err := Start(t.Context(), Orders{Socket: "/none", Folder: "reaped-"}, []string{"TMPDIR=" + dir})
	if err != nil {
		t.Fatal(err)
	}
	if left := folders(t, dir); len(left) != 1 || left[0] != k.Dir {
		t.Fatalf("folders %v, want %s", left, k.Dir)
	}
	k.process.Kill()
	<-k.ended
	if !k.Ended() {
		t.Error("it counts as alive")
	}
	k.Close()
	if left := folders(t, dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
