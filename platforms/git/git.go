// Package git is the target for sites that a generator builds from a
// repository. It writes the article and its images in the shape of Hugo, Hexo
// or Jekyll into a clone of its own, commits, and pushes.
//
// It needs git 2.32 or newer. It never forces a push, never touches another
// clone, never reads the user's git configuration, and does not build the site:
// what a build makes of the article is not seen from here.
package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"herald/article"
	"herald/platforms"
)

// platform is the target type.
const platform = "git"

// Advice says that a repository needs no pacing, that a push may take long, and
// that a look-up in the fetched history is exact.
var Advice = platforms.Advice{Pace: -1, Timeout: 2 * time.Minute, AbsentAfter: -1, AbsentTimes: 1}

// Keys of the Memo.
const (
	memoFirst  = "git/first"   // moment of the first publication, RFC 3339
	memoCommit = "git/commit/" // and of a revision's first attempt
	memoPage   = "git/page"    // path of the page
)

// Client is one site. It is safe for concurrent use, also beside another
// Client or process on the same folder.
type Client struct {
	cfg    Config
	flavor flavor
	repo   *repo
	zone   *time.Location
}

// The abilities of a repository.
var (
	_ platforms.Platform   = (*Client)(nil)
	_ platforms.Finder     = (*Client)(nil)
	_ platforms.Updater    = (*Client)(nil)
	_ platforms.Withdrawer = (*Client)(nil)
	_ platforms.Prober     = (*Client)(nil)
	_ platforms.Accounter  = (*Client)(nil)
)

// New returns the site that cfg describes. It neither touches a file nor runs a
// command.
func New(cfg Config, env platforms.Env) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults(env.Base)
	return &Client{cfg: cfg, flavor: flavors[cfg.Flavor], repo: newRepo(cfg, env), zone: cmp.Or(env.Location, time.Local)}, nil
}

// Account names the repository: targets that push into the same one take turns.
func (c *Client) Account() string { return platform + " " + c.cfg.Repo }

// Publish commits the article and pushes. A commit that is already on the
// branch, or a page that is already just so, is success. A page of the same
// name that herald did not write is left alone and the article Rejected.
func (c *Client) Publish(ctx context.Context, p platforms.Post, m platforms.Memo) (platforms.Receipt, error) {
	t, err := c.moments(p, m, time.Now())
	if err != nil {
		return platforms.Receipt{}, err
	}
	var at place
	err = c.repo.do(ctx, func(cl *clone) error {
		var err error
		if at, err = c.locate(ctx, cl, p, t, m); err != nil {
			return err
		}
		revision, err := cl.published(ctx, p.Key)
		if err != nil || revision >= p.Revision {
			return err
		}
		return c.write(ctx, cl, at, p, t, "Publish")
	})
	if err != nil {
		return platforms.Receipt{}, err
	}
	return c.receipt(at, t), nil
}

// Find looks for the commit's trailer in the fetched history. An older revision
// is Partial: Publish brings it up to date.
func (c *Client) Find(ctx context.Context, p platforms.Post, _ time.Time, m platforms.Memo) (platforms.Found, error) {
	t, err := c.moments(p, m, time.Now())
	if err != nil {
		return platforms.Found{}, err
	}
	var found platforms.Found
	err = c.repo.do(ctx, func(cl *clone) error {
		revision, err := cl.published(ctx, p.Key)
		if err != nil || revision == 0 {
			return err
		}
		if revision < p.Revision {
			found.Outcome = platforms.Partial
			return nil
		}
		at, err := c.locate(ctx, cl, p, t, m)
		if err != nil {
			return err
		}
		found = platforms.Found{Outcome: platforms.Present, Receipt: c.receipt(at, t)}
		found.Changed, err = cl.changed(ctx, at.page)
		return err
	})
	if err != nil {
		return platforms.Found{}, err
	}
	return found, nil
}

// Update commits the next revision on the page that the receipt names.
func (c *Client) Update(ctx context.Context, p platforms.Post, r platforms.Receipt, m platforms.Memo) (platforms.Receipt, error) {
	at, err := c.flavor.placeOf(c.cfg, r.ID)
	if err != nil {
		return platforms.Receipt{}, err
	}
	t, err := c.moments(p, m, time.Now())
	if err != nil {
		return platforms.Receipt{}, err
	}
	err = c.repo.do(ctx, func(cl *clone) error {
		revision, err := cl.published(ctx, p.Key)
		if err != nil || revision >= p.Revision {
			return err
		}
		return c.write(ctx, cl, at, p, t, "Update")
	})
	if err != nil {
		return platforms.Receipt{}, err
	}
	return c.receipt(at, t), nil
}

// Withdraw commits the removal of the page and of its images. Readers see it
// once the site is built; the history keeps what was published.
func (c *Client) Withdraw(ctx context.Context, r platforms.Receipt) error {
	at, err := c.flavor.placeOf(c.cfg, r.ID)
	if err != nil {
		return err
	}
	now := time.Now().In(c.zone)
	return c.repo.do(ctx, func(cl *clone) error {
		files, err := cl.tracked(ctx, at.paths()...)
		if err != nil || len(files) == 0 {
			return err
		}
		if err := removeFiles(cl.dir, files); err != nil {
			return err
		}
		if changed, err := cl.stage(ctx, files); err != nil || !changed {
			return err
		}
		return cl.push(ctx, message("Withdraw", at.slug, mark{}), now)
	})
}

