package scheduler

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"herald/article"
	"herald/compensate"
)

func TestACrashAfterStoringAndBeforeAdmittingLosesNothing(t *testing.T) {
	r := newRig(t)
	r.drop("a.md", text("A", "text"))
	r.around(&admitter{admit: func(*article.Article, func() (compensate.Admission, error)) (compensate.Admission, error) {
		return compensate.Admission{}, errCrash
	}})
	r.settle()
	r.wantArticles()
	r.wantFiles("a.md", ".done/a/r1/a.md")

	r.around(&admitter{})
	r.settle()
	r.publish()
	r.wantArticles("a")
	r.wantFiles(".done/a/r1/a.md")
	if n := len(r.accounts["blog"].posts); n != 1 {
		t.Errorf("%d posts, want one", n)
	}
}

func TestAnEditAfterSuchACrashIsKeptBesideWhatWasStored(t *testing.T) {
	r := newRig(t)
	r.drop("a.md", text("A", "first"))
	r.around(&admitter{admit: func(*article.Article, func() (compensate.Admission, error)) (compensate.Admission, error) {
		return compensate.Admission{}, errCrash
	}})
	r.settle()
	r.drop("a.md", text("A", "second"))
	r.around(&admitter{})
	r.settle()
	r.publish()
	if got := r.accounts["blog"].bodies(); !slices.Equal(got, []string{"second"}) {
		t.Errorf("published %q, want the second text only", got)
	}
	r.wantFiles(".done/a/r1/a.md", ".done/a/r1.2/a.md")
}

func TestACrashAfterAdmittingAndBeforeClearingAwayAdmitsOnce(t *testing.T) {
	r := newRig(t)
	r.drop("a.md", text("A", "text"))
	r.around(&admitter{admit: func(_ *article.Article, admit func() (compensate.Admission, error)) (compensate.Admission, error) {
		if _, err := admit(); err != nil {
			t.Error(err)
		}
		return compensate.Admission{}, errCrash
	}})
	r.settle()
	r.wantFiles("a.md", ".done/a/r1/a.md")

	r.around(&admitter{})
	r.settle()
	r.publish()
	r.wantFiles(".done/a/r1/a.md")
	if a := r.article("a"); a.Revision != 1 || len(r.accounts["blog"].posts) != 1 {
		t.Errorf("record = %+v, %d posts; want one of each", a, len(r.accounts["blog"].posts))
	}
}

func TestACrashWhileClearingAwayIsMended(t *testing.T) {
	t.Run("taken, and not looked at again", func(t *testing.T) {
		r := newRig(t)
		r.drop(".done/.taken/a.md", text("A", "saved over in the last moment"))
		r.drop(".done/.taken/trip/index.md", text("Trip", "text"))
		r.restart()
		r.wantFiles("a.md", "trip/index.md")
		r.settle()
		r.wantArticles("a", "trip")
	})
	t.Run("while another one of its name came", func(t *testing.T) {
		r := newRig(t)
		r.drop(".done/.taken/a.md", text("A", "older"))
		r.drop("a.md", text("A", "newer"))
		r.restart()
		r.settle()
		r.publish()
		r.wantFiles(".bad/a.md", ".bad/a.md.reason.txt", ".done/a/r1/a.md")
		if got := r.accounts["blog"].bodies(); !slices.Equal(got, []string{"newer"}) {
			t.Errorf("published %q, want the newer one", got)
		}
	})
	t.Run("half deleted", func(t *testing.T) {
		r := newRig(t)
		r.drop(".done/.trash/1/trip/a.png", picture(1))
		r.restart()
		r.settle()
		r.wantFiles()
	})
}

func TestACopyThatACrashCutShortIsMadeAnew(t *testing.T) {
	r := newRig(t)
	r.put(map[string]string{".done/a/.new/a.md": "half of", ".done/a/.new/more": "x", "a.md": text("A", "text")})
	r.settle()
	r.wantArticles("a")
	r.wantFiles(".done/a/r1/a.md")
}

// The store was lost, or put back from a backup.
func TestSourcesOfAForgottenArticleStay(t *testing.T) { // B09
	r := newRig(t)
	r.put(map[string]string{".done/a/r1/a.md": text("A", "of another life"), "a.md": text("A", "text")})
	r.settle()
	r.publish()
	r.wantFiles(".done/a/r1/a.md", ".done/a/r1.2/a.md")
	if got := r.accounts["blog"].bodies(); !slices.Equal(got, []string{"text"}) {
		t.Errorf("published %q, want what was dropped", got)
	}
}

func TestAFileReplacedBetweenReadingAndStoringIsNotAdmittedAsTheOther(t *testing.T) {
	r := newRig(t)
	r.drop("a.md", text("A", "first"))
	once := true
	r.around(&admitter{beforeRevision: func(*article.Article) {
		if once {
			once = false
			r.drop("a.md", text("A", "half of the sec"))
		}
	}})
	r.look(0)
	r.look(r.options.Settle)
	r.wantArticles()
	r.drop("a.md", text("A", "half of the second, and the rest"))
	r.settle()
	r.publish()
	if got := r.accounts["blog"].bodies(); !slices.Equal(got, []string{"half of the second, and the rest"}) {
		t.Errorf("published %q, want the whole text only\n%s", got, r.log)
	}
}

