package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"sync"

	"bridge/policy"
)

// budget counts what the calls of an agent use, for as long as the bridge
// serves it: a sandbox that is lost and made anew refills nothing.
type budget struct {
	mu      sync.Mutex // guards every ledger, those of the runs too
	session ledger

	slots sync.Map // by key and number: chan struct{}, one slot for each call at once
}

// A ledger is what was used of each budget, by its key: in one run, or in one
// session.
type ledger map[string]*use

type use struct {
	calls int
	bytes int64               // of results
	sums  map[string]*big.Rat // of arguments
}

func (l ledger) of(key string) *use {
	u := l[key]
	if u == nil {
		u = &use{sums: map[string]*big.Rat{}}
		l[key] = u
	}
	return u
}

func (u *use) sum(argument string) *big.Rat {
	s := u.sums[argument]
	if s == nil {
		s = new(big.Rat)
		u.sums[argument] = s
	}
	return s
}

// A share is one budget that a call draws from.
type share struct {
	policy.Budget
	key  string
	of   string // in a denial, after "calls": "" for those of the rule
	sums []policy.Sum
}

// shares are the budgets of a call, from the narrowest to the widest.
func shares(p *policy.Profile, server string, rule policy.Rule) []share {
	return []share{
		{Budget: rule.Budget, key: "rule\x00" + rule.ID, sums: rule.Sums},
		{Budget: p.MountBudget(server), key: "server\x00" + server, of: " of server " + server},
		{Budget: p.Budget, key: "profile", of: " of the profile"},
	}
}

// A reservation is a call's part of its budgets, taken before it is sent.
type reservation struct {
	budget  *budget
	subject string // names the call and whose rules it is under
	run     ledger
	shares  []share
	amounts map[string]*big.Rat // of the arguments that are summed
}

// reserve takes a call's part of all its budgets, or of none of them: then the
// error says which is used up.
func (b *budget) reserve(subject string, run ledger, list []share, args json.RawMessage) (*reservation, error) {
	r := &reservation{budget: b, subject: subject, run: run, shares: list, amounts: map[string]*big.Rat{}}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range list {
		if err := r.calls(s); err != nil {
			return nil, err
		}
		if err := r.bytes(s); err != nil {
			return nil, err
		}
		for _, sum := range s.sums {
			if err := r.sum(s, sum, args); err != nil {
				return nil, err
			}
		}
	}
	r.add(1)
	return r, nil
}

func (r *reservation) calls(s share) error {
	if used := r.run.of(s.key).calls; s.PerRun >= 0 && used >= s.PerRun {
		return r.used(s.Pos, fmt.Sprintf("%d of %d calls%s", used, s.PerRun, s.of), "run")
	}
	if used := r.budget.session.of(s.key).calls; s.PerSession >= 0 && used >= s.PerSession {
		return r.used(s.Pos, fmt.Sprintf("%d of %d calls%s", used, s.PerSession, s.of), "session")
	}
	return nil
}

func (r *reservation) bytes(s share) error {
	if used := r.run.of(s.key).bytes; s.BytesPerRun >= 0 && used >= s.BytesPerRun {
		return r.used(s.Pos, fmt.Sprintf("%d of %d bytes of results%s", used, s.BytesPerRun, s.of), "run")
	}
	if used := r.budget.session.of(s.key).bytes; s.BytesPerSession >= 0 && used >= s.BytesPerSession {
		return r.used(s.Pos, fmt.Sprintf("%d of %d bytes of results%s", used, s.BytesPerSession, s.of), "session")
	}
	return nil
}

