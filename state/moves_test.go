package state_test

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"herald/platforms"
	"herald/state"
)

var update = flag.Bool("update", false, "rewrite generated parts of documents")

var (
	allStates = []state.State{
		state.Queued, state.Sending, state.Uncertain, state.Reviewing, state.Published, state.Updating,
		state.Withdrawing, state.Withdrawn, state.Rejected, state.Failed, state.Stuck, state.Canceled,
	}
	allVerbs = []state.Verb{
		state.Begin, state.Land, state.Accept, state.Delay, state.Lose, state.Miss, state.Reject, state.Fail,
		state.Cancel, state.Retry, state.Revise, state.Withdraw, state.Gone, state.Republish, state.Observe,
	}
	now = time.Date(2026, 6, 17, 1, 0, 0, 0, time.UTC)
)

func TestEveryMoveIsInTheTableOnceAndEveryOtherIsAnError(t *testing.T) {
	table := map[string]state.State{}
	for _, m := range state.Moves() {
		key := string(m.From) + " " + string(m.Verb)
		if _, twice := table[key]; twice {
			t.Errorf("%s stands in the table twice", key)
		}
		table[key] = m.To
	}
	for _, from := range allStates {
		for _, verb := range allVerbs {
			d := state.Delivery{Article: "a", Target: "blog", State: from}
			got, err := d.Apply(state.Event{Verb: verb, At: now, Due: now.Add(time.Hour)})
			want, legal := table[string(from)+" "+string(verb)]
			if legal != (err == nil) || (legal && got.State != want) {
				t.Errorf("%s, %s: got %s, %v; want %q, legal %v", from, verb, got.State, err, want, legal)
			}
			if !legal && !strings.Contains(err.Error(), string(from)) {
				t.Errorf("%s, %s: error %q does not say where it stood", from, verb, err)
			}
		}
	}
}

func TestEveryStateCanBeReachedAndLeftOrIsFinal(t *testing.T) {
	reached := map[state.State]bool{state.Queued: true}
	left := map[state.State]bool{}
	for range allStates {
		for _, m := range state.Moves() {
			if reached[m.From] {
				reached[m.To] = true
			}
			if m.To != m.From {
				left[m.From] = true
			}
		}
	}
	for _, s := range allStates {
		if !reached[s] || !left[s] {
			t.Errorf("%s: reached %v, left %v; want both", s, reached[s], left[s])
		}
	}
}

// Only a look-up or a person leads from an open outcome back to sending: there is
// no move from uncertain to sending, and begin starts in queued alone.
func TestNothingIsSentTwiceWithoutALookUpBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := state.Delivery{Article: "a", Target: "blog", State: state.Queued, Generation: 1, Revision: 1}
		open := false // a call's outcome is not known
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			var legal []state.Verb
			for _, m := range state.Moves() {
				if m.From == d.State {
					legal = append(legal, m.Verb)
				}
			}
			verb := rapid.SampledFrom(legal).Draw(t, "verb")
			before := d
			var err error
			d, err = d.Apply(state.Event{Verb: verb, At: now.Add(time.Duration(i) * time.Second), Due: now, Doubt: state.DoubtLost, Receipt: platforms.Receipt{ID: "1"}})
			if err != nil {
				t.Fatal(err)
			}
			if verb == state.Begin && open {
				t.Fatalf("begin while the outcome of a call is open: %+v", before)
			}
			switch {
			case verb == state.Lose && before.State == state.Sending:
				open = true
			case before.State == state.Uncertain && d.State != state.Uncertain:
				open = false
			}
			if d.Spent < 0 || d.Attempts < before.Attempts && verb != state.Republish {
				t.Fatalf("attempts went backwards: %+v", d)
			}
			if len(d.History) > 40 {
				t.Fatalf("history has %d entries", len(d.History))
			}
		}
	})
}

