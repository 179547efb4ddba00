package main

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"herald/state"
)

// B03, B14: the daemon is killed after every few things that it does to the
// disk: from the first look at the queue to the last write of the store. However
// often that is, each article becomes one page and one commit.
func TestKilledAtAnyMomentEachArticleIsPublishedOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t, twoTargets)
	p.bareRepo("remote.git")
	p.start().stop() // makes the folders

	var ids []string
	var logs strings.Builder
	for moment := 1; moment <= 46; moment += 3 {
		id := fmt.Sprintf("a%02d", moment)
		ids = append(ids, id)
		d := p.start()
		doings := p.watch()
		p.drop(id+".md", fmt.Sprintf("# 第 %d 篇\n\n正文 %d。\n", moment, moment))
		doings.await(moment)
		d.kill()
		doings.close()
		logs.WriteString(d.log.String())
	}

	p.start()
	for _, id := range ids {
		r := p.awaitState(id, state.ArticleSuccess)
		if n := p.listed("posts/" + id + "/"); n != 1 {
			t.Errorf("the index lists %s %d times", id, n)
		}
		if n := p.commits(id); n != 1 {
			t.Errorf("the repository has %d commits of %s: %+v", n, id, delivery(r, "hugo"))
		}
	}
	p.crawl(p.path("site/index.html"))
	p.want(0, "status")
	if !strings.Contains(logs.String(), "looked up first") {
		t.Error("no kill came during a call: the moments are badly chosen")
	}
}

// doings are what happens on the disk.
type doings struct {
	t *testing.T
	w *fsnotify.Watcher
}

// watch begins to count what the daemon does to its files.
func (p *place) watch() *doings {
	p.t.Helper()
	w, err := fsnotify.NewWatcher()
	if err != nil {
		p.t.Fatal(err)
	}
	for _, root := range []string{"data", "site", "remote.git"} {
		_ = filepath.WalkDir(p.path(root), func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				_ = w.Add(path) // what vanishes meanwhile is not watched
			}
			return nil
		})
	}
	// The watcher sends errors under the lock that Add takes, so whoever calls
	// Add must not be who reads them. What vanishes meanwhile is no matter here.
	go func() {
		for range w.Errors {
		}
	}()
	return &doings{p.t, w}
}

// await waits for the n-th doing, or until there are no more.
func (d *doings) await(n int) {
	d.t.Helper()
	idle := time.NewTimer(patience)
	defer idle.Stop()
	for range n {
		select {
		case e := <-d.w.Events:
			if e.Has(fsnotify.Create) {
				_ = d.w.Add(e.Name) // only folders can be
			}
			idle.Reset(2 * time.Second)
		case <-idle.C:
			return
		}
	}
}

func (d *doings) close() { _ = d.w.Close() }

func TestKilledAndNotStartedAgainItIsStillKnownWhatIsWhere(t *testing.T) {
	t.Parallel()
	p := newPlace(t, blogOnly)
	d := p.start()
	p.drop("a.md", "# 标题\n\n正文。\n")
	p.awaitState("a", state.ArticleSuccess)
	d.kill()

	r := p.want(0, "status")
	if !strings.Contains(r.out, "herald is not running") || !strings.Contains(r.out, "success") {
		t.Errorf("status of a killed daemon says %q", r.out)
	}
	if out := p.want(0, "status", "a").out; !strings.Contains(out, "land") {
		t.Errorf("status a does not tell the history: %q", out)
	}
	if r := p.want(1, "status", "b"); !strings.Contains(r.err, `no article has the id "b"`) {
		t.Errorf("status of an unknown article says %q", r.err)
	}
	for _, args := range [][]string{{"retry", "a"}, {"withdraw", "a"}, {"targets"}} {
		if r := p.want(1, args...); !strings.Contains(r.err, "herald is not running") || !strings.Contains(r.err, "herald run") {
			t.Errorf("herald %v says %q", args, r.err)
		}
	}
	p.start() // over the socket that was left behind
	p.want(0, "status")
}
