package platformtest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"herald/article"
	"herald/platforms"
)

// checks are the promises of an adapter, in the order in which a broken one is
// best understood.
var checks = []check{
	{"renders the same post from the same article", rendersTheSame},
	{"refuses what is over a limit", refusesTooLong},
	{"publishes once and returns an id", publishesOnce},
	{"makes no second post when called again with the same memo", publishesAgain},
	{"finds nothing on an empty platform", findsNothing},
	{"finds its own post and no other", findsItsOwn},
	{"updates in place, and again with the same result", updates},
	{"withdraws, and again with success", withdraws},
	{"keeps two articles apart that are published at once", keepsApart},
	{"probes without leaving a trace", probes},
	{"ends with one post when any call was not sent", notSent},
	{"ends with one post when any reply is lost", replyLost},
	{"ends with one post after a crash at any call", crash},
	{"ends with one post when the memo cannot be written", memoFails},
	{"ends with one post when cancelled at any call", cancelled},
	{"starts nothing once the context is cancelled", cancelledBefore},
	{"updates after a fault at any call", updatesAfterFault},
	{"withdraws after a fault at any call", withdrawsAfterFault},
	{"gives every listed code its kind", listedCodes},
	{"calls an unlisted code unknown", unlistedCode},
	{"names platform, operation and kind in every error", errorsAreComplete},
	{"tells no secret", tellsNoSecret},
}

func rendersTheSame(t testing.TB, c Case) {
	b := setUp(t, c)
	a := b.articles.One
	before := snapshot(t, a)
	first := b.render(a, 1)
	if first.Slug != a.ID {
		t.Errorf("slug %q, want the article's id %q", first.Slug, a.ID)
	}
	var wg sync.WaitGroup
	again := make([]platforms.Post, 4)
	for i := range again {
		wg.Go(func() { again[i], _ = b.platform.Render(a) })
	}
	wg.Wait()
	b.reopen()
	again = append(again, b.render(a, 1))
	for _, p := range again {
		p.Key, p.Revision = first.Key, first.Revision
		if diff := cmp.Diff(first, p); diff != "" {
			t.Errorf("rendered again it differs (-first +again):\n%s", diff)
		}
	}
	if diff := cmp.Diff(before, snapshot(t, a)); diff != "" {
		t.Errorf("rendering changed the article (-before +after):\n%s", diff)
	}
	if n := len(b.world.Posts()); n != 0 {
		t.Errorf("rendering made %d posts", n)
	}
}

// snapshot writes down all of an article that an adapter could change.
func snapshot(t testing.TB, a *article.Article) string {
	t.Helper()
	text, err := json.MarshalIndent(a, "", " ")
	if err != nil {
		t.Fatalf("encode article: %v", err)
	}
	return string(text)
}

func refusesTooLong(t testing.TB, c Case) {
	if c.TooLong == nil {
		t.Skip("the platform has no limit")
	}
	b := setUp(t, c)
	_, err := b.platform.Render(c.TooLong)
	if kind := platforms.KindOf(err); kind != platforms.Rejected {
		t.Fatalf("kind %q (%v), want %q", kind, err, platforms.Rejected)
	}
	b.complete(err)
	if !strings.ContainsAny(err.Error(), "0123456789") {
		t.Errorf("%q does not name the limit", err)
	}
}

func publishesOnce(t testing.TB, c Case) {
	b := setUp(t, c)
	b.mustLand(b.delivery(b.render(b.articles.One, 1)))
	b.shows(b.articles.One, 1)
}

func publishesAgain(t testing.TB, c Case) {
	if c.Repeats {
		t.Skip("the platform offers nothing against a second post")
	}
	b := setUp(t, c)
	d := b.delivery(b.render(b.articles.One, 1))
	first := b.mustLand(d)
	b.reopen()
	again := b.mustLand(d)
	if first.ID != again.ID {
		t.Errorf("id %q, and %q when called again", first.ID, again.ID)
	}
	b.shows(b.articles.One, 1)
}

func findsNothing(t testing.TB, c Case) {
	b := setUp(t, c)
	finder := ability[platforms.Finder](b)
	found, err := finder.Find(t.Context(), b.render(b.articles.One, 1), since(b.began), NewMemo())
	if err != nil {
		t.Fatalf("an empty platform is no error: %v", err)
	}
	if found.Outcome != platforms.Absent || found.Receipt != (platforms.Receipt{}) || len(found.Twins) != 0 {
		t.Errorf("found %+v, want Absent and no receipt", found)
	}
}

