package compensate_test

import (
	"errors"
	"fmt"
	"log/slog"
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

// one runs a test in a bubble on a herald with one target, "t".
func one(t *testing.T, test func(t *testing.T, w *world, b *base)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &base{}
		test(t, newWorld(t, map[string]platforms.Platform{"t": whole{b}}), b)
	})
}

func TestAnArticleIsPublishedOnEveryTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &base{}, &base{}
		w := newWorld(t, map[string]platforms.Platform{"a": whole{a}, "b": whole{b}})
		w.admit("x")
		w.pass(time.Second)
		for _, target := range []string{"a", "b"} {
			d := w.is("x", target, state.Published)
			if d.Attempts != 1 || d.Receipt.ID != "p1" || d.PublishedAt.IsZero() {
				t.Errorf("%s: got %+v", target, d)
			}
		}
		if got := w.report("x").State; got != state.ArticleSuccess {
			t.Errorf("article: got %s, want success", got)
		}
	})
}

func TestATransientFailureIsTriedAgainWithBackoff(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		b.on("publish", fault{kind: platforms.Unavailable, code: "503"}, fault{kind: platforms.Dependency}, fault{kind: platforms.Unavailable})
		w.admit("x")
		w.pass(2 * time.Hour)
		d := w.is("x", "t", state.Published)
		if d.Attempts != 4 || d.Error != nil {
			t.Errorf("got %d attempts, error %v; want 4, none", d.Attempts, d.Error)
		}
		for i, want := range []time.Duration{10 * time.Minute, 20 * time.Minute, 40 * time.Minute} {
			if got := b.times[i+1].Sub(b.times[i]); got != want {
				t.Errorf("wait %d: got %s, want %s", i+1, got, want)
			}
		}
	})
}

func TestRetryAfterIsObeyed(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		b.on("publish", fault{kind: platforms.Unavailable, retryIn: 3 * time.Hour})
		w.admit("x")
		w.pass(2*time.Hour + 59*time.Minute)
		w.is("x", "t", state.Queued)
		w.pass(2 * time.Minute)
		w.is("x", "t", state.Published)
	})
}

func TestAttemptsAndTimeAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		adjust   func(*config.Target)
		attempts int
		message  string
	}{
		"attempts": {func(c *config.Target) { c.Retry.Attempts = 4 }, 4, "given up after 4 attempts"},
		"time":     {func(c *config.Target) { c.Retry.Attempts, c.Retry.GiveUpAfter = 0, time.Hour }, 3, "given up after 1h"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &base{}
				for range 100 {
					b.on("publish", fault{kind: platforms.Unavailable})
				}
				w := newWorld(t, map[string]platforms.Platform{"t": whole{b}}, c.adjust)
				w.admit("x")
				w.pass(48 * time.Hour)
				d := w.is("x", "t", state.Failed)
				if d.Attempts != c.attempts || !strings.Contains(d.Error.Message, c.message) || d.Error.Kind != platforms.Unavailable {
					t.Errorf("got %d attempts, %+v; want %d, %q", d.Attempts, d.Error, c.attempts, c.message)
				}
				if got := w.report("x").State; got != state.ArticleFailed {
					t.Errorf("article: got %s, want failed", got)
				}
			})
		})
	}
}

func TestWhatCanNeverPassStopsAtOnceAndTheOthersGoOn(t *testing.T) {
	for _, kind := range []platforms.Kind{platforms.Rejected, platforms.Invalid} {
		synctest.Test(t, func(t *testing.T) {
			a, b := &base{}, &base{}
			w := newWorld(t, map[string]platforms.Platform{"a": whole{a}, "b": whole{b}})
			a.on("publish", fault{kind: kind, code: "45166"})
			w.admit("x")
			w.pass(24 * time.Hour)
			d := w.is("x", "a", state.Rejected)
			if d.Attempts != 1 || d.Error.Code != "45166" || a.count("publish") != 1 {
				t.Errorf("%s: got %+v, %d calls", kind, d.Error, a.count("publish"))
			}
			if other := w.is("x", "b", state.Published); other.Attempts != 1 {
				t.Errorf("the other target: got %d attempts", other.Attempts)
			}
			if got := w.report("x").State; got != state.ArticlePartial {
				t.Errorf("article: got %s, want partial_success", got)
			}
		})
	}
}

func TestWhatRenderRefusesIsNeverSent(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		b.render = platforms.Rejectf("fake", "render", "title has 21 of 20")
		w.admit("x")
		w.pass(time.Hour)
		if d := w.is("x", "t", state.Rejected); b.count("publish") != 0 || !strings.Contains(d.Error.Message, "21 of 20") {
			t.Errorf("got %d calls, %+v", b.count("publish"), d.Error)
		}
	})
}

