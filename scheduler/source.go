package scheduler

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"herald/article"
	"herald/state"
)

// sharedDir is the folder inside a stored revision that stands for the queue
// folder: images that came from the shared assets folder are kept below it.
const sharedDir = ".queue"

// keeping is what is kept of an entry: the files by their place in the stored
// revision. The first one at a place stays.
type keeping map[string]string

func (k keeping) add(place, file string) {
	if _, taken := k[place]; !taken {
		k[place] = file
	}
}

// store copies an entry to .done/<id>/r<revision>/ and returns its Markdown file
// relative to the queue folder. The copy is complete and on disk before it has
// its name, and before the article is admitted; the original stays in the queue
// until then, so that a crash loses nothing.
//
// What is stored is never written to again. A second drop of the same revision
// that differs in something else (its routing, a file that the text does not
// refer to) is kept beside the first as r<revision>.2.
func (q *Queue) store(name string, src *article.Article, revision int) (string, error) {
	text, files, err := q.files(name, src)
	if err != nil {
		return "", err
	}
	dir := q.path(doneDir, src.ID)
	for n := 1; ; n++ {
		final := filepath.Join(dir, fmt.Sprintf("r%d", revision))
		if n > 1 {
			final += fmt.Sprintf(".%d", n)
		}
		source, err := filepath.Rel(q.Dir, filepath.Join(final, text))
		if err != nil {
			return "", err
		}
		if exists(final) {
			same, err := holdsAll(final, files)
			if same || err != nil {
				return source, err
			}
			continue
		}
		staging := filepath.Join(dir, ".new")
		if err := os.RemoveAll(staging); err != nil { // left by a crash
			return "", err
		}
		if err := copyAll(staging, files); err != nil {
			return "", err
		}
		if err := os.Rename(staging, final); err != nil {
			return "", err
		}
		return source, errors.Join(syncDir(dir), syncDir(filepath.Dir(dir)))
	}
}

// files lists everything that is kept of an entry: all that it consists of, and
// the images that lie elsewhere. text is the place of the Markdown file. A name
// that is no UTF-8, and so cannot be written down, is replaced.
func (q *Queue) files(name string, src *article.Article) (text string, files keeping, err error) {
	entry := q.path(name)
	info, err := os.Stat(entry)
	if err != nil {
		return "", nil, err
	}
	text = filepath.Base(src.File)
	if !utf8.ValidString(text) {
		text = "index.md"
	}
	files = keeping{text: src.File}
	if info.IsDir() {
		if err := files.addTree(entry); err != nil {
			return "", nil, err
		}
	}
	for _, im := range pictures(src) {
		places, err := q.imagePlaces(entry, info.IsDir(), im.Path)
		if err != nil {
			return "", nil, err
		}
		for _, rel := range places {
			files.add(rel, im.Path)
		}
	}
	return text, files, nil
}

// addTree adds the regular files of a folder, and those that links inside it
// lead to as long as they do not lead out of it.
func (k keeping) addTree(dir string) error {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return nil
		}
		real, ok := fileInside(root, p)
		if !ok {
			return nil // a link to nothing or out of the article, or a socket
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		k.add(rel, real)
		return nil
	})
}

// fileInside returns the regular file that p is or leads to, if it lies in root.
func fileInside(root, p string) (real string, ok bool) {
	real, err := filepath.EvalSymlinks(p)
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	info, err := os.Stat(real)
	return real, err == nil && info.Mode().IsRegular()
}

// imagePlaces returns where in the stored revision an image is looked for: beside
// the text as it was beside the entry's, and in what stands for the shared
// folder if it came from there.
func (q *Queue) imagePlaces(entry string, isFolder bool, image string) ([]string, error) {
	if isFolder {
		for _, dir := range []string{entry, follow(entry)} {
			if rel, err := filepath.Rel(dir, image); err == nil && filepath.IsLocal(rel) {
				return []string{rel}, nil
			}
		}
	}
	if rel, err := filepath.Rel(follow(q.path(assetsDir)), follow(image)); err == nil && filepath.IsLocal(rel) {
		rel = filepath.Join(assetsDir, rel)
		places := []string{filepath.Join(sharedDir, rel)}
		if !isFolder {
			places = append(places, rel)
		}
		return places, nil
	}
	for _, dir := range []string{q.Dir, follow(q.Dir)} {
		if rel, err := filepath.Rel(dir, image); err == nil && filepath.IsLocal(rel) {
			return []string{rel}, nil
		}
	}
	return nil, fmt.Errorf("image %s is outside of the queue folder", image)
}

// follow returns the real path of p, or p if there is nothing.
func follow(p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	return p
}

// holdsAll reports whether dir holds every one of the files as it is.
func holdsAll(dir string, files keeping) (bool, error) {
	for place, file := range files {
		same, err := sameContent(file, filepath.Join(dir, place))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return false, nil
		}
		if !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

func sameContent(a, b string) (bool, error) {
	fa, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer fa.Close()
	fb, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer fb.Close()
	bufA, bufB := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		na, errA := io.ReadFull(fa, bufA)
		nb, errB := io.ReadFull(fb, bufB)
		switch {
		case !bytes.Equal(bufA[:na], bufB[:nb]):
			return false, nil
		case errA == nil && errB == nil:
			continue
		case isEOF(errA) && isEOF(errB):
			return true, nil
		default:
			return false, errors.Join(errA, errB)
		}
	}
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// copyAll copies files into dir and makes it durable, contents and names.
func copyAll(dir string, files keeping) error {
	for place, file := range files {
		if err := copyFile(file, filepath.Join(dir, place)); err != nil {
			return err
		}
	}
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return syncDir(p)
	})
}

func copyFile(from, to string) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
		return err
	}
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrPermission) {
		return unreadable(filepath.Base(from), err)
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Sync()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Prune removes the stored sources of articles that were last dropped before t
// and are finished.
func (q *Queue) Prune(t time.Time, finished func(state.ArticleID) (bool, error)) {
	entries, err := os.ReadDir(q.path(doneDir))
	if err != nil {
		q.log.Error("old sources cannot be listed", "error", err)
		return
	}
	removed := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		ok, err := q.pruneOne(e.Name(), t, finished)
		if err != nil {
			q.log.Error("old source cannot be removed", "article", e.Name(), "error", err)
		}
		if ok {
			removed++
		}
	}
	q.log.Info("old sources removed", "articles", removed, "older_than", t)
}

// pruneOne decides and removes while nothing is taken in: an article that is
// dropped again meanwhile keeps its source.
func (q *Queue) pruneOne(name string, t time.Time, finished func(state.ArticleID) (bool, error)) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	dir := q.path(doneDir, name)
	info, err := os.Stat(dir)
	if err != nil || !info.ModTime().Before(t) { // a new revision makes the folder new
		return false, err
	}
	if ok, err := finished(state.ArticleID(name)); !ok || err != nil {
		return false, err
	}
	return true, os.RemoveAll(dir)
}
