package compensate_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"herald/compensate"
	"herald/internal/config"
	"herald/platforms"
	"herald/publisher"
	"herald/state"
)

var noon = time.Date(2026, 6, 17, 4, 0, 0, 0, time.UTC)

func decide(st state.State, kind platforms.Kind, change ...func(*state.Delivery, *compensate.Answer, *compensate.Context)) (state.Event, *state.Hold) {
	d := state.Delivery{
		Article: "a", Target: "t", State: st, Generation: 1, Revision: 1, Sent: 1, Attempts: 1, Spent: 1,
		Since: noon.Add(-time.Hour), Begun: noon.Add(-time.Minute), LastBegun: noon.Add(-time.Minute),
	}
	c := compensate.Context{Settings: settings("t"), Hold: state.Hold{Account: "t"}, CanFind: true, Now: noon, Random: 0.5}
	a := compensate.Answer{Op: "call", Revision: 1, Receipt: platforms.Receipt{ID: "1"}}
	if kind != "" {
		a.Outcome = publisher.Outcome{Err: &platforms.Error{Platform: "fake", Kind: kind, Code: "c", Message: "m"}}
	}
	for _, f := range change {
		f(&d, &a, &c)
	}
	return compensate.Decide(d, a, c)
}

func TestEveryKindOfFailureHasOneReactionInEveryState(t *testing.T) {
	type want struct {
		verb state.Verb
		hold bool
	}
	delay, lose, reject, fail, held := want{state.Delay, false}, want{state.Lose, false}, want{state.Reject, false}, want{state.Fail, false}, want{state.Delay, true}
	for _, c := range []struct {
		kind                                                 platforms.Kind
		sending, uncertain, reviewing, updating, withdrawing want
	}{
		{platforms.Unavailable, delay, delay, delay, delay, delay},
		{platforms.RateLimited, held, held, held, held, held},
		{platforms.Dependency, delay, delay, delay, delay, delay},
		{platforms.Unauthorized, held, held, held, held, held},
		{platforms.Rejected, reject, delay, reject, fail, fail},
		{platforms.Invalid, reject, delay, reject, fail, fail},
		{platforms.Exists, lose, delay, lose, delay, delay},
		{platforms.Uncertain, lose, delay, lose, delay, delay},
		{platforms.Unknown, lose, delay, lose, delay, delay},
	} {
		for st, want := range map[state.State]want{
			state.Sending: c.sending, state.Uncertain: c.uncertain, state.Reviewing: c.reviewing,
			state.Updating: c.updating, state.Withdrawing: c.withdrawing,
		} {
			e, hold := decide(st, c.kind)
			holds := hold != nil && hold.Active(noon)
			if e.Verb != want.verb || holds != want.hold {
				t.Errorf("%s while %s: got %s, hold %v; want %s, %v", c.kind, st, e.Verb, holds, want.verb, want.hold)
			}
			if _, err := state.Next(st, e.Verb); err != nil {
				t.Errorf("%s while %s: %v", c.kind, st, err)
			}
			if e.Failure == nil || e.Failure.Kind != c.kind || e.Failure.Code != "c" {
				t.Errorf("%s while %s: failure is %+v", c.kind, st, e.Failure)
			}
		}
	}
}

func TestHalfOpenProbesAndStopsAreFree(t *testing.T) {
	for name, c := range map[string]struct {
		kind   platforms.Kind
		change func(*state.Delivery, *compensate.Answer, *compensate.Context)
		free   bool
	}{
		"a failure":            {platforms.Unavailable, func(*state.Delivery, *compensate.Answer, *compensate.Context) {}, false},
		"a half-open probe":    {platforms.Unavailable, func(_ *state.Delivery, a *compensate.Answer, _ *compensate.Context) { a.Trial = true }, true},
		"a stop":               {platforms.Unavailable, func(_ *state.Delivery, a *compensate.Answer, _ *compensate.Context) { a.Interrupted = true }, true},
		"a rate limit":         {platforms.RateLimited, func(*state.Delivery, *compensate.Answer, *compensate.Context) {}, true},
		"a refused credential": {platforms.Unauthorized, func(*state.Delivery, *compensate.Answer, *compensate.Context) {}, true},
	} {
		if e, _ := decide(state.Sending, c.kind, c.change); e.Free != c.free {
			t.Errorf("%s: free is %v, want %v", name, e.Free, c.free)
		}
	}
	e, _ := decide(state.Sending, platforms.Uncertain, func(_ *state.Delivery, a *compensate.Answer, _ *compensate.Context) { a.Interrupted = true })
	if e.Verb != state.Lose {
		t.Errorf("a stop after the bytes went out: got %s, want lose", e.Verb)
	}
}

