package site

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/renameio/v2"

	"herald/article"
	"herald/platforms"
)

// herald's own corner of the folder. Nobody but herald reads it, so that a web
// server does not hand it out.
const (
	privateDir = ".herald"
	indexFile  = privateDir + "/index.json"
	lockFile   = privateDir + "/lock"
	tempDir    = privateDir + "/tmp"
	bodyDir    = privateDir + "/bodies"
)

// lockPoll is how often a held lock is tried again.
const lockPoll = 20 * time.Millisecond

// store is the folder of the blog, locked for one change.
type store struct {
	dir   string
	lock  *os.File
	dirty map[string]bool // folders whose entries are not known to be on disk
	// unsure is set after a change that was not finished: what is there as it
	// should be may not be on disk yet.
	unsure bool
	step   stepper
}

// stepper makes one change on the disk by calling do. Tests put in one that
// fails before or after it.
type stepper func(do func() error) error

func plainStep(do func() error) error { return do() }

// openStore makes the folder if it is not there, and waits for its lock. The
// lock belongs to the open file, so it keeps out other processes and other
// Clients of this one alike, and the kernel frees it after a crash.
func openStore(ctx context.Context, dir string, step stepper) (*store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &store{dir: dir, dirty: map[string]bool{}, step: step}
	for d := dir; errors.Is(mustBeDir(d), fs.ErrNotExist); d = filepath.Dir(d) {
		s.dirty[filepath.Dir(d)] = true
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the blog's folder: %w", err)
	}
	if err := os.MkdirAll(s.path(privateDir), 0o700); err != nil {
		return nil, fmt.Errorf("make the blog's folder: %w", err)
	}
	var err error
	if s.lock, err = os.OpenFile(s.path(lockFile), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("lock the blog: %w", err)
	}
	if err := waitLock(ctx, s.lock); err != nil {
		s.close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	if err := s.clearTemp(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// clearTemp removes the temporary files of a crash: while the lock is ours, no
// others can be there.
func (s *store) clearTemp() error {
	if err := os.RemoveAll(s.path(tempDir)); err != nil {
		return fmt.Errorf("remove old temporary files: %w", err)
	}
	if err := os.Mkdir(s.path(tempDir), 0o700); err != nil {
		return fmt.Errorf("make a folder for temporary files: %w", err)
	}
	return nil
}

func waitLock(ctx context.Context, f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// close frees the lock.
func (s *store) close() { _ = s.lock.Close() }

func (s *store) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// readIndex returns the committed index, an empty one if there is none. It
// needs no lock: the file is replaced in one piece.
func readIndex(ctx context.Context, dir string) (index, error) {
	x := index{Version: indexVersion}
	if err := ctx.Err(); err != nil {
		return x, err
	}
	data, err := os.ReadFile(filepath.Join(dir, indexFile))
	if errors.Is(err, fs.ErrNotExist) {
		return x, nil
	}
	if err != nil {
		return x, fmt.Errorf("read the blog's index: %w", err)
	}
	if err := json.Unmarshal(data, &x); err != nil {
		return x, fmt.Errorf("read %s: %w; restore it from a backup, or set another dir", filepath.Join(dir, indexFile), err)
	}
	if x.Version > indexVersion {
		return x, fmt.Errorf("%s was written by a newer herald (version %d); run that one", filepath.Join(dir, indexFile), x.Version)
	}
	return x, nil
}

// claim records, before anything is written, which files next will have and that
// the pages are about to change. What is claimed is herald's: it may be replaced
// and removed, also after a crash. A file that is there unclaimed is somebody
// else's, and refused.
func (s *store) claim(old, next index) error {
	added := minus(next.Files, old.Files)
	for _, name := range added {
		if strings.HasPrefix(name, privateDir+"/") {
			continue
		}
		_, err := os.Lstat(s.path(name))
		if err == nil {
			return s.foreign(name)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look for a foreign file: %w", err)
		}
	}
	same, err := equal(old, next)
	if err != nil || same {
		return err
	}
	claimed := old
	claimed.Theme = "" // so that all pages are made anew if this change is never committed
	claimed.Files = slices.Concat(old.Files, added)
	slices.Sort(claimed.Files)
	return s.writeIndex(claimed)
}

// foreign refuses to replace a file that herald did not write. Inside the
// folder of one article it is that article's fault, elsewhere the blog's.
func (s *store) foreign(name string) error {
	e := &platforms.Error{Platform: platform, Op: "write", Kind: platforms.Dependency}
	fix := "move it away or set another dir"
	if strings.HasPrefix(name, "posts/") {
		e.Kind = platforms.Rejected
		fix = "move it away or give the article another id"
	}
	e.Message = fmt.Sprintf("%s is there, and herald did not write it; %s", s.path(name), fix)
	return e
}

// write makes data the content of a file. It leaves alone what has it already.
func (s *store) write(name string, data []byte) error {
	if old, err := os.ReadFile(s.path(name)); err == nil && bytes.Equal(old, data) {
		s.keep(name)
		return nil
	}
	return s.replace(name, bytes.NewReader(data))
}

// replace writes a file under a temporary name, syncs it and renames it.
func (s *store) replace(name string, r io.Reader) error {
	path := s.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(s.path(tempDir)), renameio.WithPermissions(0o644))
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer f.Cleanup() //nolint:errcheck // does nothing after a success; else the first error is the one to tell
	if _, err := io.Copy(f, r); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := s.step(f.CloseAtomicallyReplace); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	s.touch(path)
	return nil
}

// copyImages puts the local images of p beside its page.
func (s *store) copyImages(ctx context.Context, p platforms.Post) error {
	for _, im := range localImages(p) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.copyImage("posts/"+p.Slug+"/"+im.Name, im); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) copyImage(name string, im article.Image) error {
	if sum, err := hashFile(s.path(name)); err == nil && sum == im.SHA256 {
		s.keep(name)
		return nil
	}
	r, err := im.Open()
	if err != nil {
		return fmt.Errorf("read image %s: %w", im.Ref, err)
	}
	defer r.Close()
	return s.replace(name, r)
}

// commit removes what next does not have any more, and writes the index when
// all else is on disk.
func (s *store) commit(old, next index) error {
	for _, name := range minus(old.Files, next.Files) {
		if err := s.remove(name); err != nil {
			return err
		}
	}
	if err := s.sync(); err != nil {
		return err
	}
	return s.writeIndex(next)
}

func (s *store) writeIndex(x index) error {
	data, err := x.encode()
	if err != nil {
		return err
	}
	if err := s.write(indexFile, data); err != nil {
		return err
	}
	return s.sync()
}

// remove deletes a file of the index and the folders that it leaves empty.
func (s *store) remove(name string) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("%s names a file outside the blog: %s", indexFile, name)
	}
	path := s.path(name)
	err := s.step(func() error { return os.Remove(path) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	for d := filepath.Dir(path); d != s.dir && os.Remove(d) == nil; d = filepath.Dir(d) {
		path = d
	}
	s.touch(path)
	return nil
}

// keep notes that a file is as it should be.
func (s *store) keep(name string) {
	if s.unsure {
		s.touch(s.path(name))
	}
}

// touch notes that the folders above path may have new entries.
func (s *store) touch(path string) {
	for d := filepath.Dir(path); len(d) >= len(s.dir); d = filepath.Dir(d) {
		s.dirty[d] = true
	}
}

// sync brings the entries of all touched folders to disk.
func (s *store) sync() error {
	err := s.step(func() error {
		for _, d := range slices.Sorted(maps.Keys(s.dirty)) {
			if err := syncDir(d); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("sync the blog's folders: %w", err)
	}
	clear(s.dirty)
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// localImages returns the images that are copied, each once: those of the body
// and the cover.
func localImages(p platforms.Post) []article.Image {
	var images []article.Image
	seen := map[string]bool{}
	add := func(im article.Image) {
		if im.Path != "" && !seen[im.Name] {
			seen[im.Name] = true
			images = append(images, im)
		}
	}
	for _, im := range p.Images {
		add(im)
	}
	if p.Cover != nil {
		add(*p.Cover)
	}
	return images
}

// hashFile returns the hex SHA-256 of a file's content.
func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// allExist reports whether all files are there. They are whole if they are:
// a file gets its name when its content is on disk.
func allExist(dir string, names []string) (bool, error) {
	for _, name := range names {
		_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("look for %s: %w", name, err)
		}
	}
	return true, nil
}

func mustBeDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return syscall.ENOTDIR
	}
	return nil
}

// minus returns the elements of a that are not in b.
func minus(a, b []string) []string {
	in := make(map[string]bool, len(b))
	for _, s := range b {
		in[s] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return in[s] })
}
