//go:build !linux

package native

import (
	"context"
	"runtime"
)

// Describe says that there is no native engine on this system.
func (*Engine) Describe(context.Context, string) Facts {
	return Facts{Kernel: runtime.GOOS, Machine: runtime.GOARCH, Namespaces: errNotLinux, NoPython: errNotLinux}
}
