package scheduler

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"herald/article"
	"herald/compensate"
	"herald/state"
)

// sighting is what is known of an entry that is not out of the queue yet.
type sighting struct {
	shape   string    // names, sizes and times of everything in it
	since   time.Time // when it first had this shape
	waiting time.Time // when something of it was first found missing
	// admitted says that this shape is admitted, and only clearing it away failed.
	admitted bool
	// returned says that it was put back because somebody wrote to it: that it
	// came by a rename means nothing then.
	returned bool
	told     string // the last message, which is not repeated
}

// pollPause is the shortest pause before an incomplete entry is looked at again.
const pollPause = time.Second

// missingFor is how long is waited for what an article lacks: an image that is
// not there, or the right to read it, which a copy often gives last.
const missingFor = time.Minute

// sight notes what an entry looks like now.
func (q *Queue) sight(name, shape string, now time.Time) *sighting {
	s := q.seen[name]
	if s == nil {
		s = &sighting{since: now}
		q.seen[name] = s
	}
	if s.shape != shape {
		*s = sighting{shape: shape, since: now, returned: s.returned}
	}
	return s
}

// consider takes one entry if it is complete, else says when to look again.
func (q *Queue) consider(name string, now time.Time, renamed bool) time.Time {
	path := q.path(name)
	shape, err := shapeOf(path)
	if errors.Is(err, fs.ErrNotExist) { // it is on its way out, or being changed
		return now.Add(q.pause())
	}
	s := q.sight(name, shape, now)
	if at := s.since.Add(q.Settle); at.After(now) && (!renamed || s.returned) {
		return at
	}
	switch {
	case err != nil:
		err = unreadable(name, err)
	case s.admitted:
		err = q.clearAway(name, s, now)
	case beingWrittenIn(path):
		if now.Sub(s.since) > missingFor && s.tell("open") {
			q.log.Warn("article is not taken: a program has it open for writing", "file", name)
		}
		return now.Add(q.pause())
	default:
		err = q.take(name, s, now)
	}
	return q.conclude(name, s, err, now)
}

// conclude decides what the outcome of reading an entry means for it.
func (q *Queue) conclude(name string, s *sighting, err error, now time.Time) time.Time {
	if err == nil {
		return time.Time{}
	}
	if errors.Is(err, errMoving) {
		return now.Add(q.pause())
	}
	patience, own := q.patience(err)
	if !own { // the store or the disk, not the article: it stays where it is
		if s.tell(err.Error()) {
			q.log.Error("article stays in the queue for now", "file", name, "admitted", s.admitted, "error", err)
		}
		return now.Add(faultRest)
	}
	if s.waiting.IsZero() {
		s.waiting = now
	}
	if at := s.waiting.Add(patience); at.After(now) {
		if s.tell(err.Error()) {
			q.log.Warn("article is waited for", "file", name, "until", at, "error", err)
		}
		return earliest(at, now.Add(q.pause()))
	}
	q.refuse(name, s, err, now)
	return time.Time{}
}

// patience says how long a fault of the article itself may last before it is
// refused, and whether it is one. A fault that time cannot mend gets none.
func (q *Queue) patience(err error) (wait time.Duration, own bool) {
	if errors.Is(err, errUnreadable) {
		return missingFor, true
	}
	problems, own := errors.AsType[article.Problems](err)
	for _, p := range problems {
		switch p.Rule {
		case article.RuleImageMissing, "image-unreadable":
			wait = max(wait, missingFor)
		case "image-invalid": // perhaps it is only half there
			wait = max(wait, q.Settle)
		default:
			return 0, own
		}
	}
	return wait, own
}

func (q *Queue) pause() time.Duration { return max(q.Settle, pollPause) }

