//go:build !linux

package podman

import (
	"errors"
	"net"
)

// ours is false: podman runs in a virtual machine.
func ours(net.Conn) bool { return false }

func ownHost() (host, error) { return host{}, errors.ErrUnsupported }
