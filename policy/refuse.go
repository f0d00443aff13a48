package policy

import (
	"fmt"
	"strings"
)

// later are the fields that this version does not know what to do with, by
// what has them. A policy that relies on one of them must not seem to work.
var later = map[string]map[string]string{
	"profile": {
		"env":     "environment variables for the sandbox are",
		"network": "networks for the sandbox are",
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
	case n == 3 && path[0] == "servers":
		return path[2] // env or headers, among others
	case n == 6 && path[2] == "servers" && (path[4] == "tools" || path[4] == "resources"):
		return "rule"
	}
	return ""
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
	case "headers":
		return "invalid name of a header: letters, digits and -, without spaces and colons", false
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
	switch n := len(path); {
	case n < 3:
		return ""
	case path[0] == "servers":
		return wantsOfServer(path[2:], text)
	case path[0] == "profiles" && n > 6 && path[2] == "servers" && (path[4] == "tools" || path[4] == "resources"):
		return wantsOfRule(path[6:], text)
	case path[0] == "profiles":
		return wantsOfProfile(path[2:], text)
	}
	return ""
}

// oneOf says which of a few words a text should have been.
func oneOf(what, text string, words ...string) string {
	return fmt.Sprintf("unknown %s %q; one of %s%s", what, text, strings.Join(words, ", "), DidYouMean(text, words))
}

func wantsOfServer(path []string, text string) string {
	switch path[0] {
	case "url":
		return fmt.Sprintf("invalid url %q: one that begins with http:// or https://, without spaces and #", text)
	case "transport":
		return oneOf("transport", text, "http", "sse")
	case "headers":
		return "invalid header: it is one line"
	}
	return ""
}

func wantsOfRule(path []string, text string) string {
	switch {
	case path[0] == "sha256":
		return fmt.Sprintf("invalid sha256 %q: 64 hexadecimal digits, in lower case", text)
	case len(path) == 3 && path[1] == "redact":
		return regexpMistake(text)
	}
	return ""
}

func wantsOfProfile(path []string, text string) string {
	at := path[0]
	switch n := len(path); {
	case n == 3 && at == "mounts", n == 2 && at == "memory":
		at = path[n-1]
	case n != 1 && at != "security" && at != "discover" && at != "packages":
		return ""
	}
	switch at {
	case "engine":
		return fmt.Sprintf("unknown engine %q; engines: %s%s", text, strings.Join(schemaEngines().names, ", "), DidYouMean(text, schemaEngines().names))
	case "image":
		return fmt.Sprintf("invalid image %q: a name such as localhost/team/python:3, in lower case, or with a digest, name@sha256:<64 hexadecimal digits>", text)
	case "packages":
		return fmt.Sprintf("invalid package %q: a name of PyPI, with extras and versions if they matter, such as pandas or matplotlib>=3.9,<4", text)
	case "requirements":
		return fmt.Sprintf("invalid requirements %q: the path of a file that begins with / or ~/", text)
	case "user":
		return fmt.Sprintf("invalid user %q: the number of one that is not root, such as 65534, or with that of its group 65534:65534", text)
	case "security":
		return fmt.Sprintf("invalid security option %q: one that adds to the built-in ones: label=type:NAME (or user, role, level), apparmor=PROFILE, mask=PATH", text)
	case "source":
		return fmt.Sprintf("invalid source %q: an absolute path, or one that begins with ~/, without .. and :, and nothing of the system itself (/, /dev, /proc, /run, /sys, *.sock)", text)
	case "target":
		return fmt.Sprintf("invalid target %q: an absolute path, without .. and :, that is not in what a sandbox is made of (/usr, /etc, /tmp, /workspace and the like); such as /data", text)
	case "discover":
		return oneOf("source of servers", text, "clients", "claude-code", "claude-desktop", "cursor", "vscode", "windsurf", "codex", "gemini", "opencode", "zed", "antigravity", "mcps", "mcp") + "; or a file's path that begins with / or ~/"
	case "mode":
		return oneOf("mode", text, "on", "readOnly", "off")
	case "state":
		return fmt.Sprintf("invalid state %q: the path of a folder that begins with / or ~/", text)
	case "format":
		return oneOf("format", text, "compact", "toon", "json")
	}
	return ""
}
