package scheduler

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"herald/state"
)

func TestAFileIsTakenWhenItHasBeenStill(t *testing.T) {
	r := newRig(t)
	r.drop("hello.md", text("Hello", "World"))
	at := r.look(0)
	if want := r.now.Add(2 * time.Second); !at.Equal(want) {
		t.Errorf("next look at %v, want %v", at, want)
	}
	r.look(1999 * time.Millisecond)
	r.wantArticles()
	if at := r.look(time.Millisecond); !at.IsZero() {
		t.Errorf("next look at %v, want none: nothing waits", at)
	}
	r.wantArticles("hello")
	r.wantFiles(".done/hello/r1/hello.md")
	if got := r.article("hello"); got.Sources[0] != ".done/hello/r1/hello.md" || !slices.Equal(got.Targets, []string{"blog", "weibo"}) {
		t.Errorf("record = %+v, want its source below .done and both targets", got)
	}
	r.publish()
	if got := r.accounts["blog"].bodies(); !slices.Equal(got, []string{"World"}) {
		t.Errorf("published %q, want one World", got)
	}
}

func TestAWrittenFileIsWatchedAnew(t *testing.T) {
	r := newRig(t)
	r.drop("hello.md", text("Hello", "one"))
	r.look(0)
	r.drop("hello.md", text("Hello", "one and two"))
	r.look(1500 * time.Millisecond)
	r.look(1500 * time.Millisecond) // 3 s after the drop, 1.5 s after the last write was seen
	r.wantArticles()
	r.look(500 * time.Millisecond)
	r.wantArticles("hello")
}

// A server's clock may be behind, so the file's own times say nothing.
func TestAFileWithAnOldTimeIsWatchedAllTheSame(t *testing.T) {
	r := newRig(t)
	r.drop("hello.md", text("Hello", "half"))
	old := r.now.Add(-time.Hour)
	r.must(os.Chtimes(r.path("hello.md"), old, old))
	r.look(0)
	r.wantArticles()
}

func TestARenameIntoPlaceIsTakenAtTheNextLookWhateverTheSettleTime(t *testing.T) { // B69
	r := newRig(t, func(r *rig) { r.options.Settle = time.Hour })
	r.drop("hello.md", text("Hello", "World"))
	r.drop("slow.md", text("Slow", "being written"))
	r.renamed["hello.md"] = true
	r.look(0)
	r.wantArticles("hello")
}

func TestAFolderHoldsIndexAndItsImages(t *testing.T) {
	r := newRig(t)
	r.put(map[string]string{
		"trip/index.md":     text("Trip", "![](img/a.png)"),
		"trip/img/a.png":    picture(1),
		"trip/notes.txt":    "not referred to",
		"trip/.git/HEAD":    "ref",
		"trip/img/deep/b":   "more",
		"trip/img/deep/c~":  "junk is kept too",
		"trip/appendix.pdf": "%PDF",
	})
	r.settle()
	r.wantArticles("trip")
	r.wantFiles(
		".done/trip/r1/index.md", ".done/trip/r1/img/a.png", ".done/trip/r1/notes.txt", ".done/trip/r1/.git/HEAD",
		".done/trip/r1/img/deep/b", ".done/trip/r1/img/deep/c~", ".done/trip/r1/appendix.pdf",
	)
	r.publish()
	if got := r.accounts["weibo"].posts; len(got) != 1 || len(got[0].Images) != 1 {
		t.Errorf("published %+v, want one post with one image", got)
	}
}

func TestAFolderIsTakenWhenEverythingInItIsStill(t *testing.T) { // B69
	r := newRig(t)
	r.drop("trip/index.md", text("Trip", "![](a.png)"))
	r.look(0)
	r.drop("trip/a.png", picture(1)[:20])
	r.look(time.Second)
	r.drop("trip/a.png", picture(1))
	r.look(time.Second)
	r.look(1999 * time.Millisecond)
	r.wantArticles()
	r.look(time.Millisecond)
	r.wantArticles("trip")
}

