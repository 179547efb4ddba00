package compensate_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"herald/article"
	"herald/compensate"
	"herald/internal/config"
	"herald/platforms"
	"herald/state"
)

func TestAPersonIsToldOnceAndToldWhenItIsOver(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults map[string][]fault
		want   []string // before the retry, and after
		after  []string
	}{
		{"a rejected delivery", map[string][]fault{"publish": {{kind: platforms.Rejected}}}, []string{"needs_person tx"}, []string{"recovered tx"}},
		{
			"a refused credential",
			map[string][]fault{"publish": {{kind: platforms.Unauthorized}}, "probe": repeat(fault{kind: platforms.Unauthorized}, 50)},
			[]string{"target_held t"},
			[]string{"recovered t"},
		},
		{"a broken dependency", map[string][]fault{"publish": repeat(fault{kind: platforms.Dependency}, 4)}, []string{"target_held t", "recovered t"}, nil},
		{"a passing failure", map[string][]fault{"publish": repeat(fault{kind: platforms.Unavailable}, 4)}, nil, nil},
		{"a rate limit", map[string][]fault{"publish": repeat(fault{kind: platforms.RateLimited}, 2)}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			one(t, func(t *testing.T, w *world, b *base) {
				w.with(compensate.Options{Notify: true})
				for op, faults := range c.faults {
					b.on(op, faults...)
				}
				w.admit("x")
				w.pass(20 * time.Hour)
				if got := w.told(); !slices.Equal(got, c.want) {
					t.Fatalf("told: got %v, want %v", got, c.want)
				}
				if _, err := w.driver.Retry("x", "", time.Now()); err != nil && !errors.Is(err, compensate.ErrNothing) {
					t.Fatal(err)
				}
				w.pass(time.Hour)
				w.is("x", "t", state.Published)
				if got := w.told(); !slices.Equal(got, append(c.want, c.after...)) {
					t.Errorf("told afterwards: got %v, want %v and %v", got, c.want, c.after)
				}
			})
		})
	}
}

func TestATwinIsReportedAndRemovedWhereThatIsAsked(t *testing.T) {
	for _, remove := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := &base{}
			w := newWorld(t, map[string]platforms.Platform{"t": whole{b}}, func(c *config.Target) { c.RemoveTwins = remove })
			// Both attempts took effect; the first one shows late.
			b.hidden = true
			b.on("publish", fault{stored: true, kind: platforms.Uncertain})
			w.admit("x")
			w.pass(11 * time.Minute)
			w.is("x", "t", state.Published)
			b.mu.Lock()
			b.hidden = false
			b.mu.Unlock()
			w.pass(time.Hour)
			d, rep := w.is("x", "t", state.Published), w.report("x")
			if remove {
				if len(b.stored()) != 1 || d.Error != nil || rep.State != state.ArticleSuccess {
					t.Errorf("got %d posts, %+v, %s; want the surplus removed", len(b.stored()), d.Error, rep.State)
				}
				return
			}
			if d.Error == nil || d.Error.Code != state.CodeTwins || !strings.Contains(d.Error.Message, "2 copies") || !rep.NeedsPerson() || len(b.stored()) != 2 {
				t.Fatalf("got %+v, want that two copies are reported", d.Error)
			}
			if _, err := w.driver.Cancel("x", "t", time.Now()); err != nil {
				t.Fatal(err)
			}
			if rep := w.report("x"); rep.State != state.ArticleSuccess || rep.NeedsPerson() {
				t.Errorf("after it was accepted: %s", rep.State)
			}
		})
	}
}

func TestAPostThatIsGoneIsReportedAndNeverMadeAgain(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		w.admit("x")
		w.pass(25 * time.Hour)
		b.mu.Lock()
		b.posts = nil // the owner deleted it
		b.mu.Unlock()
		if _, err := w.driver.Reconcile(72*time.Hour, time.Now()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Hour)
		d, rep := w.is("x", "t", state.Published), w.report("x")
		if d.Error == nil || d.Error.Code != state.CodeGone || b.count("publish") != 1 || rep.State != state.ArticlePartial {
			t.Fatalf("got %+v after %d posts sent, article %s", d.Error, b.count("publish"), rep.State)
		}
		if _, err := w.driver.Reconcile(72*time.Hour, time.Now()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Hour)
		if got := b.count("publish"); got != 1 {
			t.Errorf("posts sent: got %d, want 1", got)
		}
	})
}