func TestAQuotaHoldsTheTargetAndCostsNoAttempt(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		b.on("publish", fault{kind: platforms.RateLimited, code: "45009", retryIn: 5 * time.Hour})
		w.admit("x")
		w.pass(time.Second)
		w.admit("y")
		w.pass(4 * time.Hour)
		if got := b.count("publish"); got != 1 {
			t.Fatalf("calls while held: got %d, want 1", got)
		}
		rep := w.report("y").Deliveries[0]
		if rep.Error == nil || rep.Error.Code != "45009" || rep.Due == nil || time.Until(*rep.Due).Round(time.Minute) != time.Hour {
			t.Errorf("y while held: got %+v, due %v", rep.Error, rep.Due)
		}
		w.pass(time.Hour + time.Minute)
		if d := w.is("x", "t", state.Published); d.Attempts != 2 || d.Spent != 1 {
			t.Errorf("x: got %d attempts, %d spent; want 2, 1", d.Attempts, d.Spent)
		}
		w.is("y", "t", state.Published)
	})
}

func TestARateLimitWithoutATimeDoublesTheHold(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		for range 3 {
			b.on("publish", fault{kind: platforms.RateLimited})
		}
		w.admit("x")
		w.pass(3 * time.Hour)
		w.is("x", "t", state.Published)
		for i, want := range []time.Duration{10 * time.Minute, 20 * time.Minute, 40 * time.Minute} {
			if got := b.times[i+1].Sub(b.times[i]); got != want {
				t.Errorf("hold %d: got %s, want %s", i+1, got, want)
			}
		}
		b.on("publish", fault{kind: platforms.RateLimited})
		w.admit("y")
		w.pass(11 * time.Minute)
		w.is("y", "t", state.Published) // a success starts again at the base
	})
}

// B25, B23: the credential is refused; everything stays queued, is probed
// slowly, and goes on by itself once it is mended.
func TestARefusedCredentialHoldsTheTargetForAPerson(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		b.on("publish", fault{kind: platforms.Unauthorized, code: "40164"})
		b.on("probe", fault{kind: platforms.Unauthorized, code: "40164"}, fault{kind: platforms.Unavailable})
		for i := range 8 {
			w.admit(fmt.Sprint("x", i))
		}
		w.pass(10 * time.Minute)
		if got := b.count("publish"); got != 1 {
			t.Fatalf("calls while held: got %d, want 1", got)
		}
		rep := w.report("x3").Deliveries[0]
		if rep.State != state.Queued || rep.Error == nil || rep.Error.Class != platforms.Permanent || !strings.Contains(rep.Hint, "herald retry --target t") || !rep.NeedsPerson() {
			t.Errorf("a delivery that never began: got %+v", rep)
		}
		w.pass(3 * time.Hour) // probes at 15 min (refused), +30 min (down), +15 min (well)
		if got := b.count("probe"); got != 3 {
			t.Errorf("probes: got %d, want 3", got)
		}
		for i := range 8 {
			if d := w.is(fmt.Sprint("x", i), "t", state.Published); d.Spent != 1 {
				t.Errorf("x%d: got %d spent, want 1", i, d.Spent)
			}
		}
		if got := len(b.stored()); got != 8 {
			t.Errorf("posts: got %d, want 8", got)
		}
	})
}

func TestRetryOfATargetLiftsItsHoldAndRunsOldestFirst(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		b.on("publish", fault{kind: platforms.Unauthorized})
		for i := range 8 {
			w.admit(fmt.Sprint("x", 7-i))
			w.pass(time.Second)
		}
		changes, err := w.driver.RetryTarget("t", time.Now())
		if err != nil || len(changes) != 8 {
			t.Fatalf("got %v, %v; want 8 changes", changes, err)
		}
		w.pass(time.Minute)
		var order []string
		for _, p := range b.stored() {
			order = append(order, strings.TrimPrefix(p.title, "标题 "))
		}
		if got, want := strings.Join(order, " "), "x7 x6 x5 x4 x3 x2 x1 x0"; got != want {
			t.Errorf("order: got %s, want %s", got, want)
		}
	})
}

func TestTimeHeldDoesNotCountTowardsGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &base{}
		w := newWorld(t, map[string]platforms.Platform{"t": whole{b}}, func(c *config.Target) { c.Retry.GiveUpAfter = 3 * time.Hour })
		b.on("publish", fault{kind: platforms.RateLimited, retryIn: 30 * time.Hour}, fault{kind: platforms.Unavailable})
		w.admit("x")
		w.pass(31 * time.Hour)
		w.is("x", "t", state.Published)
	})
}

