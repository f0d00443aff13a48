package sandbox

import "slices"

// WithDefaults fills in what is left open: what is not more than zero.
func (l Limits) WithDefaults() Limits {
	or := func(value, otherwise int64) int64 {
		if value > 0 {
			return value
		}
		return otherwise
	}
	l.Memory = or(l.Memory, 512<<20)
	l.PIDs = or(l.PIDs, 64)
	l.Files = or(l.Files, 256)
	l.Tmp = or(l.Tmp, 64<<20)
	l.Workspace = or(l.Workspace, 64<<20)
	l.Shm = or(l.Shm, 64<<20)
	if !(l.CPUs > 0) { // NaN too
		l.CPUs = 1
	}
	return l
}

// Loose are the limits that are not in force, sorted, of what Sandbox.Limits
// tells.
func Loose(held map[string]string) []string {
	var names []string
	for name, how := range held {
		if how == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