func TestAPostThatItsOwnerChangedIsReportedOnce(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		w.admit("x")
		w.pass(25 * time.Hour)
		sweep := func() state.Delivery {
			t.Helper()
			if _, err := w.driver.Reconcile(240*time.Hour, time.Now()); err != nil {
				t.Fatal(err)
			}
			w.pass(25 * time.Hour)
			return w.is("x", "t", state.Published)
		}
		change := func(what string) {
			b.mu.Lock()
			b.posts[0].changed = what
			b.mu.Unlock()
		}
		change("one word")
		if d := sweep(); d.Error == nil || d.Error.Code != state.CodeChanged || !strings.Contains(d.Error.Message, "one word") {
			t.Fatalf("got %+v, want it to be reported as changed", d.Error)
		}
		if _, err := w.driver.Cancel("x", "", time.Now()); err != nil {
			t.Fatal(err)
		}
		if d := sweep(); d.Error != nil {
			t.Errorf("what a person has accepted is told again: %+v", d.Error)
		}
		change("another word")
		if d := sweep(); d.Error == nil || !strings.Contains(d.Error.Message, "another word") {
			t.Errorf("got %+v, want the further change to be reported", d.Error)
		}
		change("")
		if d := sweep(); d.Error != nil || b.count("publish") != 1 || b.count("update") != 0 {
			t.Errorf("got %+v after %d posts and %d updates, want all to be well again", d.Error, b.count("publish"), b.count("update"))
		}
	})
}

func TestRecentPostsAreReadAgainOnceADayAndLeaveNoTrace(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		w.admit("x")
		w.pass(time.Minute)
		history := len(w.delivery("x", "t").History)
		for range 96 { // four days of hourly sweeps
			w.pass(time.Hour)
			if _, err := w.driver.Reconcile(72*time.Hour, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		w.pass(time.Minute)
		if got := b.count("find"); got != 2 && got != 3 {
			t.Errorf("look-ups in three days: got %d, want one a day", got)
		}
		if d := w.is("x", "t", state.Published); len(d.History) != history || d.Error != nil {
			t.Errorf("history grew from %d to %d, error %v", history, len(d.History), d.Error)
		}
	})
}

func TestTheSweepNamesWhatIsOpenAndMendsAClockThatWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, blind := &base{}, &base{}
		w := newWorld(t, map[string]platforms.Platform{"t": whole{b}, "blind": blind})
		blind.on("publish", fault{kind: platforms.Uncertain})
		w.admit("x")
		w.pass(25 * time.Hour)
		found, err := w.driver.Reconcile(0, time.Now())
		if err != nil || len(found) != 1 || found[0].Target != "blind" || !strings.Contains(found[0].What, "open for more than a day") {
			t.Fatalf("got %+v, %v", found, err)
		}
		// Written while the clock stood a month ahead.
		b.on("publish", fault{kind: platforms.Unavailable})
		w.admit("y", func(a *article.Article) { a.Platforms = []string{"t"} })
		w.pass(time.Second)
		err = w.store.Update(func(tx state.Tx) error {
			d, err := tx.Delivery(state.Key{Article: "y", Target: "t"})
			if err != nil {
				return err
			}
			d.Due = time.Now().Add(30 * 24 * time.Hour)
			return tx.PutDelivery(d)
		})
		if err != nil {
			t.Fatal(err)
		}
		found, err = w.driver.Reconcile(0, time.Now())
		if err != nil || !slices.ContainsFunc(found, func(f compensate.Finding) bool { return f.Article == "y" && f.Mended }) {
			t.Fatalf("got %+v, %v", found, err)
		}
		w.pass(time.Minute)
		w.is("y", "t", state.Published)
	})
}

func TestNothingBeginsThatCouldNotBeRecorded(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		var full atomic.Bool
		full.Store(true)
		w.with(compensate.Options{Room: func() error {
			if full.Load() {
				return errors.New("3 MB left on the disk")
			}
			return nil
		}})
		w.admit("x")
		w.pass(time.Hour)
		if w.is("x", "t", state.Queued); b.count("publish") != 0 {
			t.Fatalf("sent %d times without room", b.count("publish"))
		}
		full.Store(false)
		w.pass(time.Minute)
		w.is("x", "t", state.Published)
	})
}

