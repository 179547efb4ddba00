package scheduler

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"
)

// Folders in .done for entries on their way out of the queue: taken, and not yet
// looked at again; and trash, of which .done is known to have a copy.
const (
	takenDir = ".taken"
	trashDir = ".trash"
)

// clearAway removes an admitted entry, of which .done has a copy. It is moved
// first and looked at again: what somebody wrote to it in the meantime has not
// been admitted, and goes back.
func (q *Queue) clearAway(name string, s *sighting, now time.Time) error {
	taken := q.path(doneDir, takenDir, name)
	if err := os.MkdirAll(filepath.Dir(taken), 0o750); err != nil {
		return fmt.Errorf("clear away: %w", err)
	}
	err := renameNew(q.path(name), taken)
	if errors.Is(err, fs.ErrPermission) { // a folder moves only for who may write in it
		return fmt.Errorf("clear away: %w; remove it by hand, and let the group of herald write in what you drop (chmod -R g+w)", err)
	}
	if err != nil {
		return fmt.Errorf("clear away: %w", err)
	}
	if shape, err := shapeOf(taken); err != nil || shape != s.shape || beingWrittenIn(taken) {
		return q.putBack(name, now)
	}
	delete(q.seen, name)
	if err := q.discard(taken); err != nil {
		q.log.Warn("what was taken cannot be deleted; there is a copy of it", "file", name, "error", err)
	}
	return nil
}

// discard deletes what has a copy. In the trash that may go piece by piece: a
// crash in the middle does not bring the half of an article back.
func (q *Queue) discard(taken string) error {
	trash := q.path(doneDir, trashDir)
	if err := os.MkdirAll(trash, 0o750); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(trash, "")
	if err != nil {
		return err
	}
	if err := os.Rename(taken, filepath.Join(dir, filepath.Base(taken))); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// putBack returns a taken entry to the queue. If there is another one of its name
// by now, that is the newer one, and this one is set aside.
func (q *Queue) putBack(name string, now time.Time) error {
	taken := q.path(doneDir, takenDir, name)
	err := renameNew(taken, q.path(name))
	switch {
	case err == nil:
		q.seen[name] = &sighting{since: now, returned: true}
		return errMoving
	case errors.Is(err, fs.ErrExist):
		delete(q.seen, name)
		return q.setAside(taken, name, errors.New(name+": it was replaced while herald was taking it; the newer one was read instead"), now)
	default:
		return fmt.Errorf("put back: %w", err)
	}
}

// recover puts back what a crash left between the queue and .done. Admitting it
// again changes nothing. What cannot be put back is told, and is no reason not to
// start.
func (q *Queue) recover(now time.Time) {
	if err := os.RemoveAll(q.path(doneDir, trashDir)); err != nil {
		q.log.Warn("trash of the queue folder cannot be emptied", "error", err)
	}
	entries, err := os.ReadDir(q.path(doneDir, takenDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		q.log.Error("what a crash left cannot be put back", "error", err)
	}
	for _, e := range entries {
		if err := q.putBack(e.Name(), now); err != nil && !errors.Is(err, errMoving) {
			q.log.Error("what a crash left cannot be put back", "file", e.Name(), "error", err)
		}
	}
}

// refuse sets an entry aside with the reason. If it cannot be moved, the reason
// is told all the same, once.
func (q *Queue) refuse(name string, s *sighting, why error, now time.Time) {
	if s.told == refusedMark+why.Error() {
		return
	}
	if err := q.setAside(q.path(name), name, why, now); err != nil {
		s.told = refusedMark + why.Error()
		q.log.Error("article refused, and it cannot be moved away", "file", name, "why", why, "error", err)
		return
	}
	delete(q.seen, name)
}

const refusedMark = "refused: "

// setAside moves path to .bad under name, with the reason beside it. The reason
// comes first: it is there too if the move fails.
func (q *Queue) setAside(path, name string, why error, now time.Time) error {
	reason := why.Error() + "\n\nMend it and drop it in the queue folder again.\n"
	for n := 0; ; n++ {
		aside := q.path(badDir, asideName(name, now, n))
		beside := q.path(badDir, asideName(name, now, n, reasonSuffix))
		if exists(aside) {
			continue
		}
		f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o660)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			_, err = f.WriteString(reason)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			q.log.Error("reason cannot be written", "file", name, "error", err)
		}
		err = renameNew(path, aside)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			q.log.Error("article refused", "file", name, "moved_to", filepath.Join(badDir, filepath.Base(aside)), "why", why)
		}
		return err
	}
}

const (
	reasonSuffix = ".reason.txt"
	maxName      = 255 // bytes of a file name on most file systems
)

// asideName is the name in .bad for the n-th entry of a name, cut where it would
// be too long to be a file name.
func asideName(name string, now time.Time, n int, suffix ...string) string {
	prefix, end := "", ""
	if n > 0 {
		prefix = fmt.Sprintf("%s-%d-", now.UTC().Format("20060102T150405"), n)
	}
	if len(suffix) > 0 {
		end = suffix[0]
	}
	for len(prefix)+len(name)+len(end) > maxName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return prefix + name + end
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// renameUnlessThere is renameNew where the system has no such call; between the
// two steps somebody could put a file there.
func renameUnlessThere(from, to string) error {
	if exists(to) {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	}
	return os.Rename(from, to)
}
