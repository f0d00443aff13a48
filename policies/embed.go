// Package policies holds the policies that are part of the binary. They serve
// whoever has written none, and are examples of how to write one.
package policies

import "embed"

// Files are the embedded policies, one .cue file each.
//
//go:embed *.cue
var Files embed.FS
