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

// wants says what a text at the path has to be, for one that is not that. CUE
// would show the pattern of the schema.
func wants(path []string, text string) string {
	if len(path) < 3 || path[0] != "profiles" {
		return ""
	}
	at := strings.Join(path[2:min(len(path), 3)], "")
	if len(path) == 5 && at == "mounts" {
		at = path[4]
	} else if len(path) != 3 && at != "security" {
		return ""
	}
	switch at {
	case "engine":
		return fmt.Sprintf("unknown engine %q; engines: %s%s", text, strings.Join(engines(), ", "), DidYouMean(text, engines()))
	case "image":
		return fmt.Sprintf("invalid image %q: a name such as localhost/team/python:3, in lower case, or with a digest, name@sha256:<64 hexadecimal digits>", text)
	case "user":
		return fmt.Sprintf("invalid user %q: the number of one that is not root, such as 65534, or with that of its group 65534:65534", text)
	case "security":
		return fmt.Sprintf("invalid security option %q: one that adds to the built-in ones: label=type:NAME (or user, role, level), apparmor=PROFILE, mask=PATH", text)
	case "source":
		return fmt.Sprintf("invalid source %q: an absolute path, or one that begins with ~/, without .. and :, and nothing of the system itself (/, /dev, /proc, /run, /sys, *.sock)", text)
	case "target":
		return fmt.Sprintf("invalid target %q: an absolute path, without .. and :, that is not in what a sandbox is made of (/usr, /etc, /tmp, /workspace and the like); such as /data", text)
	}
	return ""
}
