// Package podman makes sandboxes as containers of podman, over its API: of a
// service that is there (the user's, the system's, a podman machine's), or of
// one that it starts for itself where only the program podman is installed.
//
// It knows what a hardened container is and how one begins and ends. It does
// not know what runs in it, nor where an image comes from.
package podman

// Name is the engine's name.
const Name = "podman"
