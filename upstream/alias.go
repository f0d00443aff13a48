package upstream

import (
	"fmt"
	"slices"
	"strings"
)

// keywords are Python's, but for those with a capital letter, which no alias
// has. match, case, type and _ are none: they are names everywhere else.
var keywords = strings.Fields(`and as assert async await break class continue def del elif else except finally for
	from global if import in is lambda nonlocal not or pass raise return try while with yield`)

// Aliases gives each of the names, of servers or of one server's tools, its
// name in Python: in lower case, with "_" for every character that Python does
// not take and before a leading digit, and "_" after a keyword. Of names that
// come to the same, the one that is spelt so has it, else the first in sorted
// order, and the next have _2, _3 and so on. So an alias is never another's name,
// and depends on the names alone, never on their order.
func Aliases(names []string) map[string]string {
	sorted := slices.Compact(slices.Sorted(slices.Values(names)))
	aliases := make(map[string]string, len(sorted))
	taken := make(map[string]bool, len(sorted))
	for _, name := range sorted {
		if alias(name) == name {
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
