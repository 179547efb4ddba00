// Package statetest is the compulsory suite of every state.Store: what the
// driver relies on, whatever keeps the records.
package statetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"herald/platforms"
	"herald/state"
)

// Case is one store under test.
type Case struct {
	// Open opens the store of a test; called again for the same test it opens the
	// same records, as a restarted daemon does.
	Open func(t *testing.T) state.Store
}

// Run runs the suite.
func Run(t *testing.T, c Case) {
	for _, s := range []struct {
		name string
		run  func(*testing.T, Case)
	}{
		{"a record that was saved is there after a restart", survives},
		{"a save against an older version is a conflict and changes nothing", conflicts},
		{"a record is read again only if it has changed", again},
		{"a transaction that fails leaves nothing behind", rollsBack},
		{"one failing transaction does not fail its neighbours", isolates},
		{"what is due comes oldest first, apart by target and class", due},
		{"the due index follows every save", dueFollows},
		{"only unfinished articles are listed as unfinished", unfinished},
		{"the newest articles come first", newest},
		{"checks are due by their time, and only once", checks},
		{"equal texts are found by fingerprint, also after a revision", sameText},
		{"a receipt knows whose it is", receipts},
		{"notes belong to a generation, media to all of them", memos},
		{"verdicts are kept", verdicts},
		{"holds survive, and an account without one has a name", holds},
		{"notices wait in order until they are dropped", notices},
		{"many writers at once lose nothing", concurrent},
		{"a missing record is ErrNotFound", missing},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(t, c) })
	}
}

var start = time.Date(2026, 6, 17, 1, 0, 0, 0, time.UTC)

func sample(id string, target string, due time.Time) state.Delivery {
	return state.Delivery{
		Article: state.ArticleID(id), Target: target, Type: "site", State: state.Queued,
		Generation: 1, Revision: 1, Since: start, Due: due,
	}
}

func put(t *testing.T, s state.Store, fn func(tx state.Tx) error) {
	t.Helper()
	if err := s.Update(fn); err != nil {
		t.Fatalf("update: %v", err)
	}
}

func putDelivery(t *testing.T, s state.Store, d state.Delivery) state.Delivery {
	t.Helper()
	put(t, s, func(tx state.Tx) error { return tx.PutDelivery(d) })
	d.Version++
	return d
}

func view[T any](t *testing.T, s state.Store, fn func(r state.Reader) (T, error)) T {
	t.Helper()
	var v T
	err := s.View(func(r state.Reader) (err error) {
		v, err = fn(r)
		return err
	})
	if err != nil {
		t.Fatalf("view: %v", err)
	}
	return v
}

