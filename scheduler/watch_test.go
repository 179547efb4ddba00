package scheduler

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"herald/article"
	"herald/compensate"
)

// watched is a queue that watches itself, in real time.
type watched struct {
	*rig
	sweep    chan struct{}
	admitted chan string
	stop     func()
}

func newWatched(t *testing.T, settle time.Duration) *watched {
	t.Helper()
	w := &watched{
		rig:   newRig(t, func(r *rig) { r.options.Settle = settle }),
		sweep: make(chan struct{}), admitted: make(chan string, 100),
	}
	w.around(&admitter{admit: func(src *article.Article, admit func() (compensate.Admission, error)) (compensate.Admission, error) {
		adm, err := admit()
		w.admitted <- src.ID
		return adm, err
	}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.queue.Watch(ctx, w.sweep)
	}()
	w.stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(w.stop)
	w.sweep <- struct{}{} // taken only when the watch stands
	w.sweep <- struct{}{}
	return w
}

// move writes files elsewhere on the same disk, some time ago, and renames their
// top into the queue.
func (w *watched) move(name string, files map[string]string) {
	w.Helper()
	dir := w.TempDir()
	for file, content := range files {
		w.must(os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755))
		w.must(os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644))
	}
	w.must(filepath.WalkDir(filepath.Join(dir, name), func(p string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(p, time.Unix(0, 0), time.Unix(0, 0)))
	}))
	w.must(os.Rename(filepath.Join(dir, name), w.path(name)))
}

func (w *watched) await(ids ...string) {
	w.Helper()
	for _, want := range ids {
		select {
		case got := <-w.admitted:
			if got != want {
				w.Errorf("admitted %s, want %s", got, want)
			}
		case <-time.After(20 * time.Second):
			w.Fatalf("%s is not admitted\n%s", want, w.log)
		}
	}
}

func TestARenameIntoPlaceWakesTheQueue(t *testing.T) { // B69
	w := newWatched(t, time.Hour)
	w.move("a.md", map[string]string{"a.md": text("A", "a")})
	w.await("a")
	w.move("trip", map[string]string{"trip/index.md": text("Trip", "![](a.png)"), "trip/a.png": picture(1)})
	w.await("trip")
	w.drop("slow.md", text("Slow", "may be written to for an hour"))
	w.sweep <- struct{}{}
	w.move("b.md", map[string]string{"b.md": text("B", "b")})
	w.await("b")
	w.stop()
	w.wantArticles("a", "b", "trip")
}

func TestACopyIsTakenAfterItsSettleTimeWithoutASweep(t *testing.T) {
	w := newWatched(t, 100*time.Millisecond)
	began := time.Now()
	w.drop("a.md", text("A", "a"))
	w.await("a")
	if took := time.Since(began); took < 100*time.Millisecond {
		t.Errorf("taken after %v, want it still for the settle time", took)
	}
}

func TestASlowWriterIsWaitedFor(t *testing.T) { // B69
	w := newWatched(t, 20*time.Millisecond)
	f, err := os.Create(w.path("a.md"))
	w.must(err)
	if !beingWritten(f.Name()) {
		t.Skip("this file system grants no leases")
	}
	for _, part := range []string{"---\ntitle: A\n---\n\none ", "two ", "three\n"} {
		_, err := f.WriteString(part)
		w.must(err)
		for range 3 {
			w.sweep <- struct{}{}
		}
	}
	w.must(f.Close())
	w.await("a")
	w.stop()
	w.publish()
	if got := w.accounts["blog"].bodies(); !slices.Equal(got, []string{"one two three"}) {
		t.Errorf("published %q, want all of it", got)
	}
}

func TestSavesOfEditorsAreFound(t *testing.T) { // B70
	for name, save := range map[string]func(w *watched, path, content string){
		"vim": func(w *watched, path, content string) {
			_ = os.Rename(path, path+"~") // not there the first time
			w.must(os.WriteFile(path, []byte(content), 0o644))
			_ = os.Remove(path + "~")
		},
		"a temporary file and a rename": func(w *watched, path, content string) {
			w.must(os.WriteFile(path+".tmp", []byte(content), 0o644))
			w.must(os.Rename(path+".tmp", path))
		},
		"in place": func(w *watched, path, content string) { w.must(os.WriteFile(path, []byte(content), 0o644)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatched(t, 50*time.Millisecond)
			for _, body := range []string{"one", "two"} {
				save(w, w.path("a.md"), text("A", body))
				w.await("a")
			}
			w.stop()
			if a := w.article("a"); a.Revision != 2 {
				t.Errorf("revision = %d, want 2", a.Revision)
			}
		})
	}
}

func TestAQueueFolderMadeAnewIsWatched(t *testing.T) { // B70
	w := newWatched(t, time.Hour)
	for range 3 { // an inode number that is used again must not fool the watch
		for os.RemoveAll(w.dir) != nil { // herald may be making it anew meanwhile
		}
		_ = os.Mkdir(w.dir, 0o770)
		w.move("a.md", map[string]string{"a.md": text("A", "a")})
		w.await("a")
		w.move("b.md", map[string]string{"b.md": text("B", "b")})
		w.await("b")
	}
	w.must(os.Rename(w.dir, w.dir+".old"))
	w.must(os.MkdirAll(w.dir, 0o770)) // herald may have been faster
	w.sweep <- struct{}{}
	w.move("c.md", map[string]string{"c.md": text("C", "c")})
	w.await("c")
}

