//go:build !linux

package podman

// ceiling leaves a limit as it is: the service runs in a virtual machine.
func ceiling(_ string, value uint64) uint64 { return value }