func TestNewContentWaitsForItsCheck(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		w.with(compensate.Options{Check: true, Notify: true})
		w.admit("x")
		w.pass(time.Hour)
		rep := w.report("x")
		if b.count("publish") != 0 || rep.State != state.ArticleQueued || rep.NeedsPerson() || !strings.Contains(rep.Deliveries[0].Hint, "checked") {
			t.Fatalf("before its check: %d calls, %s, %+v", b.count("publish"), rep.State, rep.Deliveries[0])
		}
		due, _, err := w.driver.DueChecks(time.Now(), 10)
		if err != nil || len(due) != 1 || due[0].ID != "x" {
			t.Fatalf("due checks: %+v, %v", due, err)
		}
		hold := &state.ArticleHold{Reason: state.HeldQuality, Message: "0.41 of 0.70", At: time.Now()}
		if err := w.driver.Checked("x", 1, compensate.Checked{Quality: state.Quality{By: "ai"}, Hold: hold}, time.Now()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Hour)
		if rep := w.report("x"); rep.State != state.ArticleHeld || b.count("publish") != 0 || len(w.told()) != 1 {
			t.Fatalf("a bad verdict: %s, %d calls, told %v", rep.State, b.count("publish"), w.told())
		}
		w.admit("x", revise("x-2"))
		if err := w.driver.Checked("x", 1, compensate.Checked{Quality: state.Quality{By: "ai", Pass: true}}, time.Now()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		if b.count("publish") != 0 {
			t.Fatal("a verdict on an older revision let the new one go")
		}
		if err := w.driver.Checked("x", 2, compensate.Checked{Quality: state.Quality{By: "ai", Pass: true}, Again: time.Now().Add(time.Hour)}, time.Now()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		w.is("x", "t", state.Published)
		if due, next, _ := w.driver.DueChecks(time.Now(), 10); len(due) != 0 || next.IsZero() {
			t.Errorf("the check after publication: %v, next %v", due, next)
		}
		late := compensate.Checked{Quality: state.Quality{By: "ai"}, Hold: hold}
		if err := w.driver.Checked("x", 2, late, time.Now()); err != nil {
			t.Fatal(err)
		}
		if rep := w.report("x"); rep.State != state.ArticleSuccess || len(w.told()) != 2 {
			t.Errorf("a bad verdict after publication: %s, told %v; want that only a person is told", rep.State, w.told())
		}
	})
}

func TestALostStoreIsRestoredWithoutASecondPost(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		var moved atomic.Int64
		w.with(compensate.Options{Moved: func(state.ArticleID) { moved.Add(1) }})
		w.admit("x")
		w.pass(time.Minute)
		if moved.Load() == 0 {
			t.Error("nobody was told that x moved")
		}
		a, ds, err := w.driver.Record("x")
		if err != nil {
			t.Fatal(err)
		}
		w.halt()
		w.path += ".new"
		w.start()
		for range 2 {
			if _, err := w.driver.Restore(a, ds, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		w.admit("x")
		w.pass(time.Hour)
		if w.is("x", "t", state.Published); b.count("publish") != 1 {
			t.Errorf("posts sent: got %d, want 1", b.count("publish"))
		}
	})
}

func TestTheSweepNamesARecordWithoutItsSourceAndRenewsReceipts(t *testing.T) {
	one(t, func(t *testing.T, w *world, b *base) {
		var moved atomic.Int64
		w.with(compensate.Options{Moved: func(state.ArticleID) { moved.Add(1) }})
		w.admit("done")
		b.on("publish", fault{}, fault{kind: platforms.Unavailable})
		w.pass(time.Second)
		w.admit("open")
		w.pass(time.Second)
		w.is("open", "t", state.Queued)
		w.sources.Delete("open/1")
		before := moved.Load()
		found, err := w.driver.Reconcile(72*time.Hour, time.Now())
		if err != nil || len(found) != 1 || found[0].Article != "open" || !strings.Contains(found[0].What, "source cannot be read") {
			t.Errorf("found %+v, %v", found, err)
		}
		if got := moved.Load() - before; got != 2 {
			t.Errorf("receipts renewed: got %d, want those of both articles", got)
		}
	})
}

func TestTheSweepNamesAnArticleThatGoesNowhere(t *testing.T) {
	one(t, func(t *testing.T, w *world, _ *base) {
		w.admit("x")
		w.pass(time.Second)
		err := w.store.Update(func(tx state.Tx) error {
			return tx.PutArticle(state.Article{ID: "lost", Revision: 1, Sources: []string{"lost/1"}, AcceptedAt: time.Now()})
		})
		if err != nil {
			t.Fatal(err)
		}
		found, err := w.driver.Reconcile(0, time.Now())
		if err != nil || len(found) != 1 || found[0].Article != "lost" || !strings.Contains(found[0].What, "no delivery") {
			t.Errorf("found %+v, %v", found, err)
		}
	})
}
