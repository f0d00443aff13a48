// Package image names the image that container engines run the guest in, by
// what it is built from. It does not know the engines, nor how they build.
package image

import (
	"crypto/sha256"
	"encoding/hex"
)

// Repository is what the names of the bridge's own images begin with, before
// the tag.
const Repository = "localhost/bridge-python"

// Name is the image that a Containerfile makes. Another Containerfile makes
// another name, so that a new bridge never takes the image of an old one for
// its own.
func Name(containerfile []byte) string {
	sum := sha256.Sum256(containerfile)
	return Repository + ":" + hex.EncodeToString(sum[:])[:12]
}
