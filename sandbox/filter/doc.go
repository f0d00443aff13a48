// Package filter is what the container engines let a sandbox's processes ask of
// the kernel, as a seccomp profile in the form of docker and podman.
//
// It does not know the engines, nor whether they take it. The native engine
// has a narrower filter of its own, which it installs itself.
package filter
