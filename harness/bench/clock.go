package main

import (
	"fmt"
	"slices"
	"time"
)

// inTurns runs each function once in every round, so that whatever else the
// machine does meets all of them alike, and returns the median of each. The
// first rounds, which fill caches, do not count.
func inTurns(rounds int, functions ...func() (time.Duration, error)) ([]time.Duration, error) {
	const warmUp = 3
	taken := make([][]time.Duration, len(functions))
	for round := range rounds + warmUp {
		for i, f := range functions {
			d, err := f()
			if err != nil {
				return nil, err
			}
			if round >= warmUp {
				taken[i] = append(taken[i], d)
			}
		}
	}
	medians := make([]time.Duration, len(functions))
	for i := range taken {
		slices.Sort(taken[i])
		medians[i] = taken[i][len(taken[i])/2]
	}
	return medians, nil
}

// timed makes a function that tells how long f took.
func timed(f func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		start := time.Now()
		err := f()
		return time.Since(start), err
	}
}

// short prints a duration with three digits.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	default:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
}

func ratio(a, b float64) string { return fmt.Sprintf("%.2f", a/b) }
