package harness

import (
	"fmt"
	"strings"
	"time"
)

// A Report is what has become of the scenarios.
type Report struct {
	Passed  bool // none has failed
	folders []*folder
}

// report tells of the scenarios, in order, as they end.
func (s *suite) report() *Report {
	r := &Report{Passed: true, folders: s.folders}
	for _, f := range s.folders {
		verdict := pass
		for _, t := range f.trials {
			if s.Verbose {
				fmt.Fprintf(s.Out, "=== RUN   %s\n", t.name)
			}
			<-t.done
			if t.verdict == fail {
				verdict, r.Passed = fail, false
			}
			s.tell(t)
		}
		switch took := f.took().Seconds(); {
		case verdict == fail:
			fmt.Fprintf(s.Out, "FAIL\nFAIL\t%s\t%.3fs\n", f.name, took)
		case len(f.trials) == 0:
			fmt.Fprintf(s.Out, "ok  \t%s\t%.3fs [no scenarios to run]\n", f.name, took)
		case s.Verbose:
			fmt.Fprintf(s.Out, "PASS\nok  \t%s\t%.3fs\n", f.name, took)
		default:
			fmt.Fprintf(s.Out, "ok  \t%s\t%.3fs\n", f.name, took)
		}
	}
	if !r.Passed {
		fmt.Fprintln(s.Out, "FAIL")
	}
	return r
}

// tell tells of one scenario, unless there is nothing to tell.
func (s *suite) tell(t *trial) {
	if t.verdict != fail && !s.Verbose {
		return
	}
	fmt.Fprintf(s.Out, "--- %s: %s (%.2fs)\n", t.verdict, t.name, t.took.Seconds())
	if t.reason != "" {
		fmt.Fprintf(s.Out, "    %s\n", t.reason)
	}
	for line := range strings.Lines(t.log.String()) {
		fmt.Fprint(s.Out, "    ", line)
	}
}

// took is the time from the first begin to the last end.
func (f *folder) took() time.Duration {
	var first, last time.Time
	for _, t := range f.trials {
		if first.IsZero() || t.began.Before(first) {
			first = t.began
		}
		if end := t.began.Add(t.took); end.After(last) {
			last = end
		}
	}
	return last.Sub(first)
}
