//go:build !linux

package native

import (
	"context"
	"errors"
	"io"

	"bridge/sandbox"
)

var errNotLinux = errors.New("the native engine needs Linux; use podman or docker")

// Engine is the native engine, which works on Linux only.
type Engine struct{}

// New returns an engine that is never ready.
func New() *Engine { return &Engine{} }

// Name returns "native".
func (*Engine) Name() string { return Name }

// Ready says that there is no native engine on this system.
func (*Engine) Ready(context.Context, sandbox.Spec) error { return errNotLinux }

// Start says that there is no native engine on this system.
func (*Engine) Start(context.Context, sandbox.Spec, []string, io.Writer) (sandbox.Sandbox, error) {
	return nil, errNotLinux
}

// Close does nothing.
func (*Engine) Close() {}
