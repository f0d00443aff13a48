//go:build linux

package docker

var helpers = map[string]func(){}
