package docker

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/moby/profiles/seccomp"
)

// withheld are system calls that the default profile leaves to a process
// without capabilities, and that could undo what a sandbox is promised to be.
var withheld = []string{
	// The first process ends the sandbox when the bridge is gone. It has the
	// same user as the others, who must not take it over.
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp", "name_to_handle_at",
	// Memory that nobody can look into, and descriptors of segments.
	"memfd_secret", "modify_ldt",
}

// profile is docker's default profile as of the library's version, less what
// is withheld. Docker 20.10's own leaves io_uring and AF_VSOCK open, and the
// latter leads out of every network namespace, to a virtual machine's host.
var profile = sync.OnceValues(func() (string, error) {
	p := seccomp.DefaultProfile()
	for i := range p.ArchMap {
		// The same calls by the numbers of another architecture are a way to
		// AF_VSOCK, by socketcall(2), and take as long again to compile at
		// each start. Programs of 32 bits are killed.
		p.ArchMap[i].SubArches = nil
	}
	for _, rule := range p.Syscalls {
		rule.Names = slices.DeleteFunc(slices.Clone(rule.Names), func(name string) bool { return slices.Contains(withheld, name) })
	}
	p.Syscalls = slices.DeleteFunc(p.Syscalls, func(rule *seccomp.Syscall) bool { return len(rule.Names) == 0 })
	text, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("encoding the seccomp profile: %w", err)
	}
	return string(text), nil
})
