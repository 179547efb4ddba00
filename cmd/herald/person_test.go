package main

import (
	"os"
	"strings"
	"testing"

	"herald/state"
)

func TestACanceledArticleIsNotPublishedUntilItIsRepublished(t *testing.T) {
	t.Parallel()
	p := newPlace(t, blogOnly)
	p.start()
	p.drop("later.md", "---\ntitle: 明天见\npublish_at: 2099-01-01 09:00\n---\n正文。\n")
	p.awaitState("later", state.ArticleScheduled)
	p.want(2, "status")
	if out := p.want(0, "cancel", "later").out; out != "later → blog: queued → canceled\n" {
		t.Errorf("cancel says %q", out)
	}
	p.awaitState("later", state.ArticleCanceled)
	p.want(0, "status")
	if r := p.want(1, "cancel", "later"); !strings.Contains(r.out, "it is canceled") || r.err != "herald: nothing to cancel\n" {
		t.Errorf("a second cancel says %q and %q", r.out, r.err)
	}
	p.want(0, "republish", "later", "--target", "blog")
	p.awaitState("later", state.ArticleSuccess)
	if r := p.want(1, "cancel", "later"); !strings.Contains(r.out, "herald withdraw") {
		t.Errorf("cancel of a published article says %q", r.out)
	}
}

func TestAWithdrawalAsksFirst(t *testing.T) {
	t.Parallel()
	p := newPlace(t, blogOnly)
	p.start()
	p.drop("a.md", "# 标题\n\n正文。\n")
	url := p.awaitState("a", state.ArticleSuccess).Deliveries[0].URL
	page := strings.TrimPrefix(url, "file://")

	for _, no := range []string{"", "\n", "n\n", "maybe\n"} {
		r := p.answer(no, "withdraw", "a")
		if r.code != 1 || !strings.Contains(r.out, url) || !strings.Contains(r.out, "Readers lose the post") || !strings.Contains(r.err, "nothing was withdrawn") {
			t.Errorf("answered %q it says %q and %q, exit %d", no, r.out, r.err, r.code)
		}
	}
	if _, err := os.Stat(page); err != nil {
		t.Fatalf("the page is gone without a yes: %v", err)
	}
	if r := p.answer("y\n", "withdraw", "a"); r.code != 0 || !strings.Contains(r.out, "published → withdrawing") {
		t.Fatalf("answered y it says %q and %q, exit %d", r.out, r.err, r.code)
	}
	p.awaitState("a", state.ArticleWithdrawn)
	if _, err := os.Stat(page); !os.IsNotExist(err) {
		t.Errorf("the page is still there: %v", err)
	}
	if n := p.listed("posts/a/"); n != 0 {
		t.Errorf("the index still lists it %d times", n)
	}

	p.want(0, "republish", "a")
	p.await("a", "published again", func(r state.Report) bool { return r.State == state.ArticleSuccess && r.Deliveries[0].Generation == 2 })
	if n := p.listed("posts/a/"); n != 1 {
		t.Errorf("after a republish the index lists it %d times", n)
	}
	p.want(0, "withdraw", "a", "--yes")
	p.awaitState("a", state.ArticleWithdrawn)
}

func TestADraftWaitsForApproval(t *testing.T) {
	t.Parallel()
	p := newPlace(t, twoTargets)
	p.bareRepo("remote.git")
	p.start()
	p.drop("a.md", "---\ntitle: 草稿\ndraft: true\n---\n正文。\n")
	p.awaitState("a", state.ArticleHeld)
	if out := p.want(3, "status").out; strings.Count(out, "herald approve a") != 1 {
		t.Errorf("status does not say once how to release it:\n%s", out)
	}
	p.want(0, "approve", "a", "--target", "blog")
	r := p.await("a", "on the blog", func(r state.Report) bool { return delivery(r, "blog").State == state.Published })
	if hugo := delivery(r, "hugo"); hugo.State != state.Queued || hugo.Due != nil || hugo.Attempts != 0 {
		t.Errorf("hugo is %+v, want held", hugo)
	}
	p.want(3, "status")
	p.want(0, "approve", "a")
	p.awaitState("a", state.ArticleSuccess)
	if r := p.want(1, "approve", "a"); !strings.Contains(r.err, "not held") {
		t.Errorf("a second approve says %q", r.err)
	}
}

func TestCommandsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	p := newPlace(t, twoTargets)
	p.bareRepo("remote.git")
	p.start()
	p.drop("a.md", "# 标题\n\n正文。\n")
	p.awaitState("a", state.ArticleSuccess)
	tests := []struct {
		name string
		args []string
		says string
	}{
		{"retry of nothing", []string{"retry"}, "name an article, or a target with --target"},
		{"retry of an unknown article", []string{"retry", "b"}, "article b: no such record"},
		{"retry on an unknown target", []string{"retry", "a", "--target", "c"}, "it has [blog hugo]"},
		{"retry of an unknown target", []string{"retry", "--target", "c"}, "configured are [blog hugo]"},
		{"retry of what is published", []string{"retry", "a"}, "nothing to retry"},
		{"resolve without a word", []string{"resolve", "a", "blog"}, "either --published URL or --missing"},
		{"resolve with both words", []string{"resolve", "a", "blog", "--missing", "--published", "https://x"}, "either --published URL or --missing"},
		{"resolve without a target", []string{"resolve", "a", "--missing"}, "accepts 2 arg(s)"},
		{"resolve at no address", []string{"resolve", "a", "blog", "--published", "x"}, "no address"},
		{"resolve of an unknown article", []string{"resolve", "b", "blog", "--missing"}, "no such record"},
		{"resolve of what is not uncertain", []string{"resolve", "a", "blog", "--missing"}, "nothing to resolve"},
		{"withdraw of an unknown article", []string{"withdraw", "b"}, "article b: no such record"},
		{"approve of an unknown article", []string{"approve", "b"}, "no such record"},
		{"republish of an unknown article", []string{"republish", "b"}, "article b: no such record"},
		{"cancel of two articles", []string{"cancel", "a", "b"}, "accepts 1 arg(s)"},
		{"status of an unknown article", []string{"status", "b"}, `no article has the id "b"`},
		{"status of no articles", []string{"status", "--limit", "0"}, "positive number"},
		{"an unknown command", []string{"statsu"}, "unknown command"},
		{"an unknown flag", []string{"status", "--jsn"}, "unknown flag"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := p.herald(tt.args...)
			if r.code != 1 || !strings.HasPrefix(r.err, "herald: ") || !strings.Contains(r.err, tt.says) {
				t.Errorf("herald %v: exit %d, %q, want 1 and %q", tt.args, r.code, r.err, tt.says)
			}
		})
	}
	if r := p.want(1, "resolve", "a", "blog", "--missing"); !strings.Contains(r.out, "it is published") {
		t.Errorf("resolve does not say why: %q", r.out)
	}
	if r := p.awaitState("a", state.ArticleSuccess); r.Deliveries[0].Attempts != 1 || p.commits("a") != 1 {
		t.Errorf("a command that was refused did something: %+v", r)
	}
}
