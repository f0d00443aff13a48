package native

// Facts are what the native engine finds on this machine.
type Facts struct {
	Kernel     string // such as 6.12.1
	Machine    string // such as x86_64
	Namespaces error  // what forbids new user namespaces, as far as it shows; nil if nothing does
	Restricted bool   // whether AppArmor keeps user namespaces from programs without a profile
	Seccomp    bool   // whether the kernel can filter system calls
	Landlock   int    // version of Landlock, 0 without it
	Cgroup     string // "2", "1", or "" without cgroups
	Delegate   string // who gives this process a part of the tree: "own cgroup", "systemd" or ""
	Python     string // the interpreter of a sandbox
	Version    string // and its version
	NoPython   error  // why there is no interpreter
}