func findsItsOwn(t testing.TB, c Case) {
	b := setUp(t, c)
	ability[platforms.Finder](b)
	d := b.delivery(b.render(b.articles.One, 1))
	r := b.mustLand(d)
	b.reopen()
	finder := ability[platforms.Finder](b)
	found, err := finder.Find(t.Context(), d.post, since(b.began), d.memo)
	if err != nil || found.Outcome != platforms.Present || found.Receipt.ID != r.ID || len(found.Twins) != 0 {
		t.Errorf("found %+v, %v; want Present with id %q and no twin", found, err, r.ID)
	}
	other := b.render(b.articles.Other, 1)
	found, err = finder.Find(t.Context(), other, since(b.began), NewMemo())
	if err != nil || found.Outcome != platforms.Absent {
		t.Errorf("found %+v, %v for an article that was not published; want Absent", found, err)
	}
}

func updates(t testing.TB, c Case) {
	b := setUp(t, c)
	ability[platforms.Updater](b)
	d := b.delivery(b.render(b.articles.One, 1))
	r := b.mustLand(d)
	d.post = b.render(b.articles.Revised, 2)
	for _, when := range []string{"updated", "updated again", "updated after a restart"} {
		next, err := ability[platforms.Updater](b).Update(t.Context(), d.post, r, d.memo)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if next.ID != r.ID {
			t.Errorf("%s: id %q, want %q", when, next.ID, r.ID)
		}
		b.shows(b.articles.Revised, 1)
		b.reopen()
	}
}

func withdraws(t testing.TB, c Case) {
	b := setUp(t, c)
	ability[platforms.Withdrawer](b)
	r := b.mustLand(b.delivery(b.render(b.articles.One, 1)))
	b.mustLand(b.delivery(b.render(b.articles.Other, 1)))
	for _, when := range []string{"withdrawn", "withdrawn again", "withdrawn after a restart"} {
		if err := ability[platforms.Withdrawer](b).Withdraw(t.Context(), r); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		b.shows(b.articles.Other, 1)
		b.reopen()
	}
}

func keepsApart(t testing.TB, c Case) {
	b := setUp(t, c)
	articles := []*article.Article{b.articles.One, b.articles.Other}
	var wg sync.WaitGroup
	receipts, errs := make([]platforms.Receipt, 2), make([]error, 2)
	for i, a := range articles {
		d := b.delivery(b.render(a, 1))
		wg.Go(func() {
			r, err := d.publish(t.Context())
			if err != nil {
				r, err = d.settle(t.Context(), err)
			}
			receipts[i], errs[i] = b.land(t.Context(), r, err)
		})
	}
	wg.Wait()
	for i, a := range articles {
		if errs[i] != nil {
			t.Fatalf("publish %q: %v", a.ID, errs[i])
		}
	}
	if receipts[0].ID == receipts[1].ID {
		t.Errorf("both articles have the id %q", receipts[0].ID)
	}
	b.shows(articles[0], 2)
	b.shows(articles[1], 2)
}

func probes(t testing.TB, c Case) {
	b := setUp(t, c)
	if err := ability[platforms.Prober](b).Probe(t.Context()); err != nil {
		t.Errorf("a healthy platform: %v", err)
	}
	if n := len(b.world.Posts()); n != 0 {
		t.Errorf("%d posts after the probe, want none", n)
	}
}

// mustLand publishes on a world without faults, and waits for the review.
func (b *bench) mustLand(d *delivery) platforms.Receipt {
	b.t.Helper()
	r, err := d.publish(b.t.Context())
	if r, err = b.land(b.t.Context(), r, err); err != nil {
		b.t.Fatalf("publish %q: %v", d.post.Slug, err)
	}
	return r
}

// land polls a receipt until the platform has decided.
func (b *bench) land(ctx context.Context, r platforms.Receipt, err error) (platforms.Receipt, error) {
	reviewer, ok := b.platform.(platforms.Reviewer)
	for step := 0; ok && err == nil && r.Pending && step < maxSteps; step++ {
		r, err = reviewer.Review(ctx, r)
		b.keep(err, r)
	}
	return r, err
}

// shows fails unless there are n posts, and a is exactly one of them.
func (b *bench) shows(a *article.Article, n int) {
	b.t.Helper()
	b.showsAfter(a, n, "afterwards")
}

func (b *bench) showsAfter(a *article.Article, n int, when string) {
	b.t.Helper()
	posts := b.world.Posts()
	if len(posts) != n {
		b.t.Errorf("%s: %d posts on the platform, want %d", when, len(posts), n)
	}
	posts = slices.DeleteFunc(posts, func(text string) bool { return !strings.Contains(text, a.Title) })
	if len(posts) != 1 {
		b.t.Errorf("%s: %d posts show the title %q, want 1", when, len(posts), a.Title)
	}
}
