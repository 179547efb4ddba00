// Package site is the built-in target: a static blog in a folder. It writes
// article pages, lists, tag pages, images and an Atom feed that can be opened
// straight from the disk, or served below any URL path by any web server.
//
// It makes no network call, serves nothing itself, and neither touches nor
// deletes a file that it did not write.
package site

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/text/language"

	"herald/article"
	"herald/platforms"
)

// platform is the target type.
const platform = "site"

// excerptLength is the number of characters of a summary that nobody wrote.
const excerptLength = 140

// Advice says that a folder needs no pacing and that a look-up in it is exact.
var Advice = platforms.Advice{Pace: -1, AbsentAfter: -1, AbsentTimes: 1}

// Config describes one blog.
type Config struct {
	// Dir is the folder of the blog. A relative one starts from the folder of
	// the configuration file; the default is "site".
	Dir string `mapstructure:"dir"`
	// URL is the public address of that folder. Without it receipts carry
	// file:// addresses, the feed and 404.html relative ones. Set it before the
	// feed has readers: the ids of its entries follow from it.
	URL string `mapstructure:"url"`
	// Title is the name of the blog, by default "herald".
	Title string `mapstructure:"title"`
	// Language is a BCP 47 tag, by default zh-CN. It also chooses the words of
	// the theme: Chinese for zh, English for all others.
	Language    string `mapstructure:"language"`
	Author      string `mapstructure:"author"`
	Description string `mapstructure:"description"`
	// PerPage is the number of articles on one page of the list, by default 20.
	PerPage int `mapstructure:"per_page"`
}

func (c Config) withDefaults() Config {
	set := func(s *string, value string) {
		if *s == "" {
			*s = value
		}
	}
	set(&c.Dir, "site")
	set(&c.Title, "herald")
	set(&c.Language, "zh-CN")
	if c.PerPage == 0 {
		c.PerPage = 20
	}
	if c.URL != "" && !strings.HasSuffix(c.URL, "/") {
		c.URL += "/"
	}
	return c
}

// Validate returns all faults of the configuration, each with its key. Empty
// fields are no fault: they have defaults.
func (c Config) Validate() error {
	var faults []error
	if c.URL != "" {
		u, err := url.Parse(c.URL)
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("url: %w", err))
		case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.RawQuery != "", u.Fragment != "":
			faults = append(faults, fmt.Errorf("url: %q is no address of a folder; write it like https://example.com/blog/", c.URL))
		}
	}
	if c.Language != "" {
		if _, err := language.Parse(c.Language); err != nil {
			faults = append(faults, fmt.Errorf("language: %q is no language tag; write it like zh-CN or en", c.Language))
		}
	}
	if c.PerPage < 0 {
		faults = append(faults, fmt.Errorf("per_page: %d is negative", c.PerPage))
	}
	return errors.Join(faults...)
}

// Client is one blog. It is safe for concurrent use, also beside another
// Client or process that writes to the same folder.
type Client struct {
	dir   string
	url   string
	theme *theme
	step  stepper
}

// The abilities of a blog.
var (
	_ platforms.Platform   = (*Client)(nil)
	_ platforms.Finder     = (*Client)(nil)
	_ platforms.Updater    = (*Client)(nil)
	_ platforms.Withdrawer = (*Client)(nil)
	_ platforms.Prober     = (*Client)(nil)
)

// New returns the blog that cfg describes. It touches no file.
func New(cfg Config, env platforms.Env) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	dir := cfg.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(env.Base, dir)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("dir: %w", err)
	}
	t, err := newTheme(cfg, env.Location)
	if err != nil {
		return nil, err
	}
	return &Client{dir: dir, url: cfg.URL, theme: t, step: plainStep}, nil
}