func TestAFolderWithoutMarkdownIsLeftAlone(t *testing.T) {
	r := newRig(t)
	r.must(os.Mkdir(r.path("empty"), 0o755))
	r.put(map[string]string{"pictures/a.png": picture(1), "text/article.txt": "no Markdown"})
	r.settle()
	r.look(time.Hour)
	r.wantFiles("pictures/a.png", "text/article.txt")
	if n := strings.Count(r.log.String(), "file=text "); n != 1 {
		t.Errorf("told %d times that the folder is no article, want once:\n%s", n, r.log)
	}
	r.drop("empty/index.md", text("Filled at last", "text"))
	r.settle()
	r.wantArticles("empty")
}

func TestJunkNamesAreIgnored(t *testing.T) { // B70
	junk := []string{
		".hidden.md", ".hello.md.swp", "_draft.md", "hello.md~", "hello.md.tmp", "hello.md.part", "hello.swp",
		"UPPER.TMP", ".DS_Store", "._hello.md", "_folder/index.md", ".folder/index.md", "dir.tmp/index.md", "~",
	}
	for _, name := range junk {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.put(map[string]string{name: text("Junk", "never"), "real.md": text("Real", "always")})
			r.settle()
			r.look(time.Hour)
			r.wantArticles("real")
			r.wantFiles(name, ".done/real/r1/real.md")
		})
	}
}

func TestWhatIsNoMarkdownStaysAndIsToldOnce(t *testing.T) {
	r := newRig(t)
	r.put(map[string]string{"a.txt": "text", "b.png": picture(1), "c.markdown": "# C", "noext": "x"})
	r.settle()
	r.settle()
	r.wantArticles()
	r.wantFiles("a.txt", "b.png", "c.markdown", "noext")
	for name, want := range map[string]int{"a.txt": 1, "b.png": 0, "c.markdown": 1, "noext": 1} {
		if n := strings.Count(r.log.String(), "file="+name); n != want {
			t.Errorf("told of %s %d times, want %d", name, n, want)
		}
	}
	r.must(os.Remove(r.path("a.txt")))
	r.look(0)
	r.drop("a.txt", "again")
	r.look(0)
	if n := strings.Count(r.log.String(), "file=a.txt"); n != 2 {
		t.Errorf("told %d times of a file that came again, want 2", n)
	}
}

func TestAFileThatSomebodyHasOpenForWritingIsNotTaken(t *testing.T) { // B69: 3 parts over 6 s
	r := newRig(t)
	f, err := os.Create(r.path("slow.md"))
	r.must(err)
	defer f.Close()
	for _, part := range []string{"---\ntitle: Slow\n", "---\n\none\n", "\ntwo\n"} {
		_, err := f.WriteString(part)
		r.must(err)
		r.look(0)
		r.look(3 * time.Second) // still for longer than the settle time
		r.wantArticles()
	}
	if !beingWritten(f.Name()) {
		t.Skip("this file system grants no leases")
	}
	r.look(2 * time.Minute)
	if !strings.Contains(r.log.String(), "open for writing") {
		t.Error("nobody is told what a file waits for")
	}
	r.must(f.Close())
	r.look(2 * time.Second)
	r.wantArticles("slow")
	r.publish()
	if got := r.accounts["blog"].bodies(); !slices.Equal(got, []string{"one\n\ntwo"}) {
		t.Errorf("published %q, want all three parts", got)
	}
}

func TestAFolderIsNotTakenWhileAFileInItIsOpenForWriting(t *testing.T) {
	r := newRig(t)
	r.put(map[string]string{"trip/index.md": text("Trip", "![](a.png)"), "trip/a.png": picture(1)})
	f, err := os.OpenFile(r.path("trip/a.png"), os.O_WRONLY, 0)
	r.must(err)
	defer f.Close()
	r.settle()
	r.wantArticles()
	r.must(f.Close())
	r.settle()
	r.wantArticles("trip")
}

func TestManyArticlesAreTakenInOneLook(t *testing.T) {
	r := newRig(t)
	files := map[string]string{}
	for i := range 50 {
		name := "n" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		files[name+".md"] = text(name, name)
	}
	r.put(files)
	r.look(0)
	r.look(2 * time.Second)
	if n := len(r.articles()); n != 50 {
		t.Errorf("%d articles admitted, want 50", n)
	}
}

