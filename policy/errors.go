package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Pos is a place in a policy file. File is as the caller of Load named it;
// Line and Col count from 1, Col in bytes. A Line of 0 means the file as a
// whole.
type Pos struct {
	File string
	Line int
	Col  int
}

// String is the position as file:line:col.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// An Error is one mistake in a policy.
type Error struct {
	Pos     Pos
	Path    string // the field, such as profiles.strict.limits.memory, if it is about one
	Message string

	where  []Pos    // all places in the policy that have to do with it
	values []string // those that contradict each other, if that is the mistake
}

// Error is the mistake in one line: file:line:col: path: message.
func (e Error) Error() string { return joined(e.Pos.String(), e.Path, e.Message) }

// Warning is the line of one that is not a mistake: file:line:col: warning: path:
// message.
func (e Error) Warning() string { return joined(e.Pos.String(), "warning", e.Path, e.Message) }

func joined(all ...string) string {
	var parts []string
	for _, s := range all {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ": ")
}

// Errors are all mistakes of a policy, in the order of the files and within a
// file of the positions. It is the type of every error of Load that is about
// what the policy says, or which files hold it.
type Errors []Error

// Error is the mistakes, one a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// err is e as an error, which a list of no mistakes is not.
func (e Errors) err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// sorted puts the mistakes in order, where order says how the files come. Of
// several that say the same of one place it leaves the first.
func (e Errors) sorted(order map[string]int) Errors {
	slices.SortStableFunc(e, func(a, b Error) int { return comparePos(a.Pos, b.Pos, order) })
	return slices.CompactFunc(e, func(a, b Error) bool { return a.Pos == b.Pos && a.Message == b.Message })
}

func comparePos(a, b Pos, order map[string]int) int {
	return cmp.Or(
		cmp.Compare(order[a.File], order[b.File]),
		cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Col, b.Col),
	)
}

// oneLine keeps a message that quotes several lines of a policy on one.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

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
