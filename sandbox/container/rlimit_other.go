//go:build !linux

package container

// Lowered is the value of a limit: engines run in a virtual machine.
func Lowered(r Rlimit) int64 { return r.Value }