func TestAFolderOfThousandsOfFilesIsTaken(t *testing.T) {
	r := newRig(t)
	files := map[string]string{"big/index.md": text("Big", "text")}
	for i := range 2000 {
		files["big/"+string(rune('a'+i%26))+"/"+time.Duration(i).String()] = "x"
	}
	r.put(files)
	r.settle()
	r.wantArticles("big")
	if n := len(r.files()); n != 2001 {
		t.Errorf("%d files kept, want 2001", n)
	}
}

func TestFoldersAreMadeForTheGroupAsTheUmaskAllows(t *testing.T) {
	old := syscall.Umask(0o007)
	defer syscall.Umask(old)
	r := newRig(t)
	for _, dir := range []string{"", ".done", ".bad"} {
		info, err := os.Stat(filepath.Join(r.dir, dir))
		r.must(err)
		if info.Mode().Perm() != 0o770 {
			t.Errorf("%q has mode %v, want 0770", dir, info.Mode())
		}
	}
}

func TestAQueueFolderThatIsAFileIsRefusedWithARemedy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "queue")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := NewQueue(QueueOptions{Dir: file}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "queue.dir") {
		t.Errorf("error = %v, want one that names the folder and the key", err)
	}
}

func TestAQueueFolderThatCannotBeUsedForAWhileIsToldOnceAndLookedAtSoon(t *testing.T) {
	r := newRig(t)
	r.must(os.RemoveAll(r.dir))
	r.must(os.WriteFile(r.dir, nil, 0o644))
	for range 5 {
		if at := r.look(time.Second); !at.Equal(r.now.Add(pollPause)) {
			t.Errorf("next look at %v, want soon", at)
		}
	}
	if n := strings.Count(r.log.String(), "cannot be used"); n != 1 {
		t.Errorf("told %d times, want once:\n%s", n, r.log)
	}
	r.must(os.Remove(r.dir))
	r.look(time.Second)
	r.drop("a.md", text("A", "text"))
	r.settle()
	r.wantArticles("a")
}

func TestNothingIsTakenWithoutRoomAndWhatWasAdmittedIsTold(t *testing.T) {
	full := errors.New("the disk is full")
	var told []state.ArticleID
	r := newRig(t, func(r *rig) {
		r.options.Room = func() error { return full }
		r.options.Admitted = func(id state.ArticleID) { told = append(told, id) }
	})
	r.drop("a.md", text("A", "text"))
	for range 5 {
		r.look(faultRest)
	}
	r.wantFiles("a.md")
	if n := strings.Count(r.log.String(), "the disk is full"); n != 1 || len(told) != 0 {
		t.Errorf("told %d times that there is no room and of %q, want once and of none", n, told)
	}
	full = nil
	r.settle()
	r.wantFiles(".done/a/r1/a.md")
	if !slices.Equal(told, []state.ArticleID{"a"}) {
		t.Errorf("told of %q, want a", told)
	}
}

func TestPruningRemovesWhatIsFinishedAndOld(t *testing.T) {
	r := newRig(t)
	r.put(map[string]string{"old.md": text("Old", "a"), "open.md": text("Open", "b"), "new.md": text("New", "c")})
	r.settle()
	long := r.now.Add(-100 * 24 * time.Hour)
	for _, id := range []string{"old", "open"} {
		r.must(os.Chtimes(r.path(".done/"+id), long, long))
	}
	asked := []string{}
	r.queue.Prune(r.now.Add(-90*24*time.Hour), func(id state.ArticleID) (bool, error) {
		asked = append(asked, string(id))
		return id != "open", nil
	})
	if slices.Sort(asked); !slices.Equal(asked, []string{"old", "open"}) {
		t.Errorf("asked about %q, want only what is old", asked)
	}
	r.wantFiles(".done/new/r1/new.md", ".done/open/r1/open.md")
	r.drop("old.md", text("Old", "a")) // the source comes again with the file
	r.settle()
	r.wantFiles(".done/new/r1/new.md", ".done/open/r1/open.md", ".done/old/r1/old.md")
}
