// Package native makes sandboxes from what the Linux kernel offers: user,
// mount, pid, net, ipc, uts and cgroup namespaces, a read-only tree of the
// host's own files, seccomp, Landlock, rlimits, and cgroups where there are
// any. It needs no daemon, no image and no privilege.
//
// What it does not hold: a flaw in the kernel that is shared with the host;
// the files below /usr that anybody may read, which the guest sees; of an
// ordinary user, the supplementary groups, which cannot be given up; without
// cgroups, the memory that is taken between two looks of the watchdog.
//
// It does not know what runs inside, nor what for. What it puts in force is
// decided here and carried out by package stage, in the new process itself.
package native

// Name is the engine's name in policies and messages.
const Name = "native"
