//go:build !unix

package store

// syncDir does nothing: these systems write names through.
func syncDir(string) error { return nil }
