package upstream

import (
	"slices"
	"sort"
	"strings"
	"unicode"
)

// noise are words that say nothing about a tool.
var noise = strings.Fields(`a an and any are as at be by for from how i if in into is it its me my of on or our please
	so some that the their them then there these this to tool tools use used using want was we what when which will with you your`)

// words splits a text, or a name in snake, kebab or camel case, into the stems
// of its words.
func words(text string) []string {
	var stems []string
	add := func(word string) {
		if word = strings.ToLower(word); !slices.Contains(noise, word) {
			stems = append(stems, stem(word))
		}
	}
	fields := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, field := range fields {
		for _, word := range humps(field) {
			add(word)
		}
	}
	return stems
}

// humps splits camelCase, HTTPServer and base64 as people read them: "camel",
// "Case"; "HTTP", "Server"; "base64".
func humps(word string) []string {
	runes := []rune(word)
	var parts []string
	start := 0
	for i := 1; i < len(runes); i++ {
		after := unicode.IsUpper(runes[i]) && !unicode.IsUpper(runes[i-1])
		before := i+1 < len(runes) && unicode.IsUpper(runes[i]) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1])
		if after || before {
			parts = append(parts, string(runes[start:i]))
			start = i
		}
	}
	return append(parts, string(runes[start:]))
}

// stem takes the common English endings off a word, lightly: what is left need
// not be a word, only the same for forms of the same.
func stem(word string) string {
	for _, rule := range []struct {
		ending, instead string
		least           int // letters that must be left
	}{
		{"ies", "y", 3}, {"sses", "ss", 2}, {"shes", "sh", 2}, {"ches", "ch", 2}, {"xes", "x", 2},
		{"ings", "", 3}, {"ing", "", 3}, {"ied", "y", 3}, {"ed", "", 3},
	} {
		if root, ok := strings.CutSuffix(word, rule.ending); ok && len(root) >= rule.least && strings.ContainsAny(root, "aeiouy") {
			return strings.TrimSuffix(undouble(root+rule.instead), "e")
		}
	}
	if len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us") && !strings.HasSuffix(word, "is") {
		word = word[:len(word)-1]
	}
	if len(word) > 3 {
		word = strings.TrimSuffix(word, "e")
	}
	return word
}

// undouble turns "runn" into "run", and leaves "call" and "process".
func undouble(root string) string {
	n := len(root)
	if n > 3 && root[n-1] == root[n-2] && strings.IndexByte("bdgmnprt", root[n-1]) >= 0 {
		return root[:n-1]
	}
	return root
}

// How much a match counts that is not the word itself.
const (
	prefixLikeness = 0.6
	typoLikeness   = 0.8
)

// likeness is how much a stem counts for a word of a query, and how much it
// tells.
type likeness struct{ much, rarity float64 }

// like gives the stems that a word of a query means beside the others: the word
// itself, words that it begins, words that mean much the same, and, for a stem
// that no index has, words one slip away.
func (c *corpus) like(word string, asked []string) map[string]likeness {
	much := map[string]float64{}
	exact := c.with(word) > 0
	if exact {
		much[word] = 1
	}
	for _, x := range c.indexes {
		if len(word) < 3 {
			break
		}
		for _, stem := range x.stems[sort.SearchStrings(x.stems, word):] {
			if !strings.HasPrefix(stem, word) {
				break
			}
			if stem != word {
				much[stem] = prefixLikeness
			}
		}
		for i := 0; i < len(x.stems) && !exact; i++ {
			if stem := x.stems[i]; much[stem] == 0 && nearly(word, stem) {
				much[stem] = typoLikeness
			}
		}
	}
	for _, stem := range synonyms[word] {
		much[stem] = max(much[stem], synonymWeight)
	}
	likes := make(map[string]likeness, len(much))
	for stem, m := range much {
		// A rare relative of a common word is no more telling than the word.
		l := likeness{m, c.rarity(stem)}
		if exact {
			l.rarity = min(l.rarity, c.rarity(word))
		}
		likes[stem] = l
	}
	for _, p := range meant[word] {
		if slices.Contains(asked, p.beside) {
			likes[p.means] = likeness{1, c.rarity(p.means)}
		}
	}
	return likes
}

// nearly tells whether one letter too many, too few or wrong, or two swapped
// ones, are all that is between two words of four letters or more. A word of
// three may lack one, but for the first.
func nearly(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || len(b) < 4 || len(a) < 4 && a[0] != b[0] {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a) || a[i+1:] == b[i+1:] {
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