// sum checks the sum of an argument. One that cannot be counted is refused:
// what the server takes instead of it is not known, and a negative one would
// fill the budget up again.
func (r *reservation) sum(s share, sum policy.Sum, args json.RawMessage) error {
	var fields map[string]json.RawMessage
	json.Unmarshal(args, &fields)
	for name := range fields {
		if name != sum.Argument && strings.EqualFold(name, sum.Argument) {
			return refuse("policy", "%s (%s): %s: some servers would take it for %s, which is summed up: they differ in upper and lower case alone", r.subject, sum.Pos, clip(name), sum.Argument)
		}
	}
	n, ok := amount(fields[sum.Argument])
	if !ok {
		return refuse("policy", "%s (%s): %s is summed up, and must be a number that is not negative", r.subject, sum.Pos, sum.Argument)
	}
	r.amounts[sum.Argument] = n
	for _, limit := range []struct {
		most   float64
		used   *big.Rat
		period string
	}{
		{sum.PerRun, r.run.of(s.key).sum(sum.Argument), "run"},
		{sum.PerSession, r.budget.session.of(s.key).sum(sum.Argument), "session"},
	} {
		if math.IsInf(limit.most, 1) {
			continue
		}
		text := strconv.FormatFloat(limit.most, 'f', -1, 64)
		most, ok := new(big.Rat).SetString(text)
		if !ok || new(big.Rat).Add(limit.used, n).Cmp(most) > 0 {
			return r.used(sum.Pos, fmt.Sprintf("%s of %s of the sum of %s", decimal(limit.used), text, sum.Argument), limit.period)
		}
	}
	return nil
}

func (r *reservation) used(pos policy.Pos, what, period string) error {
	return refuse("policy", "%s (%s): %s per %s are used; they come back with the next %s", r.subject, pos, what, period, period)
}

// add counts the call, or with -1 takes it back. The caller holds the mutex.
func (r *reservation) add(sign int) {
	for _, s := range r.shares {
		for _, l := range []ledger{r.run, r.budget.session} {
			u := l.of(s.key)
			u.calls += sign
			for _, sum := range s.sums {
				n := new(big.Rat).Mul(r.amounts[sum.Argument], big.NewRat(int64(sign), 1))
				u.sum(sum.Argument).Add(u.sum(sum.Argument), n)
			}
		}
	}
}

// giveBack is for a call that was never sent.
func (r *reservation) giveBack() {
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	r.add(-1)
}

// took counts the bytes of the call's result. The error is for one that is
// more than was left; it counts none the less, because the call was made.
func (r *reservation) took(n int) error {
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	var err error
	for _, s := range r.shares {
		run, session := r.run.of(s.key), r.budget.session.of(s.key)
		run.bytes += int64(n)
		session.bytes += int64(n)
		switch {
		case err != nil:
		case s.BytesPerRun >= 0 && run.bytes > s.BytesPerRun:
			err = r.tooMany(s, n, run.bytes-int64(n), s.BytesPerRun, "run")
		case s.BytesPerSession >= 0 && session.bytes > s.BytesPerSession:
			err = r.tooMany(s, n, session.bytes-int64(n), s.BytesPerSession, "session")
		}
	}
	return err
}

func (r *reservation) tooMany(s share, n int, used, most int64, period string) error {
	return refuse("policy", "%s (%s): the result has %d bytes, and %d of %d bytes of results%s per %s were used before it; the call was made",
		r.subject, s.Pos, n, used, most, s.of, period)
}

// slot waits until no more calls are under way than each of the budgets
// allows at once. What it returns gives the slot back.
func (b *budget) slot(ctx context.Context, list []share) (func(), error) {
	var held []chan struct{}
	leave := func() {
		for _, c := range held {
			<-c
		}
	}
	for _, s := range list { // always from narrow to wide, so that no two wait for each other
		if s.Parallel < 0 {
			continue
		}
		slots, _ := b.slots.LoadOrStore(fmt.Sprintf("%s\x00%d", s.key, s.Parallel), make(chan struct{}, max(s.Parallel, 1)))
		c := slots.(chan struct{})
		select {
		case c <- struct{}{}:
			held = append(held, c)
		case <-ctx.Done():
			leave()
			return nil, context.Cause(ctx)
		}
	}
	return leave, nil
}

// amount is a number that is not negative, exactly as it is written.
func amount(raw json.RawMessage) (*big.Rat, bool) {
	const longest, largest, smallest = 64, 1e30, 1e-30 // more would only cost time
	f, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil || len(raw) > longest || f < 0 || f > largest || !json.Valid(raw):
		return nil, false
	case f < smallest:
		return new(big.Rat), f == 0
	}
	return new(big.Rat).SetString(string(raw))
}

func decimal(n *big.Rat) string {
	f, _ := n.Float64()
	return strconv.FormatFloat(f, 'f', -1, 64)
}
