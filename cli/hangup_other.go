//go:build !unix

package cli

import "os"

// hangup does nothing where there is no poll: a write tells.
func hangup(*os.File, func()) {}
