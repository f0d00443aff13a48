package container

import "golang.org/x/sys/unix"

// resources are the rlimits whose hard limit may be lower than we want it.
var resources = map[string]int{
	"nofile": unix.RLIMIT_NOFILE, "nproc": unix.RLIMIT_NPROC, "sigpending": unix.RLIMIT_SIGPENDING,
	"fsize": unix.RLIMIT_FSIZE, "data": unix.RLIMIT_DATA, "as": unix.RLIMIT_AS,
}

// Lowered is the value of a limit, or this process's hard limit if that is lower,
// which most likely is that of an engine of the same user.
func Lowered(r Rlimit) int64 {
	var l unix.Rlimit
	if number, ok := resources[r.Name]; ok && unix.Getrlimit(number, &l) == nil && l.Max < uint64(r.Value) {
		return int64(l.Max)
	}
	return r.Value
}