// B04: a lost answer is looked up, never answered by a second post.
func TestALostAnswerIsLookedUpAndAdopted(t *testing.T) {
	for name, f := range map[string]fault{
		"cut connection":   {stored: true, kind: platforms.Uncertain},
		"hang":             {stored: true, hang: true},
		"panic":            {stored: true, panics: true},
		"duplicate answer": {stored: true, kind: platforms.Exists, code: "20019"},
		"unknown code":     {stored: true, kind: platforms.Unknown, code: "99999"},
		"without an id":    {stored: true, noID: true},
	} {
		t.Run(name, func(t *testing.T) {
			one(t, func(t *testing.T, w *world, b *base) {
				b.on("publish", f)
				w.admit("x")
				w.pass(time.Hour)
				d := w.is("x", "t", state.Published)
				if len(b.stored()) != 1 || b.count("publish") != 1 || d.Receipt.ID != "p1" {
					t.Errorf("got %d posts, %d calls, receipt %+v; want one each", len(b.stored()), b.count("publish"), d.Receipt)
				}
			})
		})
	}
}

func TestAbsenceIsBelievedOnlyAfterItsTimeAndNumber(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		b.on("publish", fault{kind: platforms.Uncertain})
		w.admit("x")
		w.pass(9 * time.Minute)
		if d := w.is("x", "t", state.Uncertain); d.Absences != 1 || b.count("publish") != 1 {
			t.Errorf("after one look-up: got %d absences, %d posts sent", d.Absences, b.count("publish"))
		}
		w.pass(10 * time.Minute)
		if d := w.is("x", "t", state.Published); d.Attempts != 2 || b.count("find") != 3 || len(b.stored()) != 1 { // the third looks for twins
			t.Errorf("got %d attempts, %d look-ups, %d posts", d.Attempts, b.count("find"), len(b.stored()))
		}
	})
}

func TestAPostThatShowsLateIsAdoptedAndNotRepeated(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		b.hidden = true
		b.on("publish", fault{stored: true, kind: platforms.Uncertain})
		w.admit("x")
		w.pass(5 * time.Minute)
		w.is("x", "t", state.Uncertain)
		b.mu.Lock()
		b.hidden = false
		b.mu.Unlock()
		w.pass(10 * time.Minute)
		w.is("x", "t", state.Published)
		if got := b.count("publish"); got != 1 {
			t.Errorf("posts sent: got %d, want 1", got)
		}
	})
}

func TestWhatAbsenceMeansDependsOnTheDoubt(t *testing.T) {
	for _, c := range []struct {
		name string
		f    fault
		want state.State
	}{
		{"exists, but is not there", fault{kind: platforms.Exists, code: "409"}, state.Rejected},
		{"unknown code, not there", fault{kind: platforms.Unknown, code: "777"}, state.Failed},
		{"accepted without an id, not to be found", fault{stored: true, noID: true}, state.Uncertain},
	} {
		t.Run(c.name, func(t *testing.T) {
			one(t, func(t *testing.T, w *world, b *base) {
				b.hidden = true
				b.on("publish", c.f)
				w.admit("x")
				w.pass(96 * time.Hour)
				d := w.is("x", "t", c.want)
				if b.count("publish") != 1 || !d.Due.IsZero() {
					t.Errorf("got %d posts sent, due %v; want one, and that a person decides", b.count("publish"), d.Due)
				}
				if rep := w.report("x").Deliveries[0]; !rep.NeedsPerson() || rep.Hint == "" {
					t.Errorf("nobody is told: %+v", rep)
				}
				if c.f.code != "" && d.Error.Code != c.f.code {
					t.Errorf("code: got %q, want %q", d.Error.Code, c.f.code)
				}
			})
		})
	}
}

