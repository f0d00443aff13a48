package harness

import "time"

// A Family is a process and those that it has started, as they were at one
// moment.
type Family []process

// FamilyOf is the family of a process.
func FamilyOf(pid int) Family { return descendants(pid) }

// Outlive returns those that are still alive after a time, or none as soon as
// none is.
func (f Family) Outlive(wait time.Duration) []string {
	var names []string
	for _, p := range outlive(f, wait) {
		names = append(names, p.String())
	}
	return names
}
