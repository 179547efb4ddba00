package compensate_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/article"
	"herald/compensate"
	"herald/internal/config"
	"herald/platforms"
	"herald/state"
)

// B22: two published, one refused for its credential; the retry touches only it.
func TestRetryTouchesOnlyWhatIsNotPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := &base{}, &base{}, &base{}
		w := newWorld(t, map[string]platforms.Platform{"a": whole{a}, "b": whole{b}, "c": whole{c}})
		c.on("publish", fault{kind: platforms.Unauthorized, code: "401"})
		w.admit("x")
		w.pass(time.Minute)
		if got := w.report("x").State; got != state.ArticlePartial {
			t.Fatalf("before: got %s, want partial_success", got)
		}
		if _, err := w.driver.Retry("x", "", time.Now()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		for target, want := range map[string]int{"a": 1, "b": 1, "c": 2} {
			if d := w.is("x", target, state.Published); d.Attempts != want {
				t.Errorf("%s: got %d attempts, want %d", target, d.Attempts, want)
			}
		}
		if got := w.report("x").State; got != state.ArticleSuccess {
			t.Errorf("after: got %s, want success", got)
		}
		changes, err := w.driver.Retry("x", "", time.Now())
		if !errors.Is(err, compensate.ErrNothing) || len(changes) != 3 {
			t.Errorf("retry of what is published: got %v, %v; want nothing to do", changes, err)
		}
	})
}

func TestRetryStartsARejectedDeliveryFromItsFirstAttempt(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		b.on("publish", fault{kind: platforms.Unavailable}, fault{kind: platforms.Rejected})
		w.admit("x")
		w.pass(time.Hour)
		w.is("x", "t", state.Rejected)
		if _, err := w.driver.Retry("x", "t", time.Now()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		if d := w.is("x", "t", state.Published); d.Attempts != 3 || d.Spent != 1 {
			t.Errorf("got %d attempts, %d spent; want 3, 1", d.Attempts, d.Spent)
		}
	})
}

func TestACanceledDeliveryIsNeverSent(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		w.admit("x", func(a *article.Article) { a.PublishAt = time.Now().Add(time.Hour) })
		if _, err := w.driver.Cancel("x", "", time.Now()); err != nil {
			t.Fatal(err)
		}
		w.pass(24 * time.Hour)
		if w.is("x", "t", state.Canceled); b.count("publish") != 0 || w.report("x").State != state.ArticleCanceled {
			t.Errorf("got %d calls, article %s", b.count("publish"), w.report("x").State)
		}
	})
}

func TestACancelDuringTheCallIsAWish(t *testing.T) {
	for _, c := range []struct {
		name   string
		stored bool
		full   bool // the platform can withdraw
		want   state.State
		posts  int
	}{
		{"it turns out not to be there", false, true, state.Canceled, 0},
		{"it turns out to be there", true, true, state.Withdrawn, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			one(t, func(t *testing.T, w *world, b *base) {
				b.on("publish", fault{hang: true, stored: c.stored})
				w.admit("x")
				w.pass(time.Second)
				changes, err := w.driver.Cancel("x", "t", time.Now())
				if err != nil || !strings.Contains(changes[0].Note, "once it is known") {
					t.Fatalf("got %v, %v", changes, err)
				}
				w.pass(2 * time.Hour)
				w.is("x", "t", c.want)
				if got := len(b.stored()); got != c.posts || b.count("publish") != 1 {
					t.Errorf("got %d posts, %d calls; want %d, 1", got, b.count("publish"), c.posts)
				}
			})
		})
	}
}

