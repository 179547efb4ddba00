package compensate_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/article"
	"herald/compensate"
	"herald/platforms"
	"herald/state"
)

func together(a *article.Article) { a.Consistency = article.AllOrNothing }

func TestAllOrNothingTakesBackWhatWasPublishedOnceOneNeverWillBe(t *testing.T) {
	for name, c := range map[string]struct {
		faults []fault
		cause  state.State
	}{
		"rejected": {[]fault{{kind: platforms.Rejected, code: "45166"}}, state.Rejected},
		"time up":  {repeat(fault{kind: platforms.Unavailable}, 100), state.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b, slow := &base{}, &base{}, &base{}
				b.on("publish", c.faults...)
				slow.on("publish", fault{hang: true, stored: true})
				w := newWorld(t, map[string]platforms.Platform{"a": whole{a}, "b": whole{b}, "slow": whole{slow}})
				w.admit("x", together)
				w.pass(200 * time.Hour)
				w.is("x", "b", c.cause)
				for target, p := range map[string]*base{"a": a, "slow": slow} {
					w.is("x", target, state.Withdrawn)
					if len(p.stored()) != 0 {
						t.Errorf("%s still has %v", target, p.stored())
					}
				}
				rep := w.report("x")
				if rep.Backward == nil || rep.Backward.Target != "b" || !strings.Contains(rep.Backward.Why, string(c.cause)) {
					t.Errorf("the direction is not told: %+v", rep.Backward)
				}
			})
		})
	}
}

func repeat(f fault, n int) (all []fault) {
	for range n {
		all = append(all, f)
	}
	return all
}

func TestABestEffortArticleKeepsWhatItHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &base{}, &base{}
		b.on("publish", fault{kind: platforms.Rejected})
		w := newWorld(t, map[string]platforms.Platform{"a": whole{a}, "b": whole{b}})
		w.admit("x")
		w.pass(time.Hour)
		w.is("x", "a", state.Published)
	})
}

func TestWhatCannotBeTakenBackComesLastOrNotAtAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, last := &base{}, &base{}
		a.on("publish", fault{kind: platforms.Unavailable})
		w := newWorld(t, map[string]platforms.Platform{"a": whole{a}, "last": last})
		w.admit("x", together)
		w.pass(5 * time.Minute)
		if rep := w.report("x").Deliveries[1]; last.count("publish") != 0 || rep.NeedsPerson() || !strings.Contains(rep.Hint, "comes last") {
			t.Fatalf("it began before the others, or nobody is told why: %+v", rep)
		}
		w.pass(time.Hour)
		w.is("x", "a", state.Published)
		w.is("x", "last", state.Published)

		a.on("publish", fault{kind: platforms.Rejected})
		w.admit("y", together)
		w.pass(time.Hour)
		w.is("y", "last", state.Canceled)
		if last.count("publish") != 1 {
			t.Errorf("y was sent to the platform that cannot take it back")
		}
	})
}

func TestWhatCannotBeTakenBackStaysAndIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &base{}, &base{}
		b.on("publish", fault{kind: platforms.Unavailable}, fault{kind: platforms.Rejected})
		w := newWorld(t, map[string]platforms.Platform{"a": a, "b": b}) // neither can
		w.admit("x", together)
		w.pass(time.Hour)
		w.is("x", "a", state.Published)
		w.is("x", "b", state.Rejected)
		if rep := w.report("x"); rep.State != state.ArticlePartial || !strings.Contains(rep.Deliveries[0].Hint, "it stays") {
			t.Errorf("got %s, hint %q", rep.State, rep.Deliveries[0].Hint)
		}
	})
}

func TestARetryTurnsTheDirectionRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &base{}, &base{}
		b.on("publish", fault{kind: platforms.Rejected})
		w := newWorld(t, map[string]platforms.Platform{"a": whole{a}, "b": whole{b}})
		w.admit("x", together)
		w.pass(time.Hour)
		w.is("x", "a", state.Withdrawn)
		if _, err := w.driver.Retry("x", "", time.Now()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Hour)
		w.is("x", "a", state.Published)
		w.is("x", "b", state.Published)
		if rep := w.report("x"); rep.Backward != nil || rep.State != state.ArticleSuccess || len(a.stored()) != 1 {
			t.Errorf("got %s, direction %+v, %d posts", rep.State, rep.Backward, len(a.stored()))
		}
	})
}

