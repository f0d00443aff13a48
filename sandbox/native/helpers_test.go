//go:build linux

package native

var helpers = map[string]func(){}