func TestABusyWriterKeepsNoOtherWaiting(t *testing.T) {
	w := newWatched(t, time.Hour)
	f, err := os.Create(w.path("film.part"))
	w.must(err)
	defer f.Close()
	busy, err := os.Create(w.path("busy.md"))
	w.must(err)
	defer busy.Close()
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-quit:
				return
			default:
				_, _ = busy.WriteString("more\n") // an event each
			}
		}
	}()
	w.move("a.md", map[string]string{"a.md": text("A", "a")})
	w.await("a")
	close(quit)
	<-ended
}

func TestAStopEndsALookBetweenTwoArticles(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	r.around(&admitter{admit: func(_ *article.Article, admit func() (compensate.Admission, error)) (compensate.Admission, error) {
		cancel()
		return admit()
	}})
	r.put(map[string]string{"a.md": text("A", "a"), "b.md": text("B", "b")})
	r.look(0)
	r.queue.look(ctx, r.now.Add(2*time.Second), func(string) bool { return false })
	r.wantArticles("a")
	r.wantFiles(".done/a/r1/a.md", "b.md")
}

func TestWhatCameByARenameIsToldByEventsElseByItsTimes(t *testing.T) {
	put := func(path string) { _ = os.WriteFile(path, []byte("text"), 0o644) }
	old := func(path string) { _ = os.Chtimes(path, time.Unix(0, 0), time.Unix(0, 0)) }
	for _, c := range []struct {
		name   string
		make   func(dir string)
		events []fsnotify.Op
		want   bool
	}{
		{"written, and no event known", func(dir string) { put(dir + "/x") }, nil, false},
		{"moved, and no event known", func(dir string) { put(dir + "/y"); old(dir + "/y"); _ = os.Rename(dir+"/y", dir+"/x") }, nil, true},
		{"appeared with its content", func(dir string) { put(dir + "/x") }, []fsnotify.Op{fsnotify.Create}, true},
		{"appeared empty", func(dir string) { _ = os.WriteFile(dir+"/x", nil, 0o644) }, []fsnotify.Op{fsnotify.Create}, false},
		{"appeared and was written to", func(dir string) { put(dir + "/x") }, []fsnotify.Op{fsnotify.Create, fsnotify.Write}, false},
		{"its times were set while it is written", func(dir string) { put(dir + "/x"); old(dir + "/x") }, []fsnotify.Op{fsnotify.Create, fsnotify.Write, fsnotify.Chmod}, false},
		{"replaced what was written to", func(dir string) { put(dir + "/x") }, []fsnotify.Op{fsnotify.Write, fsnotify.Create}, true},
		{"a folder that was made", func(dir string) { _ = os.Mkdir(dir+"/x", 0o755) }, []fsnotify.Op{fsnotify.Create}, false},
		{"a folder that was made and given a mode", func(dir string) { _ = os.Mkdir(dir+"/x", 0o755); old(dir + "/x") }, []fsnotify.Op{fsnotify.Create, fsnotify.Chmod}, false},
		{"a folder that was moved", func(dir string) {
			_ = os.Mkdir(dir+"/y", 0o755)
			put(dir + "/y/index.md")
			old(dir + "/y/index.md")
			old(dir + "/y")
			_ = os.Rename(dir+"/y", dir+"/x")
		}, []fsnotify.Op{fsnotify.Create}, true},
		{"a folder that was moved and is written to", func(dir string) {
			_ = os.Mkdir(dir+"/y", 0o755)
			_ = os.Rename(dir+"/y", dir+"/x")
			put(dir + "/x/index.md")
			later := time.Now().Add(time.Hour)
			_ = os.Chtimes(dir+"/x/index.md", later, later)
		}, []fsnotify.Op{fsnotify.Create}, false},
		{"gone", func(string) {}, []fsnotify.Op{fsnotify.Create}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			w := &watcher{dir: dir, log: slog.New(slog.DiscardHandler), arrivals: map[string]arrival{}}
			c.make(dir)
			now := time.Now()
			for _, op := range c.events {
				w.saw(fsnotify.Event{Name: filepath.Join(dir, "x"), Op: op}, now)
			}
			if got := w.renamed("x", now.Add(debounce)); got != c.want {
				t.Errorf("renamed = %t, want %t", got, c.want)
			}
		})
	}
}

func TestWhatJustAppearedMayStillBeWrittenTo(t *testing.T) {
	w := &watcher{dir: t.TempDir(), log: slog.New(slog.DiscardHandler), arrivals: map[string]arrival{}}
	file := filepath.Join(w.dir, "x.md")
	if err := os.WriteFile(file, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	w.saw(fsnotify.Event{Name: file, Op: fsnotify.Create}, now)
	if w.renamed("x.md", now.Add(debounce-1)) {
		t.Error("a file counts as renamed before the event of its first write can have come")
	}
	if err := os.Chtimes(file, now.Add(time.Second), now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if w.renamed("x.md", now.Add(time.Minute)) {
		t.Error("a file counts as renamed though it was written to after it appeared")
	}
}

func TestEventsThatWereLostAreNotReliedOn(t *testing.T) {
	log := &logBuffer{}
	w := &watcher{dir: t.TempDir(), log: slog.New(slog.NewTextHandler(log, nil)), arrivals: map[string]arrival{}}
	file := filepath.Join(w.dir, "x.md")
	if err := os.WriteFile(file, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.saw(fsnotify.Event{Name: file, Op: fsnotify.Create}, time.Now())
	w.lost(fsnotify.ErrEventOverflow)
	if w.renamed("x.md", time.Now().Add(time.Minute)) {
		t.Error("a file counts as renamed though the events of its writing may be lost")
	}
	if !strings.Contains(log.String(), "overflow") {
		t.Error("nobody is told")
	}
}
