package bridge

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"
)

// asking is a confirmer for a run of a minute whose person is ask.
func asking(t *testing.T, ask Ask) (*confirmer, context.Context) {
	clock, ctx, cancel := newClock(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return newConfirmer(ask, clock), ctx
}

func TestPersonWhoDoesNotAnswerIsNotAskedAgain(t *testing.T) {
	asked := 0
	c, ctx := asking(t, func(ctx context.Context, _ Question) (Answer, error) {
		asked++
		<-ctx.Done()
		return Deny, ctx.Err()
	})
	c.patience = time.Millisecond
	for _, tool := range []string{"a", "b", "a"} {
		err := c.confirm(ctx, Question{Server: "s", Tool: tool}, json.RawMessage("{}"))
		if want := "nobody answered within 1ms, and nobody is asked again in this run"; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", tool, err, want)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	if ctx.Err() != nil {
		t.Error("the run was stopped")
	}
}

// Every call is in exactly one question, whenever it is made, and one question
// is shown at a time.
func TestEveryCallIsShownOnce(t *testing.T) {
	shown, showing := map[string]int{}, 0
	var mu sync.Mutex
	c, ctx := asking(t, func(_ context.Context, q Question) (Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		if showing++; showing > 1 {
			t.Error("two questions at once")
		}
		for _, args := range q.Calls {
			shown[string(args)]++
		}
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		showing--
		return Once, nil
	})
	var calls sync.WaitGroup
	for i := range 100 {
		args, _ := json.Marshal(i)
		calls.Go(func() {
			time.Sleep(time.Duration(i) * time.Millisecond)
			if err := c.confirm(ctx, Question{Server: "s", Tool: string("abc"[i%3])}, args); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	calls.Wait()
	if len(shown) != 100 {
		t.Errorf("%d of 100 calls were shown", len(shown))
	}
	for args, n := range shown {
		if n != 1 {
			t.Errorf("%s was shown %d times", args, n)
		}
	}
}

func TestClockStandsStillWhileAPersonIsAsked(t *testing.T) {
	clock, ctx, cancel := newClock(t.Context(), 50*time.Millisecond)
	defer cancel()
	first, second := clock.pause(), clock.pause()
	time.Sleep(60 * time.Millisecond)
	first()
	if ctx.Err() != nil {
		t.Fatal("the time is over, though somebody is asked")
	}
	second()
	<-ctx.Done()
	if cause := context.Cause(ctx); cause != context.DeadlineExceeded {
		t.Errorf("the cause is %v", cause)
	}
}

func TestQuestionShowsWhatItCan(t *testing.T) {
	q := Question{Server: "s", Tool: "t", Calls: []json.RawMessage{
		json.RawMessage("{\"a\":\"\u202egnp.exe\"}"), json.RawMessage(`"` + strings.Repeat("x", maxShown) + `"`), json.RawMessage(`3`),
	}}
	want := "Allow 3 calls of s.t with these arguments?\n" + `{"a":"\u202egnp.exe"}` + "\nand 2 more calls, whose arguments are not shown\nThe rule is at ."
	if got := q.Text(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
