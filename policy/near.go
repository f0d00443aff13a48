package policy

import "strings"

// DidYouMean is "; did you mean NAME?" for the candidate that name is most
// likely a slip of, and "" if there is none.
func DidYouMean(name string, candidates []string) string {
	best, distance := "", len(name)/3+1
	for _, c := range candidates {
		if d := edits(strings.ToLower(name), strings.ToLower(c)); d <= distance && d < len(c) && (best == "" || d < distance) {
			best, distance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// edits is the number of bytes to insert, delete, replace or swap with their
// neighbour to make a of b. Names longer than any that is near are not
// compared.
func edits(a, b string) int {
	const long = 100
	if len(a) > long || len(b) > long {
		return long
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
