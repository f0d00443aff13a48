//go:build linux

package native

import (
	"encoding/binary"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// TestFilter runs the filter on calls, in an interpreter: with other
// architectures' numbers, too, and without a kernel that may refuse first.
func TestFilter(t *testing.T) {
	const (
		allow = unix.SECCOMP_RET_ALLOW
		eperm = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		none  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	)
	info, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	program, err := assemble()
	if err != nil {
		t.Fatal(err)
	}
	if len(program) > 4096 {
		t.Errorf("%d instructions, the kernel takes 4096", len(program))
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(id uint32, number int, args ...uint64) uint32 {
		// struct seccomp_data, a word at a time: the interpreter reads in
		// network order, the kernel in its own.
		data := make([]byte, 64)
		binary.BigEndian.PutUint32(data[0:], uint32(number))
		binary.BigEndian.PutUint32(data[4:], id)
		for i, a := range args {
			binary.BigEndian.PutUint32(data[16+8*i:], uint32(a))
			binary.BigEndian.PutUint32(data[20+8*i:], uint32(a>>32))
		}
		got, err := vm.Run(data)
		if err != nil {
			t.Fatal(err)
		}
		return uint32(got)
	}
	own := uint32(info.ID)
	for _, c := range []struct {
		call string
		args []uint64
		want uint32
	}{
		{"read", nil, allow},
		{"openat", nil, allow},
		{"execve", nil, allow},
		{"futex", nil, allow},
		{"socket", []uint64{unix.AF_UNIX}, allow},
		{"socket", []uint64{unix.AF_INET}, eperm},
		{"socket", []uint64{unix.AF_UNIX | 1<<32}, eperm},
		{"socketpair", []uint64{unix.AF_UNIX}, allow},
		{"socketpair", []uint64{unix.AF_TIPC}, eperm},
		{"clone", []uint64{uint64(unix.SIGCHLD)}, allow},
		{"clone", []uint64{unix.CLONE_NEWUSER}, eperm},
		{"clone", []uint64{unix.CLONE_NEWNS | unix.CLONE_VM}, eperm},
		{"clone", []uint64{unix.CLONE_VM | unix.CLONE_VFORK | uint64(unix.SIGCHLD)}, allow},
		{"clone", []uint64{unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD}, allow},
		{"clone", []uint64{unix.CLONE_FILES}, eperm},
		{"clone", []uint64{unix.CLONE_THREAD | unix.CLONE_FILES | unix.CLONE_NEWNET}, eperm},
		{"clone3", nil, none},
		{"setsockopt", []uint64{3, unix.SOL_SOCKET, unix.SO_PASSCRED}, allow},
		{"setsockopt", []uint64{3, unix.SOL_SOCKET, unix.SO_SNDBUF}, eperm},
		{"setsockopt", []uint64{3, unix.SOL_SOCKET, unix.SO_SNDBUF | 1<<32}, eperm},
		{"setsockopt", []uint64{3, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE}, eperm},
		{"fcntl", []uint64{3, unix.F_SETLK}, allow},
		{"fcntl", []uint64{3, unix.F_OFD_SETLK}, eperm},
		{"fcntl", []uint64{3, unix.F_OFD_SETLKW | 1<<32}, eperm},
		{"mmap", []uint64{0, 4096, 0, unix.MAP_SHARED | unix.MAP_ANONYMOUS}, allow},
		{"mmap", []uint64{0, 4096, 0, unix.MAP_SHARED | unix.MAP_ANONYMOUS | unix.MAP_HUGETLB}, eperm},
		{"prctl", []uint64{unix.PR_SET_NAME}, allow},
		{"prctl", []uint64{unix.PR_SET_PDEATHSIG}, eperm},
		{"prctl", []uint64{unix.PR_SET_PDEATHSIG | 1<<32}, eperm},
		{"prctl", []uint64{unix.PR_SET_DUMPABLE}, eperm},
		{"prctl", []uint64{unix.PR_SET_SECCOMP}, eperm},
		{"ptrace", nil, eperm},
		{"mount", nil, eperm},
		{"setresuid", nil, eperm},
		{"memfd_create", nil, eperm},
		{"io_uring_setup", nil, eperm},
		{"keyctl", nil, eperm},
		{"bpf", nil, eperm},
		{"unshare", nil, eperm},
		{"setns", nil, eperm},
		{"userfaultfd", nil, eperm},
		{"pidfd_open", nil, eperm},
		{"personality", nil, eperm},
	} {
		number, ok := info.SyscallNames[c.call]
		if !ok {
			t.Errorf("no call %s", c.call)
			continue
		}
		if got := ask(own, number, c.args...); got != c.want {
			t.Errorf("%s%x: %#x, want %#x", c.call, c.args, got, c.want)
		}
		for other, i := range map[string]*arch.Info{"i386": arch.I386, "arm": arch.ARM} {
			if got := ask(uint32(i.ID), number, c.args...); got != eperm {
				t.Errorf("%s by %s: %#x, want %#x", c.call, other, got, eperm)
			}
		}
		if got := ask(own, number|0x40000000, c.args...); got == allow {
			t.Errorf("%s is allowed with the bit of x32", c.call)
		}
	}
	if got := ask(own, 1000); got != none {
		t.Errorf("a call that does not exist yet: %#x, want %#x", got, none)
	}
}

// TestWithheld looks for misspelt names: one that no architecture has
// withholds nothing.
func TestWithheld(t *testing.T) {
	for _, name := range withheld {
		_, amd64 := arch.X86_64.SyscallNames[name]
		_, arm64 := arch.AARCH64.SyscallNames[name]
		_, i386 := arch.I386.SyscallNames[name]
		if !amd64 && !arm64 && !i386 {
			t.Errorf("no architecture has %s", name)
		}
	}
}
