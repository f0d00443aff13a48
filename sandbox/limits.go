package sandbox

import (
	"cmp"
	"slices"
)

// DefaultLimits are what a zero field of Limits means. A profile's defaults are
// the same.
var DefaultLimits = Limits{
	Memory: 512 << 20, CPUs: 1, PIDs: 128, Files: 256,
	Tmp: 64 << 20, Workspace: 128 << 20, Shm: 16 << 20,
}

// WithDefaults fills in the fields that are not more than zero.
func (l Limits) WithDefaults() Limits {
	d := DefaultLimits
	if !(l.CPUs > 0) { // NaN too
		l.CPUs = d.CPUs
	}
	return Limits{
		Memory: cmp.Or(max(l.Memory, 0), d.Memory), CPUs: l.CPUs,
		PIDs: cmp.Or(max(l.PIDs, 0), d.PIDs), Files: cmp.Or(max(l.Files, 0), d.Files),
		Tmp: cmp.Or(max(l.Tmp, 0), d.Tmp), Workspace: cmp.Or(max(l.Workspace, 0), d.Workspace), Shm: cmp.Or(max(l.Shm, 0), d.Shm),
	}
}

// Loose are the names of the limits that are not in force, sorted, of what
// Sandbox.Limits returns.
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
