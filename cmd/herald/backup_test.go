package main

import (
	"os"
	"strings"
	"testing"

	"herald/state"
)

// B09: the store is lost, the sources and their receipts are there.
func TestALostStoreComesBackFromTheReceiptsAndNothingIsPublishedTwice(t *testing.T) {
	t.Parallel()
	p := newPlace(t, twoTargets)
	p.bareRepo("remote.git")
	d := p.start()
	for _, id := range []string{"a", "b", "c"} {
		p.drop(id+".md", "# 标题 "+id+"\n\n正文。\n")
		p.awaitState(id, state.ArticleSuccess)
	}
	d.stop()
	commits := p.git("--git-dir", p.path("remote.git"), "rev-list", "--count", "main")
	if err := os.Remove(p.path("data/herald.db")); err != nil {
		t.Fatal(err)
	}

	if r := p.want(1, "doctor"); !strings.Contains(r.out, "3 articles that have receipts") || !strings.Contains(r.out, "herald restore") {
		t.Errorf("doctor says nothing of the lost store:\n%s", r.out)
	}
	d = p.start()
	d.logged("herald restore")
	// One that is dropped again is known from its receipt.
	p.drop("a.md", "# 标题 a\n\n正文。\n")
	p.awaitState("a", state.ArticleSuccess)
	if r := p.want(1, "doctor"); !strings.Contains(r.out, "stored sources") {
		t.Errorf("doctor, while herald runs, says nothing:\n%s", r.out)
	}
	d.stop()
	if r := p.want(0, "restore"); !strings.Contains(r.out, "2 articles restored") || !strings.Contains(r.out, "1 article known") {
		t.Errorf("restore: %s%s", r.out, r.err)
	}
	d = p.start()
	for _, id := range []string{"b", "c"} {
		p.drop(id+".md", "# 标题 "+id+"\n\n正文。\n")
		p.await(id, "known", func(r state.Report) bool { return r.State == state.ArticleSuccess && r.Revision == 1 })
	}
	d.stop()
	if got := p.git("--git-dir", p.path("remote.git"), "rev-list", "--count", "main"); got != commits {
		t.Errorf("commits: %s before, %s after the store was lost", commits, got)
	}
}

func TestABackupIsTakenWhileHeraldRunsAndPutBackOnlyWhereNothingIs(t *testing.T) {
	t.Parallel()
	p := newPlace(t, blogOnly)
	p.want(1, "backup", "early.db")
	d := p.start()
	p.drop("a.md", "# 标题\n\n正文。\n")
	p.awaitState("a", state.ArticleSuccess)
	p.want(0, "backup", "copy.db")
	if r := p.want(1, "backup", "copy.db"); !strings.Contains(r.err, "nothing is overwritten") {
		t.Errorf("a backup over a backup: %s", r.err)
	}
	if r := p.want(1, "restore"); !strings.Contains(r.err, "stop herald first") {
		t.Errorf("restore while herald runs: %s", r.err)
	}
	d.stop()
	if r := p.want(1, "restore", "--from", "copy.db"); !strings.Contains(r.err, "move it aside") {
		t.Errorf("restore over a store: %s", r.err)
	}
	p.want(0, "backup", "later.db") // also while it is stopped
	if err := os.Remove(p.path("data/herald.db")); err != nil {
		t.Fatal(err)
	}
	p.want(0, "restore", "--from", "copy.db")
	if r := p.want(0, "status", "--json"); !strings.Contains(r.out, `"success"`) {
		t.Errorf("status after the restore: %s", r.out)
	}
}