// tell reports whether the message is another one than last time.
func (s *sighting) tell(message string) bool {
	again := s.told == message
	s.told = message
	return !again
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

var (
	// errUnreadable: the entry is there, but herald cannot read it.
	errUnreadable = errors.New("cannot be read")
	// errMoving: somebody changed the entry while it was read.
	errMoving = errors.New("is being changed")
)

func unreadable(name string, err error) error {
	return fmt.Errorf("%s: %w (%w); let the user that herald runs as read it, for instance with chmod -R g+rX", name, errUnreadable, err)
}

// take loads, stores, admits and clears away one complete entry.
func (q *Queue) take(name string, s *sighting, now time.Time) error {
	src, err := q.load(name)
	if err != nil {
		return err
	}
	if q.picturesMove(src, now) {
		return errMoving
	}
	if len(q.admit.Wanted(src)) == 0 {
		return article.Problems{{
			File: name, Rule: "platform-disabled", What: "none of the targets it goes to is enabled",
			Fix: "enable one in the configuration, or name another under platforms",
		}}
	}
	if err := q.remember(src.ID, now); err != nil {
		return err
	}
	revision, _, err := q.admit.Revision(src)
	if err != nil {
		return err
	}
	source, err := q.store(name, src, revision)
	if err != nil {
		return fmt.Errorf("store source of %s: %w", src.ID, err)
	}
	// What is admitted is what is stored, and nobody wrote in between.
	if shape, err := shapeOf(q.path(name)); err != nil || shape != s.shape {
		return errMoving
	}
	stored, err := loadStored(q.Dir, source, article.Options{Location: q.Location, ID: src.ID, Targets: q.Targets})
	if err != nil {
		return fmt.Errorf("read stored source of %s: %s", src.ID, err.Error()) // no fault of the dropped file
	}
	if stored.Hash != src.Hash {
		return errMoving
	}
	var quality *state.Quality
	if q.Check != nil {
		quality = q.Check(src)
	}
	adm, err := q.admit.Admit(src, source, quality, now)
	if err != nil {
		return err
	}
	s.admitted = true
	if q.Admitted != nil {
		q.Admitted(adm.ID)
	}
	q.logAdmission(name, src, adm)
	return q.clearAway(name, s, now)
}

// remember brings back what the store has lost of an article that has a receipt:
// what was published once is not published again because a file is gone.
func (q *Queue) remember(id string, now time.Time) error {
	known, err := q.admit.Known(state.ArticleID(id))
	if known || err != nil {
		return err
	}
	r, ok, err := ReadReceipt(q.Dir, id)
	if !ok || err != nil {
		return err
	}
	if _, err := q.admit.Restore(r.Article, r.Deliveries, now); err != nil {
		return err
	}
	q.log.Warn("the store did not know this article: restored from its receipt", "article", id)
	return nil
}

// load reads an entry. An article that makes the reader panic is refused like any
// other that cannot be read; it must not end the daemon at every start.
func (q *Queue) load(name string) (src *article.Article, err error) {
	defer func() {
		if v := recover(); v != nil {
			q.log.Error("reading an article panicked", "file", name, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = article.Problems{{
				File: name, Rule: "panic", What: fmt.Sprintf("herald cannot read it (%v)", v),
				Fix: "this is a fault of herald; please report it with the file",
			}}
		}
	}()
	path := q.path(name)
	info, err := os.Stat(path)
	switch {
	case err != nil: // a link to nothing, or to itself
		return nil, unreadable(name, err)
	case !info.IsDir() && !info.Mode().IsRegular(): // opening a device may do something
		return nil, article.Problems{{
			File: name, Rule: "not-regular", What: "it is not a regular file", Fix: "put the Markdown file itself into the queue",
		}}
	}
	src, err = q.read(path, article.Options{Location: q.Location, Root: q.Dir, Name: name, Targets: q.Targets})
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, unreadable(name, err) // no right, a link to nothing, a loop of links, a socket
	}
	if err != nil {
		return nil, err
	}
	if src.SkipIfLate == 0 {
		src.SkipIfLate = q.SkipIfLate
	}
	return src, nil
}

// picturesMove reports whether an image outside of the entry, where its shape
// does not show it, is still being written.
func (q *Queue) picturesMove(src *article.Article, now time.Time) bool {
	for _, im := range pictures(src) {
		info, err := os.Stat(im.Path)
		if err != nil {
			return true
		}
		changed, known := changeTime(info)
		inPlace := known && changed.After(info.ModTime()) // it came by a rename
		if !inPlace && info.ModTime().Add(q.Settle).After(now) || beingWritten(im.Path) {
			return true
		}
	}
	return false
}

// pictures are all local images of an article: of the body, and every cover.
func pictures(src *article.Article) []article.Image {
	var local []article.Image
	add := func(im *article.Image) {
		if im != nil && im.Path != "" {
			local = append(local, *im)
		}
	}
	for i := range src.Images {
		add(&src.Images[i])
	}
	add(src.Cover)
	for _, values := range src.Overrides {
		cover, _ := values["cover"].(*article.Image)
		add(cover)
	}
	return local
}

// shapeOf describes everything in an entry, so that two equal shapes mean that
// nothing was written in between. It is the same wherever the entry lies.
func shapeOf(path string) (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%q %s", strings.TrimPrefix(p, path), info.Mode())
		if d.Type()&fs.ModeSymlink != 0 {
			if target, err := os.Stat(p); err == nil {
				info = target
			}
		}
		if !info.IsDir() { // a folder changes when something in it does
			fmt.Fprintf(&b, " %d %d", info.Size(), info.ModTime().UnixNano())
		}
		b.WriteByte('\n')
		return nil
	})
	return b.String(), err
}

// beingWrittenIn reports whether somebody has a file of the entry open for
// writing.
func beingWrittenIn(path string) (found bool) {
	// What cannot be listed has a shape that cannot be had, and is told there.
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && beingWritten(p) {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

func (q *Queue) logAdmission(name string, src *article.Article, adm compensate.Admission) {
	log := q.log.With("article", src.ID, "file", name, "revision", adm.Revision)
	switch {
	case adm.Hold != nil:
		log.Warn("article is held", "reason", adm.Hold.Reason, "why", adm.Hold.Message)
	case adm.New:
		log.Info("article accepted", "title", src.Title, "targets", adm.Added)
	case adm.Changed:
		log.Info("article changed", "title", src.Title, "targets_added", adm.Added)
	default:
		log.Info("article known already", "targets_added", adm.Added)
	}
	for _, note := range src.Notes {
		log.Info("note", "note", note)
	}
}
