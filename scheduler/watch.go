package scheduler

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// debounce gathers the events of one save into one look.
	debounce = 50 * time.Millisecond
	// leastPause is the shortest time between two looks that no event asks for.
	leastPause = 10 * time.Millisecond
)

// Watch looks at the queue whenever something in it changes, whenever an entry
// has had its settle time, and in any case at every sweep, until ctx ends.
func (q *Queue) Watch(ctx context.Context, sweep <-chan struct{}) {
	w := newWatcher(q.Dir, q.log)
	defer w.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	next := time.Now() // when the timer fires; zero: it does not
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case e := <-w.events():
			// Further events do not put a look off, or a long copy would keep
			// the other entries waiting.
			now := time.Now()
			if at := now.Add(debounce); w.saw(e, now) && (next.IsZero() || at.Before(next)) {
				next = at
				timer.Reset(debounce)
			}
			continue
		case err := <-w.errors():
			w.lost(err)
			continue
		case <-sweep:
		case <-timer.C:
		}
		if q.ensure() == nil { // else the look tells
			w.refresh()
		}
		now := time.Now()
		next = q.look(ctx, now, func(name string) bool { return w.renamed(name, now) })
		if ripe := w.latest.Add(debounce); ripe.After(now) && (next.IsZero() || ripe.Before(next)) {
			next = ripe // what just appeared was looked at too early
		}
		if next.IsZero() {
			timer.Stop()
			continue
		}
		next = later(next, time.Now().Add(leastPause))
		timer.Reset(time.Until(next))
	}
}

// arrival is what the events told of how an entry came.
type arrival struct {
	at time.Time // when it appeared; zero if that was not seen
	// touched says that somebody wrote to it since, or changed its mode or times.
	touched bool
}

// watcher is fsnotify on one folder, kept alive over the folder's removal. If
// the system has no watch left, it watches nothing and says so once.
type watcher struct {
	dir      string
	log      *slog.Logger
	fs       *fsnotify.Watcher
	faults   chan error
	failed   bool
	arrivals map[string]arrival // by name
	latest   time.Time          // of the arrivals
}

func newWatcher(dir string, log *slog.Logger) *watcher {
	w := &watcher{dir: dir, log: log, arrivals: map[string]arrival{}, faults: make(chan error, 1)}
	w.refresh()
	return w
}

// refresh watches the folder that has the name now. It is called before every
// look: a folder that was removed and made anew takes its watch with it, and may
// even get the old one's inode number. To watch what is watched costs nothing.
func (w *watcher) refresh() {
	err := w.watch()
	if err != nil && !w.failed {
		w.log.Warn("queue folder cannot be watched; it is looked at by the sweep alone", "error", err)
	}
	w.failed = err != nil
}

func (w *watcher) watch() (err error) {
	if w.fs == nil {
		if w.fs, err = fsnotify.NewWatcher(); err != nil {
			w.fs = nil
			return err
		}
		go w.drain(w.fs.Errors)
	}
	return w.fs.Add(w.dir)
}

func (w *watcher) events() <-chan fsnotify.Event {
	if w.fs == nil {
		return nil
	}
	return w.fs.Events
}

// drain takes fsnotify's errors, which it sends while it holds the lock that Add
// takes: whoever calls Add must not be the one who reads them. It ends when the
// watcher is closed.
func (w *watcher) drain(errs <-chan error) {
	for err := range errs {
		select {
		case w.faults <- err:
		default: // one is as good as many: the sweep makes up for them
		}
	}
}

func (w *watcher) errors() <-chan error { return w.faults }

func (w *watcher) close() {
	if w.fs != nil {
		_ = w.fs.Close() // nothing is lost with a watch
	}
}

// lost forgets what events told, since some are missing.
func (w *watcher) lost(err error) {
	w.log.Warn("events of the queue folder were lost; the sweep makes up for them", "error", err)
	clear(w.arrivals)
}

// saw takes an event in and reports whether it is worth a look.
func (w *watcher) saw(e fsnotify.Event, now time.Time) bool {
	name := filepath.Base(e.Name)
	if ignored(name) {
		return false
	}
	switch {
	case e.Has(fsnotify.Create):
		w.arrivals[name], w.latest = arrival{at: now}, now
	case e.Has(fsnotify.Remove), e.Has(fsnotify.Rename):
		delete(w.arrivals, name)
	default:
		w.arrivals[name] = arrival{at: w.arrivals[name].at, touched: true}
	}
	return !e.Has(fsnotify.Chmod)
}

// renamed reports whether an entry came by a rename, so that it is complete: it
// got its place after everything in it was written, or it appeared with content
// and nobody touched it since. That nobody did is known a moment later only, when
// the events of a file that was made and written to have come.
func (w *watcher) renamed(name string, now time.Time) bool {
	came := w.arrivals[name]
	path := filepath.Join(w.dir, name)
	info, err := os.Lstat(path)
	if err != nil || came.touched {
		return false
	}
	if placed, ok := changeTime(info); ok && writtenBefore(path, placed) {
		return true
	}
	ripe := !came.at.IsZero() && now.Sub(came.at) >= debounce
	return ripe && info.Mode().IsRegular() && info.Size() > 0 && !info.ModTime().After(came.at)
}

// writtenBefore reports whether everything at path was last written before t.
func writtenBefore(path string, t time.Time) bool {
	err := filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && !info.ModTime().Before(t) {
			err = fs.ErrInvalid
		}
		return err
	})
	return err == nil
}
