package container

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// withheld are system calls that the profile leaves to a process without
// capabilities, and that a Python session has no use for. Left to it are those
// which a runtime may make after the filter is set.
var withheld = []string{
	// The first process ends the sandbox when the bridge is gone. It has the
	// same user as the others, who must not take it over.
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp", "pidfd_getfd",
	// memory that neither an rlimit nor a tmpfs bounds
	"memfd_create", "memfd_secret", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semctl", "semtimedop",
	"shmget", "shmat", "shmctl", "shmdt", "ipc", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr",
	"io_setup", "io_submit", "io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_pgetevents_time64",
	// where it is
	"mknod", "mknodat", "chroot", "personality", "mount_setattr", "listmount", "statmount", "open_tree", "name_to_handle_at", "open_by_handle_at",
	// rarely used corners of the kernel
	"modify_ldt", "vmsplice", "tee", "remap_file_pages", "pkey_alloc", "pkey_free", "pkey_mprotect", "syslog", "quotactl", "quotactl_fd",
	"sync", "syncfs", "setxattr", "lsetxattr", "fsetxattr", "setxattrat",
	// sockets whose family lies behind a pointer, where a filter cannot look
	"socketcall",
	// these have a rule of ours
	"socket", "socketpair",
}

// Seccomp is the seccomp profile of a container, in the JSON of docker and
// podman: docker's default of the library's version without the withheld calls.
// The defaults of older engines allow more: docker 20.10 allows io_uring, podman
// allows namespaces and mounts, and both allow AF_VSOCK, which reaches a virtual
// machine's host from any network namespace. The native engine has a narrower
// filter of its own.
var Seccomp = sync.OnceValues(func() ([]byte, error) {
	p := seccomp.DefaultProfile()
	for i := range p.ArchMap {
		// The same calls by the numbers of another architecture are a way
		// around rules, and take as long again to compile at each start.
		// Programs of 32 bits are killed.
		p.ArchMap[i].SubArches = nil
	}
	for _, rule := range p.Syscalls {
		rule.Names = slices.DeleteFunc(slices.Clone(rule.Names), func(name string) bool { return slices.Contains(withheld, name) })
	}
	p.Syscalls = slices.DeleteFunc(p.Syscalls, func(rule *seccomp.Syscall) bool { return len(rule.Names) == 0 })
	// Local sockets only, for asyncio and multiprocessing.
	p.Syscalls = append(p.Syscalls, &seccomp.Syscall{LinuxSyscall: specs.LinuxSyscall{
		Names:  []string{"socket", "socketpair"},
		Action: specs.ActAllow,
		Args:   []specs.LinuxSeccompArg{{Index: 0, Value: unix.AF_UNIX, Op: specs.OpEqualTo}},
	}})
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encoding the seccomp profile: %w", err)
	}
	return text, nil
})