func TestAHalfWrittenFileThatWasReadAndStoredIsNotAdmitted(t *testing.T) {
	r := newRig(t)
	r.drop("a.md", text("A", "first"))
	r.queue.read = func(path string, o article.Options) (*article.Article, error) {
		r.drop("a.md", text("A", "half of the sec"))
		return article.Load(path, o)
	}
	r.look(0)
	r.look(r.options.Settle)
	r.wantArticles()
}

func TestAPictureReplacedBetweenReadingAndStoringIsNotAdmittedAsTheOther(t *testing.T) {
	r := newRig(t)
	r.put(map[string]string{"a.md": text("A", "![](a.png)"), "a.png": picture(1)})
	once := true
	r.around(&admitter{beforeRevision: func(*article.Article) {
		if once {
			once = false
			r.drop("a.png", picture(2))
		}
	}})
	r.look(0)
	r.look(r.options.Settle)
	r.wantArticles()
	r.settle()
	r.publish()
	if posts := r.accounts["blog"].posts; len(posts) != 1 || r.files()[".done/a/r1/a.png"] != picture(2) {
		t.Errorf("posts = %+v, files = %q; want one post with the second picture", posts, r.files())
	}
}

func TestAFileReplacedBetweenReadingAndClearingAwayIsNotLost(t *testing.T) {
	for _, c := range []struct {
		name, entry string
		first, then map[string]string
	}{
		{"a file", "a.md", map[string]string{"a.md": text("A", "first")}, map[string]string{"a.md": text("A", "second")}},
		{"a folder", "a", map[string]string{"a/index.md": text("A", "first")}, map[string]string{"a/index.md": text("A", "second"), "a/more.txt": "m"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.put(c.first)
			once := true
			r.around(&admitter{admit: func(_ *article.Article, admit func() (compensate.Admission, error)) (compensate.Admission, error) {
				if once {
					once = false
					r.put(c.then)
				}
				return admit()
			}})
			r.look(0)
			r.look(r.options.Settle)
			if a := r.article("a"); a.Revision != 1 {
				t.Fatalf("revision = %d, want 1", a.Revision)
			}
			r.renamed[c.entry] = true // putting it back looks like a rename, and is none
			r.look(r.options.Settle)
			if a := r.article("a"); a.Revision != 1 {
				t.Error("what was put back was taken at once, though somebody is writing to it")
			}
			r.settle()
			r.publish()
			if got := r.accounts["blog"].bodies(); !slices.Equal(got, []string{"second"}) {
				t.Errorf("published %q, want the second text", got)
			}
			if !exists(r.path(".done/a/r1")) || !exists(r.path(".done/a/r2")) || exists(r.path(c.entry)) {
				t.Errorf("files = %q, want both revisions in .done", r.files())
			}
		})
	}
}

func TestAFileThatSomebodyOpensWhileItIsAdmittedGoesBack(t *testing.T) {
	r := newRig(t)
	r.drop("a.md", text("A", "first"))
	if f, err := os.OpenFile(r.path("a.md"), os.O_WRONLY, 0); err != nil || !beingWritten(f.Name()) {
		t.Skip("this file system grants no leases")
	} else {
		r.must(f.Close())
	}
	var f *os.File
	r.around(&admitter{admit: func(_ *article.Article, admit func() (compensate.Admission, error)) (compensate.Admission, error) {
		if f == nil {
			var err error
			f, err = os.OpenFile(r.path("a.md"), os.O_WRONLY|os.O_APPEND, 0)
			r.must(err)
		}
		return admit()
	}})
	r.look(0)
	r.look(r.options.Settle)
	defer f.Close()
	_, err := f.WriteString("and more\n")
	r.must(err)
	r.must(f.Close())
	r.settle()
	r.publish()
	if got := r.accounts["blog"].bodies(); !slices.Equal(got, []string{"first\nand more"}) {
		t.Errorf("published %q, want the whole text", got)
	}
}

func TestAnAdmittedEntryThatCannotBeClearedAwayIsAdmittedOnceAndToldOnce(t *testing.T) {
	r := newRig(t)
	r.drop("a.md", text("A", "text"))
	r.drop("b.md", text("B", "text of b"))
	r.drop(".done/.taken/a.md", "in the way")
	calls := 0
	r.admit.(*admitter).admit = func(src *article.Article, admit func() (compensate.Admission, error)) (compensate.Admission, error) {
		if src.ID == "a" {
			calls++
		}
		return admit()
	}
	for range 10 {
		r.look(faultRest)
	}
	r.wantArticles("a", "b")
	if n := strings.Count(r.log.String(), "stays in the queue"); n != 1 || calls != 1 {
		t.Errorf("admitted %d times, told %d times; want once each\n%s", calls, n, r.log)
	}
	r.must(os.Remove(filepath.Join(r.dir, ".done/.taken/a.md")))
	r.look(faultRest)
	if exists(r.path("a.md")) {
		t.Error("not cleared away though nothing is in the way any more")
	}
}
