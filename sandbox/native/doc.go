// Package native makes sandboxes from what the Linux kernel offers: user,
// mount, pid, net, ipc, uts and cgroup namespaces, a read-only tree of the
// host's own files, seccomp, Landlock, rlimits, and cgroups where there are
// any. It needs no daemon, no image and no privilege.
//
// It does not know what runs inside, nor what for. What it puts in force is
// decided here and carried out by package stage, in the new process itself.
package native

// Name is the engine's name in policies and messages.
const Name = "native"
