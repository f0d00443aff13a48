//go:build !linux

package filter

// Profile is empty: the library knows it on Linux only, and an engine in a
// virtual machine has its own.
func Profile() ([]byte, error) { return nil, nil }
