package upstream

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// keywords are Python's, but for those with a capital letter, which no alias
// has. match, case, type and _ are none: they are names everywhere else.
var keywords = strings.Fields(`and as assert async await break class continue def del elif else except finally for
	from global if import in is lambda nonlocal not or pass raise return try while with yield`)

// special are names that Python itself, or what shows values, looks up in any
// object.
var special = regexp.MustCompile(`^(__.*__|_(repr|ipython)_.*_)$`)

// ToolAliases gives each of the names of one server's tools its alias. What the
// object of a server has itself is not an alias.
func ToolAliases(names []string) map[string]string { return aliases(names, "call_tool") }

// ServerAliases gives each of the names of servers its alias. What the mapping
// of all servers has itself is not an alias, and neither is its own name.
func ServerAliases(names []string) map[string]string {
	return aliases(names, "servers", "get", "items", "keys", "values", "_abc_impl")
}

// aliases gives each of the names its name in Python: in lower case, with "_" for
// every character that Python does not take and before a leading digit, and "_"
// after a keyword. Of names that come to the same, the one that is spelt so has
// it, else the first in sorted order, and the next have _2, _3 and so on, as have
// those that come to a special or a reserved name. So an alias is never another's
// name, and depends on the names alone, never on their order.
func aliases(names []string, reserved ...string) map[string]string {
	sorted := slices.Compact(slices.Sorted(slices.Values(names)))
	aliases := make(map[string]string, len(sorted))
	taken := make(map[string]bool, len(sorted))
	for _, name := range reserved {
		taken[name] = true
	}
	for _, name := range sorted {
		if special.MatchString(alias(name)) {
			taken[alias(name)] = true
		}
	}
	for _, name := range sorted {
		if alias(name) == name && !taken[name] {
			taken[name] = true
			aliases[name] = name
		}
	}
	next := map[string]int{} // by what names come to: the number to go on with
	for _, name := range sorted {
		if aliases[name] != "" {
			continue
		}
		base := alias(name)
		unique := base
		for n := max(next[base], 2); taken[unique]; n++ {
			unique = fmt.Sprintf("%s_%d", base, n)
			next[base] = n + 1
		}
		taken[unique] = true
		aliases[name] = unique
	}
	return aliases
}

func alias(name string) string {
	alias := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '_'
	}, name)
	switch {
	case alias == "" || '0' <= alias[0] && alias[0] <= '9':
		return "_" + alias
	case slices.Contains(keywords, alias):
		return alias + "_"
	}
	return alias
}