func TestAWithdrawalIsRetriedAndEndsWithdrawnOrStuck(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		b.on("withdraw", fault{kind: platforms.Unavailable}, fault{kind: platforms.Uncertain})
		w.admit("x")
		w.pass(time.Second)
		if _, err := w.driver.Withdraw("x", "", time.Now()); err != nil {
			t.Fatal(err)
		}
		w.pass(2 * time.Hour)
		w.is("x", "t", state.Withdrawn)
		if len(b.stored()) != 0 || b.count("withdraw") != 3 || w.report("x").State != state.ArticleWithdrawn {
			t.Errorf("got %d posts after %d calls, article %s", len(b.stored()), b.count("withdraw"), w.report("x").State)
		}
	})
	one(t, func(t *testing.T, w *world, b *base) {
		b.on("withdraw", fault{kind: platforms.Rejected})
		w.admit("x")
		w.pass(time.Second)
		if _, err := w.driver.Withdraw("x", "", time.Now()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Hour)
		w.is("x", "t", state.Stuck)
		if rep := w.report("x").Deliveries[0]; !rep.NeedsPerson() || rep.Hint == "" {
			t.Errorf("nobody is told: %+v", rep)
		}
		if _, err := w.driver.Retry("x", "t", time.Now()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		w.is("x", "t", state.Withdrawn)
	})
}

func TestWhatAPlatformCannotDoIsSaidAndChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &base{}
		w := newWorld(t, map[string]platforms.Platform{"t": b})
		w.admit("x")
		w.pass(time.Second)
		changes, err := w.driver.Withdraw("x", "", time.Now())
		if !errors.Is(err, compensate.ErrNothing) || !strings.Contains(changes[0].Note, "cannot take a post back") {
			t.Errorf("withdraw: got %v, %v", changes, err)
		}
		w.admit("x", revise("x-2"))
		w.pass(time.Hour)
		w.is("x", "t", state.Published)
		rep := w.report("x")
		if b.count("publish") != 1 || !strings.Contains(rep.Deliveries[0].Hint, "changed, not republished") || rep.State != state.ArticleSuccess {
			t.Errorf("edited: got %d calls, %s, hint %q", b.count("publish"), rep.State, rep.Deliveries[0].Hint)
		}
	})
}

// revise changes the content.
func revise(hash string) func(*article.Article) {
	return func(a *article.Article) { a.Hash, a.Fingerprint, a.Body = hash, hash, "改过的正文 "+hash+"\n" }
}

// B10: an edited article updates in place and makes no second post.
func TestAnEditedArticleUpdatesInPlace(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		w.admit("x")
		w.pass(time.Second)
		b.on("update", fault{kind: platforms.Uncertain})
		adm := w.admit("x", revise("x-2"))
		if adm.New || !adm.Changed || adm.Revision != 2 {
			t.Errorf("admission: got %+v", adm)
		}
		w.pass(time.Hour)
		d := w.is("x", "t", state.Published)
		posts := b.stored()
		if len(posts) != 1 || posts[0].revision != 2 || d.Landed != 2 || d.Error != nil || b.count("publish") != 1 {
			t.Errorf("got %+v, landed %d, error %v", posts, d.Landed, d.Error)
		}
	})
}

func TestAnUpdateThatFailsKeepsThePostAndTheReason(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		w.admit("x")
		w.pass(time.Second)
		b.on("update", fault{kind: platforms.Rejected, code: "45166"})
		w.admit("x", revise("x-2"))
		w.pass(48 * time.Hour)
		d := w.is("x", "t", state.Published)
		rep := w.report("x")
		if d.Error == nil || d.Error.Code != "45166" || b.count("update") != 1 || rep.State != state.ArticlePartial || !rep.NeedsPerson() {
			t.Fatalf("got %+v after %d updates, article %s", d.Error, b.count("update"), rep.State)
		}
		if _, err := w.driver.Retry("x", "t", time.Now()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		if d := w.is("x", "t", state.Published); d.Landed != 2 || d.Error != nil {
			t.Errorf("after a retry: landed %d, %v", d.Landed, d.Error)
		}
	})
}

