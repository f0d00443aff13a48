package stage

import (
	"errors"
	"io"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// exitRefused is the exit status of a stage that could not make the sandbox.
const exitRefused = 125

// maxConfig is more than any Config takes.
const maxConfig = 1 << 20

// init runs the stage, and does not return, in a process that was started as
// one. It is an init function, and the only one, because Go initialises
// packages in the order of their import paths as soon as what they import is
// ready: this package comes before cuelang.org/… and github.com/…, whose
// initialisation takes longer than all of the stage. An import of anything
// that package os does not import itself would undo that.
func init() {
	if len(os.Args) == 0 || os.Args[0] != Name {
		return
	}
	// Namespaces, capabilities and filters belong to a thread. All is done on
	// this one, with raw system calls, and the interpreter executed from it.
	runtime.LockOSThread()
	syscall.CloseOnExec(StatusFD)
	fail(become())
}

// fail reports on the status pipe and ends the process.
func fail(err error) {
	var f *Failure
	if !errors.As(err, &f) {
		f = &Failure{Step: "stage", Text: err.Error()}
	}
	syscall.Write(StatusFD, Encode(f))
	os.Exit(exitRefused)
}

// become makes the sandbox and executes the interpreter. It only returns
// what was refused.
func become() error {
	if os.Getpid() != 1 {
		return &Failure{Step: "stage", Text: "not the first process of a pid namespace"}
	}
	config := os.NewFile(ConfigFD, "config")
	c, err := read(config)
	if err != nil {
		return err
	}
	exe, err := newCommand(c)
	if err != nil {
		return err
	}
	syscall.Umask(0o022)
	if err := refused("sethostname", syscall.Sethostname([]byte("sandbox"))); err != nil {
		return err
	}
	if err := buildTree(c); err != nil {
		return err
	}
	if err := hideMounts(); err != nil {
		return err
	}
	ruleset, err := newRuleset(c.Landlock)
	if err != nil {
		return err
	}
	if err := refused("chdir "+c.Dir, syscall.Chdir(c.Dir)); err != nil {
		return err
	}
	if err := dropPrivileges(c); err != nil {
		return err
	}
	if err := dieWithParent(); err != nil {
		return err
	}
	if err := restrict(ruleset); err != nil {
		return err
	}
	if err := setAffinity(choose(c.CPUs, c.CPUCount, processor())); err != nil {
		return err
	}
	// All the memory above was the parent's to pay; from here on the guest is
	// under its limits, or does not start.
	how := make([]byte, 1)
	if _, err := io.ReadFull(config, how); err != nil {
		return &Failure{Step: "config", Text: "the parent is gone"}
	}
	if how[0] != Watched {
		c.Sharing = ""
	}
	if err := sys("close_range", sysCloseRange, 3, 1<<31-1, closeRangeCloexec); err != nil {
		return err
	}
	runtime.KeepAlive(config)
	return exe.run(c.Rlimits, c.Sharing, c.Seccomp)
}

func read(r io.Reader) (*Config, error) {
	head := make([]byte, NumberSize)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, refused("config", err)
	}
	text := make([]byte, min(decodeNumber(head), maxConfig))
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, refused("config", err)
	}
	c := new(Config)
	return c, refused("config", Decode(text, c))
}

// command is what execve takes, made before the rlimits leave no room for it.
type command struct {
	step       string // how a refusal names it
	path       *byte
	argv, envv []*byte
}

func newCommand(c *Config) (*command, error) {
	path, err := syscall.BytePtrFromString(c.Path)
	if err != nil {
		return nil, refused("path", err)
	}
	argv, err := syscall.SlicePtrFromStrings(c.Argv)
	if err != nil {
		return nil, refused("arguments", err)
	}
	envv, err := syscall.SlicePtrFromStrings(c.Env)
	if err != nil {
		return nil, refused("environment", err)
	}
	return &command{"execute " + c.Path, path, argv, envv}, nil
}

// run puts the last limits in force, the filter last of all, since it forbids
// much of what came before it.
//
// Under the limits this process may be denied memory and threads already: a Go
// program reserves more addresses than a small sandbox may have. So everything
// is allocated before the first of them, and from there to the interpreter
// nothing is done but system calls that neither allocate nor let another
// goroutine in.
func (e *command) run(limits []Rlimit, sharing, filter string) error {
	if len(filter) == 0 || len(filter)%8 != 0 {
		return &Failure{Step: "seccomp", Text: "no filter"}
	}
	program := func(filter string) *sockFprog {
		if filter == "" {
			return nil
		}
		return &sockFprog{uint16(len(filter) / 8), unsafe.Pointer(unsafe.StringData(filter))}
	}
	l := &last{sharing: program(sharing), filter: program(filter), running: [1]byte{Running}, rights: syscall.UnixRights(0)}
	l.iov = syscall.Iovec{Base: &l.running[0], Len: 1}
	l.message = syscall.Msghdr{Iov: &l.iov, Iovlen: 1}
	if l.sharing != nil {
		l.message.Control = &l.rights[0]
		l.message.Controllen = uint64(len(l.rights))
	}
	pairs := make([][2]uint64, len(limits))
	for i, l := range limits {
		value, err := lowered(l)
		if err != nil {
			return err
		}
		pairs[i] = [2]uint64{value, value}
	}
	step, errno := e.last(limits, pairs, l)
	runtime.KeepAlive(sharing)
	runtime.KeepAlive(filter)
	runtime.KeepAlive(l)
	return refused(step, errno)
}

// sockFprog is struct sock_fprog.
type sockFprog struct {
	len    uint16
	filter unsafe.Pointer
}

// last is what the last system calls are given.
type last struct {
	sharing, filter *sockFprog // sharing may be nil
	running         [1]byte
	iov             syscall.Iovec
	rights          []byte
	message         syscall.Msghdr
}

// last makes the system calls after which there is no way back. It returns
// what was refused.
func (e *command) last(limits []Rlimit, pairs [][2]uint64, l *last) (string, syscall.Errno) {
	for i := range limits {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, uintptr(limits[i].Resource), uintptr(unsafe.Pointer(&pairs[i])), 0, 0, 0)
		if errno != 0 {
			return "setrlimit", errno
		}
	}
	if l.sharing != nil {
		number := uintptr(sysSeccompAMD64)
		if runtime.GOARCH == "arm64" {
			number = sysSeccompARM64
		}
		fd, _, errno := syscall.RawSyscall(number, seccompSetModeFilter, seccompNewListener, uintptr(unsafe.Pointer(l.sharing)))
		if errno != 0 {
			return "seccomp that asks", errno
		}
		*(*int32)(unsafe.Pointer(&l.rights[syscall.CmsgLen(0)])) = int32(fd)
	}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetSeccomp, seccompModeFilter, uintptr(unsafe.Pointer(l.filter)), 0, 0, 0); errno != 0 {
		return "seccomp", errno
	}
	syscall.RawSyscall(syscall.SYS_SENDMSG, StatusFD, uintptr(unsafe.Pointer(&l.message)), syscall.MSG_NOSIGNAL)
	_, _, errno := syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(e.path)),
		uintptr(unsafe.Pointer(&e.argv[0])), uintptr(unsafe.Pointer(&e.envv[0])))
	return e.step, errno
}