func survives(t *testing.T, c Case) {
	s := c.Open(t)
	a := state.Article{ID: "错误处理", Title: "错误处理是系统韧性的设计", Revision: 1, Fingerprint: "f", AcceptedAt: start, Targets: []string{"blog"}}
	d := sample("错误处理", "blog", start)
	d.History = []state.Entry{{At: start, Verb: state.Begin, State: state.Sending, Took: time.Second}}
	d.Error = &state.Failure{Kind: platforms.RateLimited, Code: "45009", Message: "配额", At: start}
	put(t, s, func(tx state.Tx) error { return errors.Join(tx.PutArticle(a), tx.PutDelivery(d)) })
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	s = c.Open(t)
	a.Version, d.Version = 1, 1
	if diff := cmp.Diff(a, view(t, s, func(r state.Reader) (state.Article, error) { return r.Article(a.ID) })); diff != "" {
		t.Errorf("article after a restart (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(d, view(t, s, func(r state.Reader) (state.Delivery, error) { return r.Delivery(d.Key()) })); diff != "" {
		t.Errorf("delivery after a restart (-want +got):\n%s", diff)
	}
}

func conflicts(t *testing.T, c Case) {
	s := c.Open(t)
	d := sample("a", "blog", start)
	fresh := putDelivery(t, s, d)
	for name, stale := range map[string]state.Delivery{"new record over an old one": d, "version from the future": withVersion(d, 7)} {
		stale.Due = start.Add(time.Hour)
		if err := s.Update(func(tx state.Tx) error { return tx.PutDelivery(stale) }); !errors.Is(err, state.ErrConflict) {
			t.Errorf("%s: got %v, want ErrConflict", name, err)
		}
	}
	got := view(t, s, func(r state.Reader) (state.Delivery, error) { return r.Delivery(d.Key()) })
	if diff := cmp.Diff(fresh, got); diff != "" {
		t.Errorf("record after conflicts (-want +got):\n%s", diff)
	}
	a := state.Article{ID: "a", AcceptedAt: start}
	put(t, s, func(tx state.Tx) error { return tx.PutArticle(a) })
	if err := s.Update(func(tx state.Tx) error { return tx.PutArticle(a) }); !errors.Is(err, state.ErrConflict) {
		t.Errorf("stale article: got %v, want ErrConflict", err)
	}
}

func withVersion(d state.Delivery, v uint64) state.Delivery {
	d.Version = v
	return d
}

func again(t *testing.T, c Case) {
	s := c.Open(t)
	d := putDelivery(t, s, sample("a", "blog", start))
	mine := d
	mine.State = state.Sending // not saved: whoever has the newest version is believed
	read := func() state.Delivery {
		return view(t, s, func(r state.Reader) (state.Delivery, error) { return r.Again(mine) })
	}
	if diff := cmp.Diff(mine, read()); diff != "" {
		t.Errorf("an unchanged record (-want +got):\n%s", diff)
	}
	d.Wish = state.WishCancel
	d = putDelivery(t, s, d)
	if diff := cmp.Diff(d, read()); diff != "" {
		t.Errorf("a changed record (-want +got):\n%s", diff)
	}
	err := s.View(func(r state.Reader) error {
		_, err := r.Again(sample("b", "blog", start))
		return err
	})
	if !errors.Is(err, state.ErrNotFound) {
		t.Errorf("a record that is not there: got %v, want ErrNotFound", err)
	}
}

func rollsBack(t *testing.T, c Case) {
	s := c.Open(t)
	fault := errors.New("fault")
	err := s.Update(func(tx state.Tx) error {
		return errors.Join(tx.PutDelivery(sample("a", "blog", start)), tx.PutHold(state.Hold{Account: "x", Kind: platforms.RateLimited}), fault)
	})
	if !errors.Is(err, fault) {
		t.Fatalf("got %v, want the transaction's own error", err)
	}
	if err := s.View(func(r state.Reader) error { _, err := r.Delivery(state.Key{Article: "a", Target: "blog"}); return err }); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("delivery of a failed transaction: got %v, want ErrNotFound", err)
	}
	if keys := dueKeys(t, s, "blog", state.Changing, start); len(keys) != 0 {
		t.Errorf("due index of a failed transaction: got %v, want nothing", keys)
	}
}

func isolates(t *testing.T, c Case) {
	s := c.Open(t)
	const n = 40
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			d := sample(fmt.Sprint("a", i), "blog", start)
			if i%4 == 0 {
				d.Version = 9 // nothing is stored under that version
			}
			errs[i] = s.Update(func(tx state.Tx) error { return tx.PutDelivery(d) })
		})
	}
	wg.Wait()
	for i, err := range errs {
		if got, want := errors.Is(err, state.ErrConflict), i%4 == 0; got != want || (!want && err != nil) {
			t.Errorf("writer %d: got %v, want a conflict: %v", i, err, want)
		}
	}
	if got, want := len(dueKeys(t, s, "blog", state.Changing, start)), n*3/4; got != want {
		t.Errorf("saved: got %d, want %d", got, want)
	}
}

func dueKeys(t *testing.T, s state.Store, target string, class state.Class, now time.Time) []state.Key {
	t.Helper()
	return view(t, s, func(r state.Reader) ([]state.Key, error) {
		keys, _, err := r.Due(target, class, now, 1000)
		return keys, err
	})
}

