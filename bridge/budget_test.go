package bridge

import (
	"encoding/json"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"bridge/policy"
)

var unlimited = policy.Budget{PerRun: -1, PerSession: -1, Parallel: -1, BytesPerRun: -1, BytesPerSession: -1}

func calls(perRun, perSession int) policy.Budget {
	b := unlimited
	b.PerRun, b.PerSession = perRun, perSession
	return b
}

// Whatever is reserved and given back at once, no more calls are under way than
// the budget has, and all of it can be used in the end.
func TestBudgetIsNeverExceeded(t *testing.T) {
	b, run := budget{session: ledger{}}, ledger{}
	shares := []share{{key: "rule", Budget: calls(10, -1)}, {key: "profile", Budget: calls(-1, 12)}}
	var under, most atomic.Int64
	var all sync.WaitGroup
	for i := range 1000 {
		all.Go(func() {
			r, err := b.reserve("s.t", run, shares, nil)
			if err != nil {
				return
			}
			if n := under.Add(1); n > most.Load() {
				most.Store(n)
			}
			if i%2 == 0 {
				under.Add(-1)
				r.giveBack()
			}
		})
	}
	all.Wait()
	for range 10 {
		if _, err := b.reserve("s.t", run, shares, nil); err == nil {
			under.Add(1)
		}
	}
	if most.Load() > 10 || under.Load() != 10 {
		t.Errorf("%d at once, %d in the end; want 10", most.Load(), under.Load())
	}
	for i, want := range []bool{true, true, false} {
		if _, err := b.reserve("s.t", ledger{}, shares, nil); (err == nil) != want {
			t.Errorf("call %d of the next run: %v", i+1, err)
		}
	}
}

func TestAmounts(t *testing.T) {
	for _, test := range []struct {
		text string
		want bool
	}{
		{"1", true}, {"0", true}, {"-0", true}, {"0.1", true}, {"1e3", true}, {"9007199254740993", true},
		{"-1", false}, {"1e31", false}, {"1e-31", false}, {"1e99999999", false}, {`"1"`, false}, {"null", false},
		{"", false}, {"NaN", false}, {"Inf", false}, {"0x10", false}, {"1_0", false}, {"[1]", false}, {"true", false},
		{"1e-99999999", true}, {"0e99999999", true}, // both are taken for 0, in no time
	} {
		if _, ok := amount(json.RawMessage(test.text)); ok != test.want {
			t.Errorf("%s: %t", test.text, ok)
		}
	}
}

func TestSumsAreExact(t *testing.T) {
	b, run := budget{session: ledger{}}, ledger{}
	shares := []share{{key: "rule", Budget: unlimited, sums: []policy.Sum{{Argument: "a", PerRun: math.Inf(1), PerSession: 0.3}}}}
	for i, want := range []bool{true, true, true, false} {
		if _, err := b.reserve("s.t", run, shares, json.RawMessage(`{"a": 0.1}`)); (err == nil) != want {
			t.Errorf("call %d: %v", i+1, err)
		}
	}
}
