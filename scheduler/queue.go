package scheduler

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"herald/article"
	"herald/compensate"
	"herald/state"
)

// Admitter takes articles in.
type Admitter interface {
	Revision(src *article.Article) (revision int, changed bool, err error)
	Admit(src *article.Article, source string, quality *state.Quality, now time.Time) (compensate.Admission, error)
	// Wanted returns the enabled targets that an article goes to.
	Wanted(src *article.Article) []string
	// Known reports whether the store has a record of the article.
	Known(id state.ArticleID) (bool, error)
	// Restore puts a record back that the store has lost.
	Restore(a state.Article, ds []state.Delivery, now time.Time) (bool, error)
}

// QueueOptions is what a Queue is made of.
type QueueOptions struct {
	Dir      string
	Settle   time.Duration // a file that was still for this long is taken
	Location *time.Location
	Targets  []string // names that an article may use
	// SkipIfLate is for articles that say nothing themselves; 0: never skip.
	SkipIfLate time.Duration
	// Check judges an article before it is admitted; nil: no verdict.
	Check func(*article.Article) *state.Quality
	// Admitted is called after an article was admitted; nil: nobody asks.
	Admitted func(id state.ArticleID)
	// Room says why nothing may be taken now; nil: there always is room.
	Room func() error
}

// Queue is the folder that people drop articles in. What is dropped is afterwards
// in the folder itself, in .done or in .bad: nothing is ever deleted that has no
// copy in one of them.
type Queue struct {
	QueueOptions
	admit Admitter
	read  func(path string, o article.Options) (*article.Article, error)
	log   *slog.Logger

	mu        sync.Mutex // a look and a pruning keep out of each other's way
	seen      map[string]*sighting
	strangers map[string]bool // entries that are no articles, told already
	trouble   string          // with the folder itself, told already
}

// The folders below the queue folder that are herald's own, and the one that
// articles share images in.
const (
	doneDir   = ".done"
	badDir    = ".bad"
	assetsDir = "assets"
)

// NewQueue makes a queue on a folder, which is made if it is not there, and puts
// back what a crash left half cleared away.
func NewQueue(o QueueOptions, admit Admitter, log *slog.Logger) (*Queue, error) {
	q := &Queue{
		QueueOptions: o, admit: admit, read: article.Load, log: log,
		seen: map[string]*sighting{}, strangers: map[string]bool{},
	}
	if err := q.ensure(); err != nil {
		return nil, err
	}
	q.recover(time.Now())
	return q, nil
}

// ensure makes the folders: at the start, and after somebody removed them. Who
// else may write to them is the umask's to say.
func (q *Queue) ensure() error {
	for _, dir := range []string{q.Dir, q.path(doneDir), q.path(badDir)} {
		if err := os.MkdirAll(dir, 0o770); err != nil {
			return fmt.Errorf("make queue folder: %w; make it a folder that herald may write to, or choose another with queue.dir", err)
		}
	}
	return nil
}

// path returns the path of something in the queue folder.
func (q *Queue) path(elem ...string) string {
	return filepath.Join(append([]string{q.Dir}, elem...)...)
}

// Look takes every article that is complete and returns when the next one could
// be; zero if nothing waits. renamed tells of entries that came by a rename, and
// so are complete at once. An entry that cannot be read is set aside, and never
// keeps the others waiting.
func (q *Queue) Look(now time.Time, renamed func(name string) bool) time.Time {
	return q.look(context.Background(), now, renamed)
}

// look is Look that ends between two entries when ctx does.
func (q *Queue) look(ctx context.Context, now time.Time, renamed func(name string) bool) (next time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	entries, err := q.list()
	if err != nil {
		if q.trouble != err.Error() {
			q.trouble = err.Error()
			q.log.Error("queue folder cannot be used", "error", err)
		}
		return now.Add(pollPause) // somebody may be making it anew
	}
	if q.Room != nil {
		if err := q.Room(); err != nil {
			if q.trouble != err.Error() {
				q.trouble = err.Error()
				q.log.Error("nothing is taken from the queue for now", "error", err)
			}
			return now.Add(faultRest)
		}
	}
	q.trouble = ""
	present := map[string]bool{}
	for _, e := range entries {
		if ctx.Err() != nil {
			return next
		}
		name := e.Name()
		if ignored(name) {
			continue
		}
		present[name] = true
		if why := q.noArticle(e); why != "" {
			q.tellStranger(name, why)
			continue
		}
		delete(q.strangers, name)
		if at := q.consider(name, now, renamed(name)); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	forget(q.seen, present)
	forget(q.strangers, present)
	return next
}

// list returns what is in the queue folder, which is made if it is not there.
func (q *Queue) list() ([]fs.DirEntry, error) {
	if err := q.ensure(); err != nil {
		return nil, err
	}
	return os.ReadDir(q.Dir)
}

func forget[V any](known map[string]V, present map[string]bool) {
	for name := range known {
		if !present[name] {
			delete(known, name)
		}
	}
}

// ignored reports whether a name is junk that editors and copies leave.
func ignored(name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || strings.HasSuffix(name, "~") {
		return true
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".tmp", ".part", ".swp":
		return true
	}
	return false
}

// noArticle says why an entry is none; empty for one that is. What is no article
// stays where it is: it may be a picture that an article beside it refers to, or
// a folder that is still being filled.
func (q *Queue) noArticle(e fs.DirEntry) string {
	name, isDir := e.Name(), e.IsDir()
	if e.Type()&fs.ModeSymlink != 0 {
		if info, err := os.Stat(q.path(name)); err == nil {
			isDir = info.IsDir()
		}
	}
	switch {
	case isDir && name == assetsDir:
		return "the shared images"
	case isDir && !q.holdsMarkdown(name):
		return "a folder without a Markdown file; an article's is named index.md"
	case !isDir && !isMarkdown(name):
		return "an article's name ends in .md"
	}
	return ""
}

// holdsMarkdown reports whether a folder can be an article. One that cannot be
// listed can: what is wrong with it is told when it is read.
func (q *Queue) holdsMarkdown(dir string) bool {
	entries, err := os.ReadDir(q.path(dir))
	if err != nil {
		return true
	}
	for _, e := range entries {
		if isMarkdown(e.Name()) && !ignored(e.Name()) {
			return true
		}
	}
	return false
}

func isMarkdown(name string) bool { return strings.EqualFold(filepath.Ext(name), ".md") }

// tellStranger says once that an entry is left alone. Pictures and their folder
// belong there.
func (q *Queue) tellStranger(name, why string) {
	if q.strangers[name] {
		return
	}
	q.strangers[name] = true
	if name != assetsDir && !strings.HasPrefix(mime.TypeByExtension(strings.ToLower(filepath.Ext(name))), "image/") {
		q.log.Info("not an article, left where it is", "file", name, "why", why)
	}
}
