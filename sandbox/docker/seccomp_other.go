//go:build !linux

package docker

// profile is empty here: the library knows its profile on Linux only, and the
// daemon has one of its own.
func profile() (string, error) { return "", nil }