// Render makes the article's HTML, with local images beside the page and
// remote ones where they are. A blog has no limits.
func (c *Client) Render(a *article.Article) (platforms.Post, error) {
	body, err := a.HTML(article.HTMLOptions{Image: imageSource})
	if err != nil {
		return platforms.Post{}, &platforms.Error{
			Platform: platform, Op: "render", Kind: platforms.Rejected, Message: err.Error(), Err: err,
		}
	}
	p := platforms.Post{
		Slug: a.ID, Title: a.Title, Author: a.Author, Summary: a.Summary, Tags: a.Tags,
		CanonicalURL: a.CanonicalURL, Date: a.Date,
		ContentType: "text/html", Body: body, Images: a.Images, Cover: a.Cover,
	}
	if p.Summary == "" {
		p.Summary = a.Excerpt(excerptLength)
	}
	if p.Date.IsZero() {
		p.Date = a.PublishAt // if that is zero too, Publish uses its own time
	}
	return p, nil
}

// imageSource is the address of an image as seen from the article's page.
func imageSource(im article.Image) string {
	if im.Path == "" {
		return im.URL
	}
	return url.PathEscape(im.Name)
}

// Publish writes the page and all lists that mention it. It is idempotent: with
// the same post it writes nothing, and after a fault it is simply called again.
func (c *Client) Publish(ctx context.Context, p platforms.Post, _ platforms.Memo) (platforms.Receipt, error) {
	return c.put(ctx, "publish", p)
}

// Update replaces the page by a newer revision, which shows when it was made.
func (c *Client) Update(ctx context.Context, p platforms.Post, _ platforms.Receipt, _ platforms.Memo) (platforms.Receipt, error) {
	return c.put(ctx, "update", p)
}

// put brings the blog to a state that holds p. The slug is the article's
// identity on this blog: a newer generation takes over the page of an older
// one.
func (c *Client) put(ctx context.Context, op string, p platforms.Post) (platforms.Receipt, error) {
	now := time.Now()
	if err := checkNames(p); err != nil {
		return platforms.Receipt{}, &platforms.Error{Platform: platform, Op: op, Kind: platforms.Invalid, Message: err.Error()}
	}
	s, err := openStore(ctx, c.dir, c.step)
	if err != nil {
		return platforms.Receipt{}, fault(op, err)
	}
	defer s.close()
	old, err := readIndex(ctx, c.dir)
	if err != nil {
		return platforms.Receipt{}, fault(op, err)
	}
	before, ok := old.find(p.Slug)
	if ok && before.Key == p.Key && before.Revision > p.Revision {
		return c.receipt(p.Slug), nil // a late worker does not undo a newer revision
	}
	e := newEntry(p, before, now)
	if err := c.change(ctx, s, old, old.with(e), &p); err != nil {
		return platforms.Receipt{}, fault(op, err)
	}
	return c.receipt(p.Slug), nil
}

// change moves the folder from old to next: claim the files, write them, delete
// what is stale, commit. A crash in between leaves whole files only, and the
// claim tells whichever change comes next what to tidy up. The post is what is
// new in next, nil if nothing is.
func (c *Client) change(ctx context.Context, s *store, old, next index, p *platforms.Post) error {
	b := &build{theme: c.theme, store: s, old: old, next: &next}
	if p != nil {
		b.fresh = p.Slug
	}
	files := b.files()
	s.unsure = old.Theme == ""
	if err := s.claim(old, next); err != nil {
		return err
	}
	if p != nil {
		if err := s.copyImages(ctx, *p); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := f.render()
		if err != nil {
			return fmt.Errorf("render %s: %w", f.path, err)
		}
		if data == nil {
			continue
		}
		if err := s.write(f.path, data); err != nil {
			return err
		}
	}
	return s.commit(old, next)
}

// Find looks the post up in the index, which is written last. The key makes it
// exact, so that since has nothing to add.
func (c *Client) Find(ctx context.Context, p platforms.Post, _ time.Time, _ platforms.Memo) (platforms.Found, error) {
	x, err := readIndex(ctx, c.dir)
	if err != nil {
		return platforms.Found{}, fault("find", err)
	}
	e, ok := x.find(p.Slug)
	if !ok || e.Key != p.Key || e.Revision < p.Revision {
		return platforms.Found{Outcome: platforms.Absent}, nil
	}
	whole, err := allExist(c.dir, e.paths())
	if err != nil {
		return platforms.Found{}, fault("find", err)
	}
	if !whole {
		return platforms.Found{Outcome: platforms.Partial}, nil // somebody deleted a file; Publish writes it again
	}
	return platforms.Found{Outcome: platforms.Present, Receipt: c.receipt(p.Slug)}, nil
}

