package podman

// known tells whether this system tells about other processes.
func known(int) bool { return startOf(1) != "" }