func TestWithoutALookUpAPersonResolves(t *testing.T) {
	for _, url := range []string{"https://example.com/1", ""} {
		synctest.Test(t, func(t *testing.T) {
			b := &base{}
			w := newWorld(t, map[string]platforms.Platform{"t": b})
			b.on("publish", fault{stored: true, kind: platforms.Uncertain})
			w.admit("x")
			w.pass(48 * time.Hour)
			if d := w.is("x", "t", state.Uncertain); b.count("publish") != 1 || !d.Due.IsZero() {
				t.Fatalf("got %d posts sent, due %v", b.count("publish"), d.Due)
			}
			if rep := w.report("x").Deliveries[0]; !strings.Contains(rep.Hint, "标题 x") || !strings.Contains(rep.Hint, "herald resolve x t") {
				t.Errorf("hint %q does not say what to look for", rep.Hint)
			}
			if _, err := w.driver.Resolve("x", "t", url, time.Now()); err != nil {
				t.Fatal(err)
			}
			w.pass(time.Minute)
			d := w.is("x", "t", state.Published)
			if url != "" && (d.Receipt.URL != url || b.count("publish") != 1) {
				t.Errorf("published: got %+v after %d calls", d.Receipt, b.count("publish"))
			}
			if url == "" && b.count("publish") != 2 {
				t.Errorf("missing: got %d calls, want 2", b.count("publish"))
			}
		})
	}
}

// A look-up that finds another article's post does not adopt it.
func TestAnotherDeliverysPostIsNotAdopted(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		w.admit("x")
		w.pass(time.Minute)
		w.is("x", "t", state.Published)
		b.on("publish", fault{kind: platforms.Uncertain})
		w.admit("y")
		w.pass(time.Second)
		b.mu.Lock() // the platform answers y's look-up with x's post
		y := w.delivery("y", "t")
		b.posts[0].key = y.IdempotencyKey()
		b.mu.Unlock()
		w.pass(time.Hour)
		if d := w.is("y", "t", state.Published); d.Receipt.ID == "p1" || len(b.stored()) != 2 {
			t.Errorf("got receipt %+v, %d posts", d.Receipt, len(b.stored()))
		}
	})
}

func TestAReviewIsPolledUntilItIsDecided(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		b.on("publish", fault{pending: true})
		b.on("review", fault{pending: true}, fault{kind: platforms.Unavailable}, fault{pending: true})
		w.admit("x")
		w.pass(time.Second)
		w.is("x", "t", state.Reviewing)
		w.pass(time.Hour)
		w.is("x", "t", state.Published)
		if got := b.count("review"); got != 4 {
			t.Errorf("polls: got %d, want 4", got)
		}
		b.on("publish", fault{pending: true})
		b.on("review", fault{kind: platforms.Rejected, code: "53503"})
		w.admit("y")
		w.pass(time.Hour)
		if d := w.is("y", "t", state.Rejected); d.Error.Code != "53503" {
			t.Errorf("a refused review: got %+v", d.Error)
		}
	})
}

func TestTheBreakerKeepsOneSickTargetFromEveryOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sick, well := &base{}, &base{}
		for range 6 {
			sick.on("publish", fault{kind: platforms.Unavailable})
		}
		w := newWorld(t, map[string]platforms.Platform{"sick": whole{sick}, "well": whole{well}})
		for i := range 20 {
			w.admit(fmt.Sprint("x", i))
		}
		w.pass(30 * time.Second)
		if got := sick.count("publish"); got != 5 {
			t.Errorf("calls of the sick target: got %d, want 5 before its breaker opens", got)
		}
		if got := len(well.stored()); got != 20 {
			t.Errorf("the well target: got %d posts, want 20", got)
		}
		reports, err := w.driver.Targets(time.Now())
		if err != nil || reports[0].Breaker != "open" || reports[0].Waiting != 20 || reports[1].Breaker != "closed" {
			t.Errorf("targets: got %+v, %v", reports, err)
		}
		w.pass(12 * time.Hour)
		if got := len(sick.stored()); got != 20 {
			t.Errorf("the sick target, once well: got %d posts, want 20", got)
		}
	})
}

func TestAHangingTargetIsCutAtItsDeadlineAndBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hanging, well := &base{}, &base{}
		hanging.on("publish", fault{hang: true})
		w := newWorld(t, map[string]platforms.Platform{"hanging": whole{hanging}, "well": whole{well}})
		w.admit("x")
		w.pass(time.Second)
		w.is("x", "well", state.Published)
		w.is("x", "hanging", state.Sending)
		w.pass(30 * time.Second)
		w.is("x", "hanging", state.Uncertain)
	})
}

