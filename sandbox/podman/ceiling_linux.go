package podman

import "golang.org/x/sys/unix"

// resources are the numbers of the rlimits that a machine may hold lower than
// we want them.
var resources = map[string]int{
	"nofile": unix.RLIMIT_NOFILE, "nproc": unix.RLIMIT_NPROC, "sigpending": unix.RLIMIT_SIGPENDING,
	"fsize": unix.RLIMIT_FSIZE, "data": unix.RLIMIT_DATA, "as": unix.RLIMIT_AS,
}

// ceiling lowers a limit to the hard limit of this process, which is most
// likely that of a service of the same user. Nobody but root can go above it.
func ceiling(name string, value uint64) uint64 {
	var l unix.Rlimit
	if number, ok := resources[name]; ok && unix.Getrlimit(number, &l) == nil {
		return min(value, l.Max)
	}
	return value
}
