package native

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	profile "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// withheld are system calls that Docker's default profile leaves to a process
// without capabilities, and that a Python session has no use for. What is not
// in the profile at all (io_uring, bpf, keyrings, userfaultfd, mounts, …) is
// not repeated.
var withheld = []string{
	// other processes
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp",
	"pidfd_getfd", "pidfd_open", "pidfd_send_signal",
	// memory that neither an rlimit nor a tmpfs bounds
	"memfd_create", "memfd_secret", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semctl", "semtimedop",
	"shmget", "shmat", "shmctl", "shmdt", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr",
	// who and where it is
	"setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "setfsuid", "setfsgid", "capset",
	"mknod", "mknodat", "chroot", "sethostname", "setdomainname", "personality",
	"mount_setattr", "listmount", "statmount", "open_tree", "name_to_handle_at", "open_by_handle_at",
	"setxattr", "lsetxattr", "fsetxattr", "setxattrat",
	// the processors it was given
	"sched_setattr", "sched_setscheduler", "sched_setparam", "sched_setaffinity",
	"set_mempolicy", "mbind", "get_mempolicy", "set_mempolicy_home_node",
	// its own confinement
	"seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
	// rarely used corners of the kernel
	"modify_ldt", "vmsplice", "tee", "fanotify_init", "fanotify_mark", "inotify_init1", "remap_file_pages",
	"io_setup", "io_submit", "io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_pgetevents_time64",
	"pkey_alloc", "pkey_free", "pkey_mprotect", "syslog", "sync", "syncfs", "quotactl", "quotactl_fd",
}

// options are the prctl options left to the guest. PR_SET_PDEATHSIG is not one
// of them: it could outlive a bridge that was killed. Nor is PR_SET_DUMPABLE:
// it could hide from the watchdog. They are listed, rather than the others
// forbidden, because the kernel looks at the low 32 bits of the argument only.
var options = []uint64{
	unix.PR_GET_PDEATHSIG, unix.PR_GET_DUMPABLE, unix.PR_SET_NAME, unix.PR_GET_NAME, unix.PR_GET_SECCOMP,
	unix.PR_CAPBSET_READ, unix.PR_GET_SECUREBITS, unix.PR_SET_TIMERSLACK, unix.PR_GET_TIMERSLACK,
	unix.PR_SET_CHILD_SUBREAPER, unix.PR_GET_CHILD_SUBREAPER, unix.PR_SET_NO_NEW_PRIVS, unix.PR_GET_NO_NEW_PRIVS,
	unix.PR_SET_THP_DISABLE, unix.PR_GET_THP_DISABLE, unix.PR_SET_VMA,
}

// filter is the compiled program, the same for every sandbox.
var filter = sync.OnceValues(func() (string, error) {
	program, err := assemble()
	if err != nil {
		return "", fmt.Errorf("compiling the seccomp filter: %w", err)
	}
	return encode(program)
})