func TestAnEventDoesWhatItsVerbSays(t *testing.T) {
	fail := &state.Failure{Kind: platforms.Unavailable, Message: "down", At: now}
	queued := state.Delivery{Article: "a", Target: "blog", State: state.Queued, Generation: 1, Revision: 3}
	apply := func(d state.Delivery, events ...state.Event) state.Delivery {
		t.Helper()
		for _, e := range events {
			var err error
			if d, err = d.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	begin := state.Event{Verb: state.Begin, At: now, Due: now.Add(time.Minute)}
	land := state.Event{Verb: state.Land, At: now.Add(time.Second), Receipt: platforms.Receipt{ID: "7", URL: "u"}}

	sending := apply(queued, begin)
	if sending.Attempts != 1 || sending.Spent != 1 || sending.Sent != 3 || !sending.Begun.Equal(now) || !sending.Due.Equal(now.Add(time.Minute)) {
		t.Errorf("begin: got %+v", sending)
	}
	again := apply(sending, state.Event{Verb: state.Delay, At: now, Due: now.Add(time.Hour), Failure: fail}, state.Event{Verb: state.Begin, At: now.Add(time.Hour)})
	if again.Attempts != 2 || again.Spent != 2 || !again.Begun.Equal(now) || !again.LastBegun.Equal(now.Add(time.Hour)) {
		t.Errorf("second begin: got %+v", again)
	}
	free := apply(sending, state.Event{Verb: state.Delay, At: now, Due: now, Failure: fail, Free: true})
	if free.Attempts != 1 || free.Spent != 0 {
		t.Errorf("free delay: got %d attempts, %d spent; want 1, 0", free.Attempts, free.Spent)
	}
	published := apply(again, land)
	if published.Landed != 3 || published.Error != nil || !published.Due.IsZero() || published.Receipt.ID != "7" || !published.PublishedAt.Equal(land.At) {
		t.Errorf("land: got %+v", published)
	}
	published.Revision = 4
	if !published.Outdated() {
		t.Error("a published revision 3 of 4 is not outdated")
	}
	updating := apply(published, state.Event{Verb: state.Revise, At: now, Due: now})
	if kept := apply(updating, state.Event{Verb: state.Fail, At: now, Failure: fail}); kept.State != state.Published || kept.Error == nil || kept.Landed != 3 {
		t.Errorf("failed update: got %+v", kept)
	}
	updated := apply(updating, state.Event{Verb: state.Land, At: now.Add(time.Hour), Receipt: published.Receipt, Revision: 4})
	if updated.Landed != 4 || updated.Outdated() || !updated.PublishedAt.Equal(land.At) {
		t.Errorf("update: got %+v", updated)
	}
	renewed := apply(updated, state.Event{Verb: state.Republish, At: now, Due: now})
	if renewed.Generation != 2 || renewed.Attempts != 0 || renewed.Receipt.ID != "" || !renewed.Begun.IsZero() || renewed.IdempotencyKey() == updated.IdempotencyKey() {
		t.Errorf("republish: got %+v", renewed)
	}
	lost := apply(sending, state.Event{Verb: state.Lose, At: now, Due: now, Doubt: state.DoubtLost, Failure: fail})
	looked := apply(lost, state.Event{Verb: state.Delay, At: now, Due: now, Absent: true}, state.Event{Verb: state.Delay, At: now, Due: now})
	if looked.LookUps != 2 || looked.Absences != 1 {
		t.Errorf("two look-ups, one found nothing: got %d, %d", looked.LookUps, looked.Absences)
	}
}

func TestTheHistoryIsBoundedAndKeepsBothEnds(t *testing.T) {
	d := state.Delivery{State: state.Queued}
	for i := range 500 {
		var err error
		if d, err = d.Apply(state.Event{Verb: state.Delay, At: now.Add(time.Duration(i) * time.Second)}); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.History) != 40 || !d.History[0].At.Equal(now) || !d.History[39].At.Equal(now.Add(499*time.Second)) {
		t.Errorf("got %d entries from %v to %v", len(d.History), d.History[0].At, d.History[len(d.History)-1].At)
	}
	if !slices.IsSortedFunc(d.History, func(a, b state.Entry) int { return a.At.Compare(b.At) }) {
		t.Error("the history is not in order")
	}
}

func TestHeldTimeIsCountedOnceAndEndsByItself(t *testing.T) {
	h := state.Hold{Account: "a", Kind: platforms.RateLimited, Since: now, Until: now.Add(time.Hour), Total: time.Minute}
	for at, want := range map[time.Duration]time.Duration{0: time.Minute, 30 * time.Minute: 31 * time.Minute, 5 * time.Hour: 61 * time.Minute} {
		if got := h.Held(now.Add(at)); got != want {
			t.Errorf("after %s: got %s, want %s", at, got, want)
		}
	}
	cleared := h.Clear(now.Add(10 * time.Minute))
	if cleared.Active(now) || cleared.Held(now.Add(24*time.Hour)) != 11*time.Minute {
		t.Errorf("cleared: got %+v", cleared)
	}
	h.ForPerson = true
	if !h.Active(now.Add(48*time.Hour)) || h.Held(now.Add(2*time.Hour)) != 2*time.Hour+time.Minute {
		t.Errorf("a hold for a person ended by time: %+v", h)
	}
}

// The README shows the moves and the failure table as they are in the code.
func TestTheReadmeShowsTheTablesOfTheCode(t *testing.T) {
	for _, file := range []string{"../README.md", "../README.zh-CN.md"} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := string(raw)
		want := replaceBlock(t, replaceBlock(t, got, "moves", movesPicture()), "failures", failureTable())
		if *update && got != want {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s is not as the code says; run go test ./state -update (-want +got):\n%s", file, diff)
		}
	}
}

func replaceBlock(t *testing.T, text, name, content string) string {
	t.Helper()
	block := regexp.MustCompile(`(?s)<!-- ` + name + ` -->.*?<!-- /` + name + ` -->`)
	if !block.MatchString(text) {
		t.Fatalf("no block %q", name)
	}
	return block.ReplaceAllLiteralString(text, "<!-- "+name+" -->\n"+content+"<!-- /"+name+" -->")
}

func movesPicture() string {
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n    [*] --> queued\n")
	for _, m := range state.Moves() {
		b.WriteString("    " + string(m.From) + " --> " + string(m.To) + ": " + string(m.Verb) + "\n")
	}
	b.WriteString("```\n")
	return b.String()
}

func failureTable() string {
	effect := map[platforms.Effect]string{platforms.Failure: "failure", platforms.Neutral: "neutral", platforms.Healthy: "healthy"}
	then := map[platforms.Reaction]string{
		platforms.RetryLater:    "again, with backoff",
		platforms.HoldUntil:     "hold the target until its time",
		platforms.HoldForPerson: "hold the target for a person, probe slowly",
		platforms.StopRejected:  "stop, needs a person",
		platforms.LookElseRetry: "look up: there → adopt, absent → again",
		platforms.LookElseStop:  "look up: there → adopt, absent → rejected",
		platforms.LookElseFail:  "look up: there → adopt, absent → failed",
	}
	var b strings.Builder
	b.WriteString("| kind | class | the breaker counts it as | attempt | then |\n|---|---|---|---|---|\n")
	for _, m := range platforms.Meanings() {
		attempt := "free"
		if m.Spent {
			attempt = "spent"
		}
		b.WriteString("| `" + string(m.Kind) + "` | " + string(m.Class) + " | " + effect[m.Breaker] + " | " + attempt + " | " + then[m.Reaction] + " |\n")
	}
	return b.String()
}