func TestAHoldGrowsWhileItsRefusalStaysAndKeepsItsBeginning(t *testing.T) {
	_, first := decide(state.Sending, platforms.Unauthorized)
	if first.Until.Sub(noon) != 15*time.Minute || !first.ForPerson || !first.Since.Equal(noon) {
		t.Fatalf("first: got %+v", first)
	}
	later := noon.Add(15 * time.Minute)
	_, second := decide(state.Sending, platforms.Unauthorized, func(_ *state.Delivery, _ *compensate.Answer, c *compensate.Context) {
		c.Hold, c.Now = *first, later
	})
	if second.Until.Sub(later) != 30*time.Minute || !second.Since.Equal(noon) {
		t.Errorf("second: got %+v", second)
	}
	if _, cleared := decide(state.Sending, "", func(_ *state.Delivery, _ *compensate.Answer, c *compensate.Context) { c.Hold, c.Now = *second, later }); cleared == nil || cleared.Kind != "" || cleared.Total != 15*time.Minute {
		t.Errorf("after a success: got %+v, want it lifted, 15m remembered", cleared)
	}
	if _, kept := decide(state.Reviewing, "", func(_ *state.Delivery, _ *compensate.Answer, c *compensate.Context) { c.Hold = *second }); kept != nil {
		t.Errorf("after a poll that succeeded: got %+v, want that the hold stays", kept)
	}
}

// Whatever is answered, in whatever state: the move is legal, its time is not in
// the past, and what waits for nobody has a time.
func TestADecisionIsLegalBoundedAndNeverInThePast(t *testing.T) {
	kinds := []platforms.Kind{""}
	for _, m := range platforms.Meanings() {
		kinds = append(kinds, m.Kind)
	}
	states := []state.State{state.Sending, state.Uncertain, state.Reviewing, state.Updating, state.Withdrawing}
	doubts := []state.Doubt{state.DoubtLost, state.DoubtCrash, state.DoubtNoID, state.DoubtExists, state.DoubtUnknown}
	rapid.Check(t, func(t *rapid.T) {
		st, kind := rapid.SampledFrom(states).Draw(t, "state"), rapid.SampledFrom(kinds).Draw(t, "kind")
		e, hold := decide(st, kind, func(d *state.Delivery, a *compensate.Answer, c *compensate.Context) {
			d.Spent = rapid.IntRange(1, 30).Draw(t, "spent")
			d.LookUps, d.Polls = rapid.IntRange(0, 100).Draw(t, "look-ups"), rapid.IntRange(0, 100).Draw(t, "polls")
			d.Absences = rapid.IntRange(0, 3).Draw(t, "absences")
			d.Doubt = rapid.SampledFrom(doubts).Draw(t, "doubt")
			a.Found.Outcome = platforms.Outcome(rapid.IntRange(0, 2).Draw(t, "found"))
			a.Found.Receipt.ID = rapid.SampledFrom([]string{"", "9"}).Draw(t, "found id")
			a.Receipt.ID = rapid.SampledFrom([]string{"", "9"}).Draw(t, "id")
			a.Receipt.Pending, a.Trial, a.Interrupted = rapid.Bool().Draw(t, "pending"), rapid.Bool().Draw(t, "trial"), kind != "" && rapid.Bool().Draw(t, "interrupted")
			c.Random = rapid.Float64Range(0, 0.999).Draw(t, "random")
			c.CanFind = rapid.Bool().Draw(t, "finder") || st == state.Uncertain
			c.Settings.Retry.Jitter = 0.2
			c.Settings.Retry.Strategy = rapid.SampledFrom([]config.Strategy{config.Exponential, config.Incremental, config.Fixed}).Draw(t, "strategy")
		})
		to, err := state.Next(st, e.Verb)
		if err != nil {
			t.Fatal(err)
		}
		final := to == state.Published || to == state.Rejected || to == state.Failed || to == state.Withdrawn || to == state.Stuck
		switch {
		case final && !e.Due.IsZero():
			t.Fatalf("%s is final and due at %v", to, e.Due)
		case !final && e.Due.IsZero() && to != state.Uncertain:
			t.Fatalf("%s waits for nothing", to)
		case !e.Due.IsZero() && e.Due.Before(noon.Add(-time.Hour)):
			t.Fatalf("due %v is before the delivery began", e.Due)
		case e.Due.After(noon.Add(8 * time.Hour)):
			t.Fatalf("due %v is beyond every limit", e.Due)
		}
		if hold != nil && hold.Kind != "" && !hold.Until.After(noon) {
			t.Fatalf("a hold that is over before it begins: %+v", hold)
		}
	})
}