// assemble turns Docker's default profile, as it is for a process with no
// capability, into an allow list: any other system call is refused with EPERM.
func assemble() ([]bpf.Instruction, error) {
	p, err := profile.GetDefaultProfile(&specs.Spec{Process: &specs.Process{Capabilities: &specs.LinuxCapabilities{}}})
	if err != nil {
		return nil, err
	}
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	allow := seccomp.SyscallGroup{Action: seccomp.ActionAllow}
	for _, s := range p.Syscalls {
		if s.Action != specs.ActAllow {
			continue
		}
		for _, name := range s.Names {
			if _, known := info.SyscallNames[name]; !known || own(name) || slices.Contains(withheld, name) || slices.Contains(allow.Names, name) {
				continue
			}
			if len(s.Args) == 0 {
				allow.Names = append(allow.Names, name)
				continue
			}
			cs, err := conditions(s.Args)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			allow.NamesWithCondtions = append(allow.NamesWithCondtions, seccomp.NameWithConditions{Name: name, Conditions: cs})
		}
	}
	equal := func(name string, value uint64) {
		allow.NamesWithCondtions = append(allow.NamesWithCondtions, seccomp.NameWithConditions{Name: name,
			Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.Equal, Value: value}}})
	}
	bits := func(name string, cs ...seccomp.Condition) {
		allow.NamesWithCondtions = append(allow.NamesWithCondtions, seccomp.NameWithConditions{Name: name, Conditions: cs})
	}
	// Of these arguments the kernel looks at the low 32 bits only.
	except := func(name string, argument uint32, values ...uint64) {
		cs := []seccomp.Condition{{Argument: argument, Operation: seccomp.LessOrEqual, Value: math.MaxUint32}}
		for _, v := range values {
			cs = append(cs, seccomp.Condition{Argument: argument, Operation: seccomp.NotEqual, Value: v})
		}
		bits(name, cs...)
	}
	for _, option := range options {
		equal("prctl", option)
	}
	// Local sockets only, for asyncio and multiprocessing.
	equal("socket", unix.AF_UNIX)
	equal("socketpair", unix.AF_UNIX)
	// Not what the watchdog could not count: larger buffers of sockets, locks
	// that belong to no process, or to one that is gone because another shares
	// its files, and pages of another kind.
	except("setsockopt", 2, unix.SO_SNDBUF, unix.SO_SNDBUFFORCE)
	except("fcntl", 1, unix.F_OFD_GETLK, unix.F_OFD_SETLK, unix.F_OFD_SETLKW)
	bits("mmap", seccomp.Condition{Argument: 3, Operation: seccomp.BitsNotSet, Value: unix.MAP_HUGETLB})
	bits("clone", seccomp.Condition{Operation: seccomp.BitsNotSet, Value: namespaces | unix.CLONE_FILES})
	bits("clone", seccomp.Condition{Operation: seccomp.BitsNotSet, Value: namespaces}, seccomp.Condition{Operation: seccomp.BitsSet, Value: unix.CLONE_THREAD})
	// What clone3 does lies behind a pointer, where a filter cannot look. With
	// ENOSYS the C library takes clone.
	absent := seccomp.SyscallGroup{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: []string{"clone3"}}
	policy := seccomp.Policy{DefaultAction: seccomp.ActionErrno, Syscalls: []seccomp.SyscallGroup{absent, allow}}
	program, err := policy.Assemble()
	if err != nil {
		return nil, err
	}
	return append(newer(info), program...), nil
}

// own tells which system calls have rules of ours in place of the profile's.
func own(name string) bool {
	return slices.Contains([]string{"prctl", "socket", "socketpair", "clone", "clone3", "setsockopt", "fcntl", "mmap"}, name)
}

// namespaces are the flags of clone that make new ones.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

func conditions(args []specs.LinuxSeccompArg) (seccomp.ArgumentConditions, error) {
	var cs seccomp.ArgumentConditions
	for _, a := range args {
		c := seccomp.Condition{Argument: uint32(a.Index), Value: a.Value}
		switch {
		case a.Op == specs.OpEqualTo:
			c.Operation = seccomp.Equal
		case a.Op == specs.OpMaskedEqual && a.ValueTwo == 0: // no bit of the mask
			c.Operation = seccomp.BitsNotSet
		default:
			return nil, fmt.Errorf("operator %s is not supported", a.Op)
		}
		cs = append(cs, c)
	}
	return cs, nil
}

// newer answers system calls that came after the list was made with ENOSYS,
// as an older kernel would: programs then take an older one, where EPERM
// would make them give up. The numbers of other architectures and of the x32
// ABI go on to the rules.
func newer(info *arch.Info) []bpf.Instruction {
	last := 0
	for number := range info.SyscallNumbers {
		last = max(last, number)
	}
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: 4, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(info.ID), SkipTrue: 4},
		bpf.LoadAbsolute{Off: 0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: uint32(last), SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: 0x40000000, SkipTrue: 1},
		bpf.RetConstant{Val: uint32(seccomp.ActionErrno) | uint32(unix.ENOSYS)},
	}
}

// encode lays the program out as an array of struct sock_filter.
func encode(program []bpf.Instruction) (string, error) {
	raw, err := bpf.Assemble(program)
	if err != nil {
		return "", fmt.Errorf("compiling the seccomp filter: %w", err)
	}
	var b []byte
	for _, r := range raw {
		b = binary.NativeEndian.AppendUint16(b, r.Op)
		b = append(b, r.Jt, r.Jf)
		b = binary.NativeEndian.AppendUint32(b, r.K)
	}
	return string(b), nil
}