func TestPublishAtIsNotEarlyAndALateOneIsShown(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		at := time.Now().Add(5 * time.Hour)
		w.admit("x", func(a *article.Article) { a.PublishAt = at })
		if got := w.report("x").State; got != state.ArticleScheduled {
			t.Errorf("before: got %s, want scheduled", got)
		}
		w.admit("y", func(a *article.Article) { a.PublishAt = at })
		w.admit("z", func(a *article.Article) { a.PublishAt, a.SkipIfLate = at, 24*time.Hour })
		w.pass(5*time.Hour - time.Second)
		if b.count("publish") != 0 {
			t.Fatal("published early")
		}
		w.halt() // off for two days
		w.pass(48 * time.Hour)
		w.start()
		w.pass(time.Minute)
		w.is("x", "t", state.Published)
		if rep := w.report("x"); !strings.HasPrefix(rep.Late, "47h59m") {
			t.Errorf("late: got %q, want about 48h", rep.Late)
		}
		rep := w.report("z")
		if rep.State != state.ArticleHeld || rep.Hold.Reason != state.HeldLate {
			t.Fatalf("skip_if_late: got %s, %+v; want held", rep.State, rep.Hold)
		}
		if _, err := w.driver.Approve("z", "", time.Now()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		w.is("z", "t", state.Published)
	})
}

func TestACrashDuringTheCallIsLookedUpAtOnce(t *testing.T) {
	for _, stored := range []bool{true, false} {
		one(t, func(t *testing.T, w *world, b *base) {
			w.admit("x")
			w.pass(time.Second)
			w.halt()
			// As a SIGKILL between the call and its outcome leaves it.
			crash(t, w, "x", "t")
			if !stored {
				b.posts = nil
			}
			w.start()
			w.pass(time.Minute)
			if stored {
				w.is("x", "t", state.Published)
			}
			w.pass(time.Hour)
			w.is("x", "t", state.Published)
			if got := len(b.stored()); got != 1 {
				t.Errorf("stored %v: got %d posts, want 1", stored, got)
			}
		})
	}
}

// crash puts a delivery back to the intent that was written before its call.
func crash(t *testing.T, w *world, id, target string) {
	t.Helper()
	store, err := state.Open(w.path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	err = store.Update(func(tx state.Tx) error {
		d, err := tx.Delivery(state.Key{Article: state.ArticleID(id), Target: target})
		if err != nil {
			return err
		}
		d.State, d.Receipt, d.PublishedAt, d.Landed = state.Sending, platforms.Receipt{}, time.Time{}, 0
		d.Due = d.LastBegun.Add(time.Minute)
		return tx.PutDelivery(d)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAStopInterruptsWithoutSpendingAndGoesOnAfterwards(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		b.on("publish", fault{hang: true, stored: true})
		w.admit("x")
		w.pass(time.Second)
		began := time.Now()
		w.halt()
		if took := time.Since(began); took != 25*time.Second {
			t.Errorf("stop: took %s, want the grace of 25s", took)
		}
		w.start()
		w.pass(time.Hour)
		w.is("x", "t", state.Published)
		if got := len(b.stored()); got != 1 {
			t.Errorf("posts: got %d, want 1", got)
		}
	})
}

func TestACallThatNeverCameBackIsLostAfterItsLease(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		w.admit("x")
		w.pass(time.Second)
		w.halt()
		crash(t, w, "x", "t")
		// A process that did not crash has no start-up sweep.
		store, err := state.Open(w.path)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		driver := compensate.New(compensate.Options{Store: store, Targets: w.targets, Sources: w, Log: discard})
		k := state.Key{Article: "x", Target: "t"}
		next, err := driver.Step(t.Context(), k)
		if err != nil || next.At.IsZero() {
			t.Fatalf("before the lease is over: got %+v, %v", next, err)
		}
		<-time.After(time.Until(next.At))
		for range 2 {
			if _, err = driver.Step(t.Context(), k); err != nil {
				t.Fatal(err)
			}
		}
		var d state.Delivery
		_ = store.View(func(r state.Reader) (err error) { d, err = r.Delivery(k); return err })
		if d.State != state.Published || b.count("publish") != 1 {
			t.Errorf("got %s after %d posts sent; want published, 1", d.State, b.count("publish"))
		}
	})
}

func TestAStaleWorkerIsFencedByTheRecord(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		w.admit("x")
		w.pass(time.Second)
		w.is("x", "t", state.Published)
		for range 3 { // wakes are hints: a finished delivery has no step
			if next, err := w.driver.Step(t.Context(), state.Key{Article: "x", Target: "t"}); err != nil || !next.Done {
				t.Errorf("got %+v, %v; want done", next, err)
			}
		}
		if got := b.count("publish"); got != 1 {
			t.Errorf("calls: got %d, want 1", got)
		}
		_, err := w.driver.Step(t.Context(), state.Key{Article: "none", Target: "t"})
		if !errors.Is(err, state.ErrNotFound) {
			t.Errorf("unknown delivery: got %v, want ErrNotFound", err)
		}
	})
}

var discard = slog.New(slog.DiscardHandler)