func TestARevisionDuringTheCallIsBroughtOnceItIsKnown(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		b.on("publish", fault{hang: true, stored: true})
		w.admit("x")
		w.pass(time.Second)
		w.admit("x", revise("x-2"))
		w.pass(time.Hour)
		if d := w.is("x", "t", state.Published); d.Landed != 2 || b.count("update") != 1 || b.count("publish") != 1 {
			t.Errorf("got landed %d, %d updates, %d calls", d.Landed, b.count("update"), b.count("publish"))
		}
	})
}

func TestAnEditedArticleThatWasRejectedIsTriedAgain(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		b.on("publish", fault{kind: platforms.Rejected})
		w.admit("x")
		w.pass(time.Second)
		w.is("x", "t", state.Rejected)
		w.admit("x") // unchanged: nothing to try
		w.pass(time.Minute)
		w.is("x", "t", state.Rejected)
		w.admit("x", revise("x-2"))
		w.pass(time.Minute)
		if d := w.is("x", "t", state.Published); d.Landed != 2 {
			t.Errorf("landed: got %d, want 2", d.Landed)
		}
	})
}

func TestRepublishIsTheOneWayToASecondPost(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		w.admit("x")
		w.pass(time.Second)
		w.admit("x")
		w.pass(time.Hour)
		if got := len(b.stored()); got != 1 {
			t.Fatalf("dropped twice: got %d posts, want 1", got)
		}
		if _, err := w.driver.Republish("x", "", time.Now()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		d := w.is("x", "t", state.Published)
		posts := b.stored()
		if d.Generation != 2 || d.Attempts != 1 || len(posts) != 2 || posts[0].key == posts[1].key {
			t.Errorf("got generation %d, %d attempts, posts %+v", d.Generation, d.Attempts, posts)
		}
	})
}

func TestATargetThatIsAddedGetsItsDeliveryAndTheOthersStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &base{}, &base{}
		w := newWorld(t, map[string]platforms.Platform{"a": whole{a}, "b": whole{b}})
		w.admit("x", func(x *article.Article) { x.Platforms = []string{"a"} })
		w.pass(time.Second)
		adm := w.admit("x", func(x *article.Article) { x.Platforms = []string{"a", "b"} })
		w.pass(time.Second)
		if !slices.Equal(adm.Added, []string{"b"}) || len(a.stored()) != 1 || len(b.stored()) != 1 {
			t.Errorf("got added %v, posts %d and %d", adm.Added, len(a.stored()), len(b.stored()))
		}
	})
}

// B13: the same text under another name is held, once.
func TestTheSameTextUnderAnotherNameIsHeldAsADuplicate(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		same := func(a *article.Article) { a.Fingerprint = "same" }
		w.admit("a", same)
		w.pass(time.Second)
		adm := w.admit("b", same)
		w.pass(time.Hour)
		if adm.Hold == nil || adm.Hold.Reason != state.HeldDuplicate || !strings.Contains(adm.Hold.Message, "same title and text as a") {
			t.Fatalf("got %+v, want held as a duplicate of a", adm.Hold)
		}
		if got := w.report("b").State; got != state.ArticleHeld || len(b.stored()) != 1 {
			t.Fatalf("got %s, %d posts", got, len(b.stored()))
		}
		if adm := w.admit("c", same, func(a *article.Article) { a.AllowDuplicate = true }); adm.Hold != nil {
			t.Errorf("allow_duplicate: got %+v", adm.Hold)
		}
		if _, err := w.driver.Approve("b", "", time.Now()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		if got := len(b.stored()); got != 3 {
			t.Errorf("after the approval: got %d posts, want 3", got)
		}
		if adm := w.admit("b", same); adm.Hold != nil {
			t.Errorf("dropped again after the approval: got %+v", adm.Hold)
		}
	})
}

