package harness

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// A verdict is what has become of a scenario.
type verdict string

const (
	pass verdict = "PASS"
	fail verdict = "FAIL"
	skip verdict = "SKIP"
)

// A trial is one run of one scenario. It is the T that testscript writes to,
// without the flags of package testing.
type trial struct {
	name, file string
	verbose    bool

	verdict verdict
	reason  string // why it was skipped, in its own words
	began   time.Time
	took    time.Duration
	log     strings.Builder
	words   string        // the last of what the bridge has logged
	done    chan struct{} // closed when what is above will not change
}

// Skip ends the scenario, which then has neither passed nor failed.
func (t *trial) Skip(why ...any) {
	t.reason = fmt.Sprint(why...)
	t.verdict = skip
	runtime.Goexit()
}

// Fatal ends the scenario, which has failed.
func (t *trial) Fatal(why ...any) {
	t.Log(why...)
	t.FailNow()
}

// FailNow ends the scenario, which has failed.
func (t *trial) FailNow() {
	t.verdict = fail
	runtime.Goexit()
}

// Log adds to the report of the scenario. Testscript, if verbose, begins with the
// whole environment, which is left out: a scenario can print it with env.
func (t *trial) Log(text ...any) {
	s := fmt.Sprint(text...)
	if _, rest, ok := strings.Cut(s, "\n\n"); ok && strings.HasPrefix(s, "WORK=") {
		s = rest
	}
	if s = strings.TrimRight(s, "\n"); s != "" {
		t.log.WriteString(s + "\n")
	}
}

// Parallel does nothing: the suite says how many scenarios run at once.
func (t *trial) Parallel() {}

// Verbose tells whether all of a scenario is told.
func (t *trial) Verbose() bool { return t.verbose }

// Run runs the scenario. Testscript takes it for the test of a folder with this
// scenario in it.
func (t *trial) Run(_ string, f func(testscript.T)) { f(t) }