// Probe asks for what a push would ask for, without pushing.
func (c *Client) Probe(ctx context.Context) error { return c.repo.probe(ctx) }

// moments are the times that every attempt must agree on: they are part of the
// page and of the commit.
type moments struct {
	page   time.Time // the article's date
	commit time.Time
}

// moments returns the times of the post's revision, from the Memo if an earlier
// attempt has chosen them. The page's date is never in the future, where
// generators would hide it.
func (c *Client) moments(p platforms.Post, m platforms.Memo, now time.Time) (moments, error) {
	first, err := remember(m, memoFirst, now)
	if err != nil {
		return moments{}, err
	}
	commit, err := remember(m, memoCommit+strconv.Itoa(p.Revision), now)
	if err != nil {
		return moments{}, err
	}
	page := p.Date
	if page.IsZero() || page.After(commit) {
		page = first
	}
	return moments{page: page.In(c.zone).Truncate(time.Second), commit: commit.In(c.zone)}, nil
}

// remember returns the moment that the Memo holds under key, or stores now.
func remember(m platforms.Memo, key string, now time.Time) (time.Time, error) {
	if stored, ok := m.Get(key); ok {
		if t, err := time.Parse(time.RFC3339, stored); err == nil {
			return t, nil
		}
	}
	now = now.Truncate(time.Second)
	return now, note(m, key, now.Format(time.RFC3339))
}

// note stores value before anything is pushed that depends on it.
func note(m platforms.Memo, key, value string) error {
	if err := m.Set(key, value); err != nil {
		return &platforms.Error{Platform: platform, Op: "memo", Kind: platforms.Unavailable, Message: "store " + key + ": " + err.Error(), Err: err}
	}
	return nil
}

// locate returns where the article is or goes, and keeps it in the Memo. A page
// whose name begins with a date keeps the date that it was first given.
func (c *Client) locate(ctx context.Context, cl *clone, p platforms.Post, t moments, m platforms.Memo) (place, error) {
	if page, ok := m.Get(memoPage); ok {
		return c.flavor.placeOf(c.cfg, page)
	}
	at := c.flavor.newPlace(c.cfg, p.Slug, t.page)
	if c.flavor.dated {
		ours, err := cl.written(ctx, c.cfg.ContentDir)
		if err != nil {
			return place{}, err
		}
		for page := range ours {
			old, err := c.flavor.placeOf(c.cfg, page)
			if err == nil && old.slug == p.Slug && exists(cl.dir, page) {
				at = old
			}
		}
	}
	return at, note(m, memoPage, at.page)
}

func (c *Client) receipt(at place, t moments) platforms.Receipt {
	return platforms.Receipt{ID: at.page, URL: at.link(c.cfg, t.page)}
}

// write puts the article into the work tree, and commits and pushes if that
// changes anything. What herald wrote there before and needs no longer goes.
func (c *Client) write(ctx context.Context, cl *clone, at place, p platforms.Post, t moments, verb string) error {
	text, err := c.flavor.page(c.cfg, p, t.page)
	if err != nil {
		return err
	}
	ours, err := cl.written(ctx, at.paths()...)
	if err != nil {
		return err
	}
	changed := maps.Clone(ours)
	changed[at.page] = true
	images := map[string]article.Image{}
	for _, im := range files(p) {
		images[path.Join(at.images, im.Name)] = im
		changed[path.Join(at.images, im.Name)] = true
	}
	foreign := ""
	for file := range changed {
		if !ours[file] && exists(cl.dir, file) {
			foreign = file
		}
	}
	if err := removeFiles(cl.dir, ours); err != nil {
		return err
	}
	if err := writeFiles(cl.dir, at.page, text, images); err != nil {
		return err
	}
	if differs, err := cl.stage(ctx, changed); err != nil || !differs {
		return err
	}
	if foreign != "" && verb == "Publish" {
		return platforms.Rejectf(platform, "write", "%s is in the repository already and is not herald's; give the article another id", foreign)
	}
	return cl.push(ctx, message(verb, p.Title, mark{p.Key, p.Revision}), t.commit)
}

func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

// removeFiles deletes files of the work tree. Through os.Root no symbolic link
// in the repository leads out of it.
func removeFiles(dir string, names map[string]bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open work tree: %w", err)
	}
	defer root.Close()
	for name := range names {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	return nil
}

// writeFiles writes the page and copies the images into the work tree.
func writeFiles(dir, page string, text []byte, images map[string]article.Image) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open work tree: %w", err)
	}
	defer root.Close()
	if err := writeFile(root, page, text); err != nil {
		return err
	}
	for name, im := range images {
		content, err := read(im)
		if err != nil {
			return platforms.Rejectf(platform, "write", "%v", err)
		}
		if err := writeFile(root, name, content); err != nil {
			return err
		}
	}
	return nil
}

func read(im article.Image) ([]byte, error) {
	f, err := im.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

func writeFile(root *os.Root, name string, content []byte) error {
	err := root.MkdirAll(path.Dir(name), 0o755)
	if err == nil {
		err = root.WriteFile(name, content, 0o644)
	}
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.EEXIST) {
		return platforms.Rejectf(platform, "write", "%s cannot be written, the repository has something else of that name", name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
