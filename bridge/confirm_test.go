package bridge

import (
	"context"
	"encoding/json"
	"slices"
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
		_, err := c.confirm(ctx, Question{Server: "s", Tool: tool}, json.RawMessage("{}"))
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
			if _, err := c.confirm(ctx, Question{Server: "s", Tool: string("abc"[i%3])}, args); err != nil {
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

// All that is approved is shown in full, in as many questions as it takes.
func TestQuestionShowsAll(t *testing.T) {
	long := json.RawMessage(`"` + strings.Repeat("x", maxShown-2) + `"`)
	q := Question{Server: "s", Tool: "t", Calls: []json.RawMessage{
		json.RawMessage("{\"a\":\"\u202egnp.exe\"}"), long, json.RawMessage(`3`), json.RawMessage(`4`),
	}}
	var texts []string
	for _, part := range q.parts() {
		texts = append(texts, part.Text())
	}
	want := []string{
		"Allow a call of s.t with these arguments?\n" + `{"a":"\u202egnp.exe"}` + "\nThe rule is at .",
		"Allow a call of s.t with these arguments?\n" + string(long) + "\nThe rule is at .",
		"Allow 2 calls of s.t with these arguments?\n3\n4\nThe rule is at .",
	}
	if !slices.Equal(texts, want) {
		t.Errorf("got  %q\nwant %q", texts, want)
	}
	asked := 0
	c, ctx := asking(t, func(context.Context, Question) (Answer, error) { asked++; return Once, nil })
	// Escapes count as they are shown.
	for _, args := range []string{`"` + strings.Repeat("x", maxShown-1) + `"`, `"` + strings.Repeat("\u202e", maxShown/6+1) + `"`} {
		if _, err := c.confirm(ctx, q, json.RawMessage(args)); err == nil || !strings.Contains(err.Error(), "and a question shows at most 8000") {
			t.Errorf("too large to be shown: %v", err)
		}
	}
	if asked > 0 {
		t.Error("asked about what cannot be shown")
	}
}

// A part that is denied denies those that come after it, and none before.
func TestPartThatIsDenied(t *testing.T) {
	asked := 0
	c, ctx := asking(t, func(context.Context, Question) (Answer, error) {
		asked++
		return []Answer{Once, Deny}[asked-1], nil
	})
	var calls sync.WaitGroup
	var mu sync.Mutex
	allowed := 0
	for range 3 {
		calls.Go(func() {
			seen, err := c.confirm(ctx, Question{Server: "s", Tool: "t"}, json.RawMessage(`"`+strings.Repeat("x", 5000)+`"`))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				allowed++
				if seen.Answer != "once" || len(seen.SHA256) != 64 {
					t.Errorf("%+v", seen)
				}
			}
		})
	}
	calls.Wait()
	if asked != 2 || allowed != 1 {
		t.Errorf("asked %d times, %d allowed", asked, allowed)
	}
}