// Withdraw removes the page and its images and takes the article out of all
// lists. The index is written last: after a fault, Withdraw is called again.
func (c *Client) Withdraw(ctx context.Context, r platforms.Receipt) error {
	x, err := readIndex(ctx, c.dir)
	if err != nil {
		return fault("withdraw", err)
	}
	if _, ok := x.find(r.ID); !ok {
		return nil
	}
	s, err := openStore(ctx, c.dir, c.step)
	if err != nil {
		return fault("withdraw", err)
	}
	defer s.close()
	old, err := readIndex(ctx, c.dir)
	if err != nil {
		return fault("withdraw", err)
	}
	return fault("withdraw", c.change(ctx, s, old, old.without(r.ID, time.Now()), nil))
}

// Probe checks that the folder, or the one it would be made in, is a folder
// that can be written to. It changes nothing.
func (c *Client) Probe(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fault("probe", err)
	}
	dir := c.dir
	err := mustBeDir(dir)
	for errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		err = mustBeDir(dir)
	}
	if err == nil {
		err = unix.Access(dir, unix.W_OK|unix.X_OK)
	}
	if err != nil {
		return fault("probe", fmt.Errorf("write to %s: %w", dir, err))
	}
	return nil
}

// Home returns where the blog can be opened: its address, or else the file of
// its first page.
func (c *Client) Home() string {
	if c.url != "" {
		return c.url
	}
	return filepath.Join(c.dir, "index.html")
}

// receipt says where the page of slug is.
func (c *Client) receipt(slug string) platforms.Receipt {
	r := platforms.Receipt{ID: slug}
	if c.url != "" {
		r.URL = c.url + postFolder(slug)
	} else {
		r.URL = (&url.URL{Scheme: "file", Path: filepath.Join(c.dir, "posts", slug, "index.html")}).String()
	}
	return r
}

// checkNames refuses names that would leave the article's folder. Package
// article makes safe ones; this is the last door before the disk.
func checkNames(p platforms.Post) error {
	if !isName(p.Slug) {
		return fmt.Errorf("slug %q is no file name", p.Slug)
	}
	for _, im := range localImages(p) {
		if !isName(im.Name) || im.Name == "index.html" {
			return fmt.Errorf("image name %q is no file name", im.Name)
		}
	}
	return nil
}

func isName(s string) bool {
	return s != "" && !strings.HasPrefix(s, ".") && !strings.ContainsAny(s, "/\\\x00")
}

// remedies says what a person can do about a fault of the folder.
var remedies = []struct {
	errs []error
	fix  string
}{
	{[]error{syscall.ENOSPC, syscall.EDQUOT}, "free some space on that disk"},
	{[]error{syscall.EROFS}, "the disk is mounted read-only; remount it or set another dir"},
	{[]error{fs.ErrPermission}, "give the user that runs herald write permission there or set another dir"},
	{[]error{syscall.ENOTDIR}, "a file is in the way; move it away or set another dir"},
	{[]error{syscall.EISDIR}, "a folder is in the way; move it away or set another dir"},
	{[]error{syscall.EXDEV}, "the folders of the blog must be on one disk"},
}

// fault turns an error of the disk into one that herald can act on. All of them
// can be tried again without harm, because Publish is idempotent.
func fault(op string, err error) error {
	if err == nil || errors.As(err, new(*platforms.Error)) {
		return err
	}
	e := &platforms.Error{Platform: platform, Op: op, Kind: platforms.Dependency, Message: err.Error(), Err: err}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		e.Kind = platforms.Unavailable // nothing was committed
		return e
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		e.Code = unix.ErrnoName(errno)
	}
	for _, r := range remedies {
		if slices.ContainsFunc(r.errs, func(target error) bool { return errors.Is(err, target) }) {
			e.Message += "; " + r.fix
			break
		}
	}
	return e
}
