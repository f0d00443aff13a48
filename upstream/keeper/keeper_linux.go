package keeper

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// grace is what processes have between SIGTERM and SIGKILL.
const grace = time.Second

// The one init of this package: main would be too late. A binary with every
// library of the bridge linked spends more than 10 ms on initialising them,
// but since Go 1.21 packages are initialised in the order of their import
// paths as soon as what they import is ready, and this one imports nothing
// but the standard library.
func init() {
	if len(os.Args) > 0 && os.Args[0] == Name {
		// Not os.Exit: nothing is to run at the exit of a keeper, least of all
		// the race detector's wait of a second.
		syscall.Exit(run())
	}
}

func run() int {
	// The server's parent-death signal follows the thread that forked it, and
	// the main thread is the one that lives as long as the process.
	runtime.LockOSThread()
	syscall.CloseOnExec(Control)
	syscall.CloseOnExec(Status)
	control, status := os.NewFile(Control, "control"), os.NewFile(Status, "status")
	if control == nil || status == nil {
		return 2
	}
	if err := adopt(); err != nil {
		fmt.Fprintf(status, "failed adopting orphans: %v\n", err)
		return 1
	}

	// Caught, not ignored: an ignored signal would be inherited by the server.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)

	in := bufio.NewReader(control)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return 1
	}
	var spec Spec
	if err := json.Unmarshal(line, &spec); err != nil {
		fmt.Fprintf(status, "failed reading what to start: %v\n", err)
		return 1
	}
	pid, err := start(spec)
	if err != nil {
		fmt.Fprintf(status, "failed %v\n", err)
		return 1
	}
	// Nothing of the server's stdio may be held open here: its end of file is
	// how the bridge and the server notice each other's end.
	dropStdio()
	fmt.Fprintf(status, "started %d\n", pid)

	closed := make(chan struct{})
	go func() {
		io.Copy(io.Discard, in)
		close(closed)
	}()
	gone := make(chan struct{})
	t := &tree{server: pid}
	go t.reap(status, gone)

	select {
	case <-gone:
		return 0
	case <-closed:
	case <-signals:
	}
	t.end(gone)
	return 0
}

// adopt makes this process the parent of every orphan among its descendants
// (PR_SET_CHILD_SUBREAPER, Linux 3.4), and gives it its name in ps, where it
// would otherwise be "exe".
func adopt() error {
	name := append([]byte(Name), 0)
	syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0)
	const setChildSubreaper = 36
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		return errno
	}
	return nil
}

// start starts the server in a process group of its own, with the standard
// descriptors of the keeper.
func start(spec Spec) (int, error) {
	return syscall.ForkExec(spec.Path, spec.Args, &syscall.ProcAttr{
		Dir:   spec.Dir,
		Env:   spec.Env,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
}

func dropStdio() {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	for fd := range 3 {
		if err != nil {
			syscall.Close(fd)
			continue
		}
		syscall.Dup3(null, fd, syscall.O_CLOEXEC)
	}
}

// reap collects every process that ends, tells how the server did, and closes
// gone when no child is left. As orphans come to this process, no child means
// no descendant.
func (t *tree) reap(status io.Writer, gone chan<- struct{}) {
	defer close(gone)
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return
		case pid == t.server:
			t.reaped.Store(true)
			fmt.Fprintf(status, "ended %s\n", words(ws))
		}
	}
}

// words says how a process ended, as package os does.
func words(ws syscall.WaitStatus) string {
	if ws.Signaled() {
		return "signal: " + ws.Signal().String()
	}
	return fmt.Sprintf("exit status %d", ws.ExitStatus())
}