func due(t *testing.T, c Case) {
	s := c.Open(t)
	for i, d := range []state.Delivery{
		sample("third", "blog", start.Add(3*time.Second)),
		sample("first", "blog", start.Add(time.Second)),
		sample("later", "blog", start.Add(time.Hour)),
		sample("second", "blog", start.Add(2*time.Second)),
		sample("other", "blog2", start),
		sample("waits", "blog", time.Time{}),
	} {
		if i == 1 {
			asking := sample("asking", "blog", start.Add(5*time.Second))
			asking.State = state.Uncertain
			putDelivery(t, s, asking)
		}
		putDelivery(t, s, d)
	}
	now := start.Add(time.Minute)
	err := s.View(func(r state.Reader) error {
		keys, next, err := r.Due("blog", state.Changing, now, 2)
		if err != nil {
			return err
		}
		want := []state.Key{{Article: "first", Target: "blog"}, {Article: "second", Target: "blog"}}
		if diff := cmp.Diff(want, keys); diff != "" {
			t.Errorf("first two (-want +got):\n%s", diff)
		}
		if want := start.Add(3 * time.Second); !next.Equal(want) {
			t.Errorf("next behind the limit: got %v, want %v", next, want)
		}
		keys, next, err = r.Due("blog", state.Changing, now, 10)
		if len(keys) != 3 || !next.Equal(start.Add(time.Hour)) {
			t.Errorf("all: got %v, next %v; want three, next at +1h", keys, next)
		}
		asking, none, err2 := r.Due("blog", state.Asking, now, 10)
		if len(asking) != 1 || !none.IsZero() {
			t.Errorf("asking: got %v, next %v; want one, and no next", asking, none)
		}
		n, err3 := r.Waiting("blog")
		if n != 4 {
			t.Errorf("waiting: got %d, want 4", n)
		}
		return errors.Join(err, err2, err3)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func dueFollows(t *testing.T, c Case) {
	s := c.Open(t)
	d := putDelivery(t, s, sample("a", "blog", start))
	d.State, d.Due = state.Uncertain, start.Add(time.Minute)
	d = putDelivery(t, s, d)
	if keys := dueKeys(t, s, "blog", state.Changing, start.Add(time.Hour)); len(keys) != 0 {
		t.Errorf("old place in the index: got %v, want nothing", keys)
	}
	if keys := dueKeys(t, s, "blog", state.Asking, start.Add(time.Hour)); len(keys) != 1 {
		t.Errorf("new place in the index: got %v, want one", keys)
	}
	d.State, d.Due = state.Published, time.Time{}
	putDelivery(t, s, d)
	if keys := dueKeys(t, s, "blog", state.Asking, start.Add(time.Hour)); len(keys) != 0 {
		t.Errorf("finished: got %v, want nothing", keys)
	}
}

func unfinished(t *testing.T, c Case) {
	s := c.Open(t)
	for _, x := range []struct {
		id, target string
		st         state.State
	}{
		{"a", "blog", state.Published},
		{"a", "blog2", state.Withdrawn},
		{"b", "blog", state.Published},
		{"b", "blog2", state.Failed},
		{"b2", "blog", state.Queued},
		{"b2", "blog2", state.Uncertain},
		{"c", "blog", state.Canceled},
	} {
		d := sample(x.id, x.target, time.Time{})
		d.State = x.st
		putDelivery(t, s, d)
	}
	got := view(t, s, func(r state.Reader) (ids []state.ArticleID, err error) {
		return ids, r.Unfinished(func(id state.ArticleID) error { ids = append(ids, id); return nil })
	})
	if diff := cmp.Diff([]state.ArticleID{"b", "b2"}, got); diff != "" {
		t.Errorf("unfinished (-want +got):\n%s", diff)
	}
}

func newest(t *testing.T, c Case) {
	s := c.Open(t)
	for i, id := range []state.ArticleID{"b", "c", "a"} {
		put(t, s, func(tx state.Tx) error {
			return tx.PutArticle(state.Article{ID: id, AcceptedAt: start.Add(time.Duration(i) * time.Hour)})
		})
	}
	got := view(t, s, func(r state.Reader) ([]state.ArticleID, error) { return r.Newest(2) })
	if diff := cmp.Diff([]state.ArticleID{"a", "c"}, got); diff != "" {
		t.Errorf("newest (-want +got):\n%s", diff)
	}
}

func checks(t *testing.T, c Case) {
	s := c.Open(t)
	a := state.Article{ID: "a", AcceptedAt: start, CheckDue: start.Add(time.Minute)}
	b := state.Article{ID: "b", AcceptedAt: start, CheckDue: start}
	put(t, s, func(tx state.Tx) error { return errors.Join(tx.PutArticle(a), tx.PutArticle(b)) })
	at := func(now time.Time) []state.ArticleID {
		return view(t, s, func(r state.Reader) ([]state.ArticleID, error) {
			ids, next, err := r.DueChecks(now, 10)
			if now.Equal(start) && !next.Equal(a.CheckDue) {
				t.Errorf("next: got %v, want %v", next, a.CheckDue)
			}
			return ids, err
		})
	}
	if diff := cmp.Diff([][]state.ArticleID{{"b"}, {"b", "a"}}, [][]state.ArticleID{at(start), at(start.Add(time.Hour))}); diff != "" {
		t.Errorf("due (-want +got):\n%s", diff)
	}
	b.Version, b.CheckDue = 1, time.Time{}
	put(t, s, func(tx state.Tx) error { return tx.PutArticle(b) })
	if diff := cmp.Diff([]state.ArticleID{"a"}, at(start.Add(time.Hour))); diff != "" {
		t.Errorf("after one was checked (-want +got):\n%s", diff)
	}
}

func sameText(t *testing.T, c Case) {
	s := c.Open(t)
	same := func(fp string) []state.ArticleID {
		ids := view(t, s, func(r state.Reader) ([]state.ArticleID, error) { return r.SameText(fp) })
		slices.Sort(ids)
		return ids
	}
	a := state.Article{ID: "a", Fingerprint: "one", AcceptedAt: start}
	b := state.Article{ID: "b", Fingerprint: "one", AcceptedAt: start}
	put(t, s, func(tx state.Tx) error { return errors.Join(tx.PutArticle(a), tx.PutArticle(b)) })
	if diff := cmp.Diff([]state.ArticleID{"a", "b"}, same("one")); diff != "" {
		t.Errorf("same text (-want +got):\n%s", diff)
	}
	a.Version, a.Fingerprint = 1, "two"
	put(t, s, func(tx state.Tx) error { return tx.PutArticle(a) })
	if diff := cmp.Diff([][]state.ArticleID{{"b"}, {"a"}}, [][]state.ArticleID{same("one"), same("two")}); diff != "" {
		t.Errorf("after a revision (-want +got):\n%s", diff)
	}
}

func receipts(t *testing.T, c Case) {
	s := c.Open(t)
	d := sample("a", "blog", time.Time{})
	d.State, d.Receipt = state.Published, platforms.Receipt{ID: "77"}
	putDelivery(t, s, d)
	for _, x := range []struct {
		target, id string
		owner      state.ArticleID
		known      bool
	}{{"blog", "77", "a", true}, {"blog2", "77", "", false}, {"blog", "78", "", false}} {
		err := s.View(func(r state.Reader) error {
			owner, known, err := r.ReceiptOwner(x.target, x.id)
			if owner != x.owner || known != x.known {
				t.Errorf("%s %s: got %q %v, want %q %v", x.target, x.id, owner, known, x.owner, x.known)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func memos(t *testing.T, c Case) {
	s := c.Open(t)
	k := state.Key{Article: "a", Target: "wechat"}
	put(t, s, func(tx state.Tx) error {
		return errors.Join(tx.PutMemo(k, 1, "draft", "D1"), tx.PutMemo(k, 1, platforms.MediaKey+"abc", "M1"))
	})
	for _, x := range []struct {
		k          state.Key
		generation int
		name, want string
		known      bool
	}{
		{k, 1, "draft", "D1", true},
		{k, 2, "draft", "", false},
		{k, 1, platforms.MediaKey + "abc", "M1", true},
		{k, 2, platforms.MediaKey + "abc", "M1", true},
		{state.Key{Article: "b", Target: "wechat"}, 1, "draft", "", false},
	} {
		err := s.View(func(r state.Reader) error {
			got, known, err := r.Memo(x.k, x.generation, x.name)
			if got != x.want || known != x.known {
				t.Errorf("memo %s of %s, generation %d: got %q %v, want %q %v", x.name, x.k, x.generation, got, known, x.want, x.known)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func verdicts(t *testing.T, c Case) {
	s := c.Open(t)
	put(t, s, func(tx state.Tx) error { return tx.PutVerdict("k", []byte("good")) })
	for key, want := range map[string]string{"k": "good", "other": ""} {
		err := s.View(func(r state.Reader) error {
			got, ok, err := r.Verdict(key)
			if string(got) != want || ok != (want != "") {
				t.Errorf("%s: got %q, %v; want %q", key, got, ok, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func holds(t *testing.T, c Case) {
	s := c.Open(t)
	h := state.Hold{Account: "wechat:wx1", Kind: platforms.Unauthorized, Code: "40164", Since: start, Until: start.Add(time.Hour), ForPerson: true, Level: 2, Total: time.Minute}
	put(t, s, func(tx state.Tx) error { return tx.PutHold(h) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = c.Open(t)
	if diff := cmp.Diff(h, view(t, s, func(r state.Reader) (state.Hold, error) { return r.Hold(h.Account) })); diff != "" {
		t.Errorf("hold after a restart (-want +got):\n%s", diff)
	}
	none := view(t, s, func(r state.Reader) (state.Hold, error) { return r.Hold("blog") })
	if diff := cmp.Diff(state.Hold{Account: "blog"}, none); diff != "" {
		t.Errorf("account without a hold (-want +got):\n%s", diff)
	}
}

func notices(t *testing.T, c Case) {
	s := c.Open(t)
	put(t, s, func(tx state.Tx) error {
		return errors.Join(tx.PutNotice(state.Notice{Message: "first"}), tx.PutNotice(state.Notice{Message: "second"}))
	})
	list := func(limit int) (texts []string) {
		for _, n := range view(t, s, func(r state.Reader) ([]state.Notice, error) { return r.Notices(limit) }) {
			texts = append(texts, n.Message)
		}
		return texts
	}
	if diff := cmp.Diff([][]string{{"first"}, {"first", "second"}}, [][]string{list(1), list(9)}); diff != "" {
		t.Errorf("waiting (-want +got):\n%s", diff)
	}
	first := view(t, s, func(r state.Reader) ([]state.Notice, error) { return r.Notices(1) })[0]
	put(t, s, func(tx state.Tx) error {
		return errors.Join(tx.DropNotice(first.ID), tx.DropNotice(first.ID), tx.PutNotice(state.Notice{Message: "third"}))
	})
	if diff := cmp.Diff([]string{"second", "third"}, list(9)); diff != "" {
		t.Errorf("after one was told (-want +got):\n%s", diff)
	}
}

func concurrent(t *testing.T, c Case) {
	s := c.Open(t)
	const writers, rounds = 16, 20
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			d := sample(fmt.Sprint("w", i), "blog", start)
			for range rounds {
				d.Attempts++
				if err := s.Update(func(tx state.Tx) error { return tx.PutDelivery(d) }); err != nil {
					t.Errorf("writer %d: %v", i, err)
					return
				}
				d.Version++
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = c.Open(t)
	for i := range writers {
		d := view(t, s, func(r state.Reader) (state.Delivery, error) {
			return r.Delivery(state.Key{Article: state.ArticleID(fmt.Sprint("w", i)), Target: "blog"})
		})
		if d.Attempts != rounds {
			t.Errorf("writer %d: got %d saves, want %d", i, d.Attempts, rounds)
		}
	}
}

func missing(t *testing.T, c Case) {
	s := c.Open(t)
	err := s.View(func(r state.Reader) error {
		if _, err := r.Article("none"); !errors.Is(err, state.ErrNotFound) {
			t.Errorf("article: got %v, want ErrNotFound", err)
		}
		if _, err := r.Delivery(state.Key{Article: "none", Target: "blog"}); !errors.Is(err, state.ErrNotFound) {
			t.Errorf("delivery: got %v, want ErrNotFound", err)
		}
		ds, err := r.Deliveries("none")
		if len(ds) != 0 {
			t.Errorf("deliveries: got %v, want none", ds)
		}
		return err
	})
	if err != nil {
		t.Errorf("view: %v", err)
	}
}
