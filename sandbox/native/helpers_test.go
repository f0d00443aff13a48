//go:build linux

package native

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/enginetest"

	"github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"
)

// helpers are what the test binary does in the place of its tests.
var helpers = map[string]func(){
	"hold":               holdSandboxes,
	"ready":              tellReady,
	"no more namespaces": forbidNamespaces,
	"filtered":           filterNamespaces,
	"few files":          allowFewFiles,
}

// holdSandboxes starts two sandboxes, prints the pids of all that is in them,
// and waits to be killed.
func holdSandboxes() {
	e := New()
	for range 2 {
		b, err := e.Start(context.Background(), sandbox.Spec{}, []string{"-I", "-c", enginetest.Stubborn}, io.Discard)
		if err != nil {
			fmt.Println(err)
			return
		}
		b.Stdout().Read(make([]byte, 3))
	}
	// Threads come and go; the sandboxes must not go with any but their own.
	for range 20 {
		go func() { runtime.LockOSThread() }()
	}
	// The list is only right when nothing on it is about to change.
	var inside []int
	for deadline := time.Now().Add(10 * time.Second); len(inside) != 10 && time.Now().Before(deadline); runtime.Gosched() {
		inside = descendants(os.Getpid())[1:]
	}
	for _, pid := range inside {
		fmt.Println(pid)
	}
	fmt.Println("held")
	select {}
}

// tellReady prints what Ready says, and does not leave anything behind.
func tellReady() {
	e := New()
	defer e.Close()
	if err := e.Ready(context.Background(), sandbox.Spec{}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ready")
}

// forbidNamespaces is started as root of a user namespace, and takes from it
// what it needs to make more.
func forbidNamespaces() {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		fmt.Println("cannot be tried:", err)
		return
	}
	tellReady()
}

// filterNamespaces puts itself under a filter like a container's.
func filterNamespaces() {
	filter := seccomp.Filter{
		NoNewPrivs: true,
		Flag:       seccomp.FilterFlagTSync,
		Policy: seccomp.Policy{
			DefaultAction: seccomp.ActionAllow,
			Syscalls: []seccomp.SyscallGroup{
				{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: []string{"clone3"}},
				{Action: seccomp.ActionErrno, NamesWithCondtions: []seccomp.NameWithConditions{{Name: "clone",
					Conditions: seccomp.ArgumentConditions{{Operation: seccomp.BitsSet, Value: unix.CLONE_NEWUSER}}}}},
			},
		},
	}
	if err := seccomp.LoadFilter(filter); err != nil {
		fmt.Println("cannot be tried:", err)
		return
	}
	tellReady()
}

// allowFewFiles tells of each number of open files that is too low what Ready
// says, until one is enough.
func allowFewFiles() {
	for n := uint64(10); n < 100; n++ {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: 100}); err != nil {
			fmt.Println("cannot be tried:", err)
			return
		}
		e := New()
		err := e.Ready(context.Background(), sandbox.Spec{})
		e.Close()
		if err == nil {
			return
		}
		fmt.Println(n, err)
	}
}