func TestADraftIsHeldUntilItIsApprovedOrEdited(t *testing.T) {
	draft := func(a *article.Article) { a.Draft = true }
	one(t, func(t *testing.T, w *world, b *base) {
		w.admit("x", draft)
		w.pass(time.Hour)
		if got := w.report("x").State; got != state.ArticleHeld || b.count("publish") != 0 {
			t.Fatalf("got %s, %d calls", got, b.count("publish"))
		}
		w.admit("x") // the same content without the flag
		w.pass(time.Second)
		w.is("x", "t", state.Published)
	})
	one(t, func(t *testing.T, w *world, b *base) {
		w.admit("x", draft)
		w.pass(time.Second)
		if _, err := w.driver.Cancel("x", "", time.Now()); err != nil {
			t.Fatal(err)
		}
		if got := w.report("x").State; got != state.ArticleCanceled {
			t.Errorf("a held article that is canceled: got %s", got)
		}
	})
}

func TestAnApprovalForOneTargetLeavesTheOthersHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &base{}, &base{}
		w := newWorld(t, map[string]platforms.Platform{"a": whole{a}, "b": whole{b}})
		w.admit("x", func(a *article.Article) { a.Draft = true })
		if _, err := w.driver.Approve("x", "a", time.Now()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		w.is("x", "a", state.Published)
		if d := w.is("x", "b", state.Queued); !d.Due.IsZero() || b.count("publish") != 0 {
			t.Errorf("b: due %v, %d calls; want that it stays held", d.Due, b.count("publish"))
		}
		if _, err := w.driver.Approve("x", "", time.Now()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		w.is("x", "b", state.Published)
		if _, err := w.driver.Approve("x", "", time.Now()); !errors.Is(err, compensate.ErrNothing) {
			t.Errorf("approve of what is not held: got %v", err)
		}
	})
}

func TestACommandOnWhatIsNotThereSaysSo(t *testing.T) {
	one(t, func(t *testing.T, w *world, _ *base) {
		w.admit("x")
		for name, do := range map[string]func() error{
			"article": func() error { _, err := w.driver.Retry("none", "", time.Now()); return err },
			"target":  func() error { _, err := w.driver.Cancel("x", "none", time.Now()); return err },
			"retry":   func() error { _, err := w.driver.RetryTarget("none", time.Now()); return err },
			"approve": func() error { _, err := w.driver.Approve("none", "", time.Now()); return err },
		} {
			if err := do(); !errors.Is(err, state.ErrNotFound) || !strings.Contains(err.Error(), "none") {
				t.Errorf("%s: got %v, want not found, by name", name, err)
			}
		}
		if _, err := w.driver.Resolve("x", "", "u", time.Now()); err == nil {
			t.Error("resolve without a target succeeded")
		}
	})
}

func TestASourceThatCannotBeReadIsToldAndTriedAgain(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		w.admit("x", func(a *article.Article) { a.PublishAt = time.Now().Add(time.Minute) })
		kept, _ := w.sources.LoadAndDelete("x/1")
		w.pass(2 * time.Minute)
		if d := w.is("x", "t", state.Queued); d.Error == nil || d.Error.Kind != platforms.Dependency || b.count("publish") != 0 {
			t.Fatalf("got %+v, %d calls", d.Error, b.count("publish"))
		}
		w.sources.Store("x/1", kept)
		w.pass(time.Hour)
		w.is("x", "t", state.Published)
	})
}

func TestTheFirstRetryMayComeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &base{}
		b.on("publish", fault{kind: platforms.Unavailable}, fault{kind: platforms.Unavailable})
		w := newWorld(t, map[string]platforms.Platform{"t": whole{b}}, func(c *config.Target) {
			c.Retry.Immediate, c.Retry.Strategy = true, config.Fixed
		})
		w.admit("x")
		w.pass(time.Second)
		if got := b.count("publish"); got != 2 {
			t.Errorf("calls in the first second: got %d, want 2", got)
		}
		w.pass(10 * time.Minute)
		w.is("x", "t", state.Published)
	})
}
