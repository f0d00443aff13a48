package policy

import (
	"fmt"
	"strings"
)

// later are the fields that this version does not know what to do with, by
// what has them. A policy that relies on one of them must not seem to work.
var later = map[string]map[string]string{
	"policy": {
		"discover": "importing servers from clients is",
	},
	"server": {
		"url":       "servers over HTTP are",
		"headers":   "servers over HTTP are",
		"type":      "servers over HTTP are",
		"transport": "servers over HTTP are",
		"envFile":   "environment files are",
		"disabled":  "disabling servers is",
	},
	"profile": {
		"discover": "importing servers from clients is",
		"mounts":   "mounting folders is",
		"image":    "container images are",
		"rootful":  "container engines are",
		"user":     "container engines are",
		"security": "container engines are",
		"memory":   "what outlives a session is",
		"audit":    "the audit log is",
		"env":      "environment variables for the sandbox are",
		"network":  "networks for the sandbox are",
		"images":   "images in results are",
	},
	"mount": {
		"args":    "argument rules are",
		"calls":   "call budgets are",
		"confirm": "confirmation by a person is",
		"redact":  "redaction is",
		"timeout": "timeouts of a profile's servers are",
	},
	"rule": {
		"args":    "argument rules are",
		"calls":   "call budgets are",
		"confirm": "confirmation by a person is",
		"redact":  "redaction is",
		"result":  "rules for results are",
		"timeout": "timeouts of tools are",
	},
}

// kind is what a policy has at the path.
func kind(path []string) string {
	switch n := len(path); {
	case n == 0:
		return "policy"
	case n == 1:
		return path[0] // servers or profiles
	case n == 2 && path[0] == "servers":
		return "server"
	case n == 2:
		return "profile"
	case path[0] == "servers":
		return path[2]
	case n == 4 && path[2] == "servers":
		return "mount"
	case n == 6 && path[2] == "servers" && path[4] == "tools":
		return "rule"
	}
	return path[2]
}

// refusal says why the struct at the path cannot have a field of that name, and
// whether a later version will let it.
func refusal(path []string, name string, names *shape) (text string, unsupported bool) {
	if what, ok := later[kind(path)][name]; ok {
		return what + " not supported by this version", true
	}
	switch kind(path) {
	case "servers":
		return "invalid name of a server: 1 to 64 printable characters, without . and /", false
	case "profiles":
		return "invalid name of a profile: a letter or digit, then up to 63 letters, digits, _, . or -", false
	case "env":
		return "invalid name of an environment variable: letters, digits and _, not a digit first", false
	}
	fields := sortedKeys(names.named)
	if near := DidYouMean(name, fields); near != "" {
		return "unknown field" + near, false
	}
	text = "unknown field; fields: " + strings.Join(fields, ", ")
	if len(path) == 0 {
		text += "; a policy's own begin with _ or #"
	}
	return text, false
}

func engineRefusal(name string) string {
	switch name {
	case "podman", "docker":
		return fmt.Sprintf("engine %q is not supported by this version; engines: native", name)
	}
	return fmt.Sprintf("unknown engine %q; engines: native%s", name, DidYouMean(name, []string{"native"}))
}