// The post is still being taken back when a person wants the article forward: it
// is published again once that has ended, and is there once.
func TestARetryDuringAWithdrawalPublishesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &base{}, &base{}
		b.on("publish", fault{kind: platforms.Rejected})
		a.on("withdraw", fault{kind: platforms.Unavailable})
		w := newWorld(t, map[string]platforms.Platform{"a": whole{a}, "b": whole{b}})
		w.admit("x", together)
		w.pass(time.Second)
		w.is("x", "a", state.Withdrawing)
		if _, err := w.driver.Retry("x", "b", time.Now()); err != nil {
			t.Fatal(err)
		}
		if d := w.is("x", "a", state.Withdrawing); d.Wish != state.WishRepublish {
			t.Errorf("got wish %q, want republish", d.Wish)
		}
		w.pass(time.Hour)
		w.is("x", "a", state.Published)
		w.is("x", "b", state.Published)
		if rep := w.report("x"); rep.State != state.ArticleSuccess || len(a.stored()) != 1 || len(b.stored()) != 1 {
			t.Errorf("got %s, %d and %d posts", rep.State, len(a.stored()), len(b.stored()))
		}
	})
}

// The last word counts: what was to be published again is not, if it is canceled
// before that.
func TestACancelDuringAWithdrawalIsTheLastWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &base{}, &base{}
		b.on("publish", fault{kind: platforms.Rejected})
		a.on("withdraw", fault{kind: platforms.Unavailable})
		w := newWorld(t, map[string]platforms.Platform{"a": whole{a}, "b": whole{b}})
		w.admit("x", together)
		w.pass(time.Second)
		w.command(w.driver.Retry("x", "b", time.Now()))
		w.command(w.driver.Cancel("x", "a", time.Now()))
		w.pass(time.Hour)
		w.is("x", "a", state.Withdrawn)
		w.is("x", "b", state.Published)
		if len(a.stored()) != 0 || a.count("publish") != 1 {
			t.Errorf("got %d posts after %d calls, want it to stay withdrawn", len(a.stored()), a.count("publish"))
		}
	})
}

// The author mends what was rejected and drops the file again.
func TestAnEditedArticleTurnsTheDirectionRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &base{}, &base{}
		b.on("publish", fault{kind: platforms.Rejected})
		w := newWorld(t, map[string]platforms.Platform{"a": whole{a}, "b": whole{b}})
		w.admit("x", together)
		w.pass(time.Hour)
		w.is("x", "a", state.Withdrawn)
		w.admit("x", together, func(src *article.Article) { src.Hash = "x-2" })
		w.pass(time.Hour)
		w.is("x", "a", state.Published)
		w.is("x", "b", state.Published)
		if rep := w.report("x"); rep.Backward != nil || rep.State != state.ArticleSuccess || len(a.stored()) != 1 || len(b.stored()) != 1 {
			t.Errorf("got %s, direction %+v, %d and %d posts", rep.State, rep.Backward, len(a.stored()), len(b.stored()))
		}
	})
}

func TestADirectionSurvivesARestartInItsMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &base{}, &base{}
		b.on("publish", fault{kind: platforms.Rejected})
		a.on("withdraw", repeat(fault{kind: platforms.Unavailable}, 3)...)
		w := newWorld(t, map[string]platforms.Platform{"a": whole{a}, "b": whole{b}})
		w.admit("x", together)
		w.pass(15 * time.Minute)
		w.is("x", "a", state.Withdrawing)
		w.halt()
		w.start()
		w.pass(24 * time.Hour)
		w.is("x", "a", state.Withdrawn)
	})
}

// A delivery that waits for all others must not wait for ever when that is no
// longer asked for, or when there is nobody left to wait for.
func TestWhatComesLastIsReleasedWhenItsReasonHasGone(t *testing.T) {
	for name, c := range map[string]struct {
		first func(*article.Article)
		held  bool // the target that can take a post back fails until the end
		then  func(w *world)
	}{
		"the article is best effort now": {
			first: together, held: true,
			then: func(w *world) { w.admit("x") },
		},
		"the target is added when the others are published": {
			first: func(a *article.Article) { together(a); a.Platforms = []string{"a"} },
			then:  func(w *world) { w.admit("x", together) },
		},
		"a person cancels what is waited for": {
			first: together, held: true,
			then: func(w *world) { w.command(w.driver.Cancel("x", "a", time.Now())) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := &base{}, &base{}
				if c.held {
					a.on("publish", fault{kind: platforms.Unavailable, retryIn: 5 * time.Hour})
				}
				w := newWorld(t, map[string]platforms.Platform{"a": whole{a}, "b": b})
				w.admit("x", c.first)
				w.pass(time.Minute)
				if n := b.count("publish"); n != 0 {
					t.Fatalf("it was published %d times before the others", n)
				}
				c.then(w)
				w.pass(time.Minute)
				w.is("x", "b", state.Published)
			})
		})
	}
}

// command demands that a person's command applies.
func (w *world) command(_ []compensate.Change, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}
