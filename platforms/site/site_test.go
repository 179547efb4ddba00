package site

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"herald/article"
	"herald/platforms"
	"herald/platforms/platformtest"
)

var update = flag.Bool("update", false, "renew the golden files")

// shanghai is a fixed zone, so that no test depends on the zone database.
var shanghai = time.FixedZone("Asia/Shanghai", 8*60*60)

// open returns a blog in a fresh folder, or in cfg.Dir.
func open(t *testing.T, cfg Config) *Client {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = filepath.Join(t.TempDir(), "blog")
	}
	c, err := New(cfg, platforms.Env{Location: shanghai})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newPost returns a small post; number orders posts by date.
func newPost(slug string, number int, tags ...string) platforms.Post {
	return platforms.Post{
		Key: "key-of-" + slug, Revision: 1, Slug: slug, Title: "标题 " + slug, Tags: tags,
		Date: time.Date(2026, 6, number, 9, 0, 0, 0, shanghai), ContentType: "text/html",
		Body: "<p>正文 " + slug + "</p>\n",
	}
}

// withImage adds a local image to the post.
func withImage(t *testing.T, p platforms.Post, name, content string) platforms.Post {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(content))
	p.Images = append(slices.Clone(p.Images), article.Image{
		Ref: name, Path: path, Name: name, Type: "image/png", SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content)),
	})
	p.Body += `<p><img src="` + name + `" alt=""></p>` + "\n"
	return p
}

func mustPublish(t *testing.T, c *Client, posts ...platforms.Post) {
	t.Helper()
	for _, p := range posts {
		if _, err := c.Publish(t.Context(), p, nil); err != nil {
			t.Fatalf("publish %s: %v", p.Slug, err)
		}
	}
}

// files lists what is in the folder, herald's private corner left out.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	for name := range snapshot(t, dir) {
		if !strings.HasPrefix(name, privateDir+"/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// snapshot maps each file to its inode, time and content: a file that was
// written again has another inode, though the content be the same.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	state := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		state[name] = fmt.Sprintf("%d %v %s", info.Sys().(*syscall.Stat_t).Ino, info.ModTime(), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func read(t *testing.T, c *Client, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestConfigFaultsAreAllNamed(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
		want []string // nil: valid
	}{
		{"the zero configuration is valid", Config{}, nil},
		{"a full one is valid", Config{URL: "https://example.com/blog", Language: "en", PerPage: 5}, nil},
		{"three faults at once", Config{URL: "example.com", Language: "中文", PerPage: -1}, []string{"url:", "language:", "per_page:"}},
		{"an address with a query", Config{URL: "https://example.com/?a=1"}, []string{"url:"}},
		{"an address of another scheme", Config{URL: "ftp://example.com/"}, []string{"url:"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.cfg.Validate()
			if (err == nil) != (c.want == nil) {
				t.Fatalf("got %v, want faults %v", err, c.want)
			}
			for _, key := range c.want {
				if !strings.Contains(err.Error(), key) {
					t.Errorf("%q does not name %s", err, key)
				}
			}
			if _, newErr := New(c.cfg, platforms.Env{}); (newErr == nil) != (err == nil) {
				t.Errorf("New says %v, Validate %v", newErr, err)
			}
		})
	}
}

func TestRelativeDirStartsFromTheConfiguration(t *testing.T) {
	base := t.TempDir()
	c, err := New(Config{Dir: "public/blog"}, platforms.Env{Base: base})
	if err != nil {
		t.Fatal(err)
	}
	mustPublish(t, c, newPost("a", 1))
	if _, err := os.Stat(filepath.Join(base, "public/blog/posts/a/index.html")); err != nil {
		t.Error(err)
	}
}

func TestRenderTakesTheDateThatIsThere(t *testing.T) {
	date, at := time.Date(2020, 1, 1, 0, 0, 0, 0, shanghai), time.Date(2021, 1, 1, 0, 0, 0, 0, shanghai)
	for _, c := range []struct {
		name                  string
		date, publishAt, want time.Time
	}{
		{"date before publish_at", date, at, date},
		{"publish_at without a date", time.Time{}, at, at},
		{"neither", time.Time{}, time.Time{}, time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := platformtest.Samples(t).One
			a.Date, a.PublishAt = c.date, c.publishAt
			p, err := open(t, Config{}).Render(a)
			if err != nil || !p.Date.Equal(c.want) {
				t.Errorf("got %v, %v; want %v", p.Date, err, c.want)
			}
		})
	}
}

func TestRenderPutsLocalImagesBesideThePageAndLeavesRemoteOnes(t *testing.T) {
	a := platformtest.Samples(t).One
	a.Body += "\n![](https://example.com/far.png)\n"
	a.Images = append(a.Images, article.Image{Ref: "https://example.com/far.png", URL: "https://example.com/far.png"})
	a.Summary = ""
	p, err := open(t, Config{}).Render(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`src="` + a.Images[0].Name + `"`, `src="https://example.com/far.png"`} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("no %s in %s", want, p.Body)
		}
	}
	if !strings.HasPrefix(p.Summary, "出错不可怕") {
		t.Errorf("summary %q, want an excerpt", p.Summary)
	}
}

func TestArticleFromAFolderOpensFromTheDisk(t *testing.T) {
	dir := t.TempDir()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	text := "---\ntitle: 错误处理\ntags: [go, 架构]\n---\n![示意 图](<图 1%.png>)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nreturn err\n```\n"
	for name, data := range map[string][]byte{"错误处理.md": []byte(text), "图 1%.png": picture.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, err := article.Load(filepath.Join(dir, "错误处理.md"), article.Options{Location: shanghai})
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, Config{})
	p, err := c.Render(a)
	if err != nil {
		t.Fatal(err)
	}
	p.Key, p.Revision = "key", 1
	mustPublish(t, c, p)
	checkLinks(t, c.dir)
	page := read(t, c, "posts/错误处理/index.html")
	for _, want := range []string{`<div class="table">`, `class="chroma"`, `alt="示意 图"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s on the page", want)
		}
	}
	if got := read(t, c, "posts/错误处理/"+a.Images[0].Name); got != picture.String() {
		t.Error("the image beside the page is not the article's")
	}
}

func TestReceiptSaysWhereReadersFindThePage(t *testing.T) {
	c := open(t, Config{Dir: "/srv/my blog"})
	if got, want := c.receipt("错误").URL, "file:///srv/my%20blog/posts/%E9%94%99%E8%AF%AF/index.html"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c = open(t, Config{URL: "https://example.com/blog"})
	if got, want := c.receipt("错误").URL, "https://example.com/blog/posts/%E9%94%99%E8%AF%AF/"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPublishingAgainWritesNothing(t *testing.T) {
	c := open(t, Config{})
	p := withImage(t, newPost("a", 2, "go"), "fig.png", "pixels")
	p.Date = time.Time{} // the time of first publication, which must not move
	mustPublish(t, c, newPost("b", 1, "go", "架构"), p)
	before := snapshot(t, c.dir)

	mustPublish(t, open(t, Config{Dir: c.dir}), p)
	if _, err := c.Update(t.Context(), p, c.receipt("a"), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, snapshot(t, c.dir)); diff != "" {
		t.Errorf("files were written again (-before +after):\n%s", diff)
	}
}

func TestFindBelievesOnlyWhatIsWhole(t *testing.T) {
	p := withImage(t, newPost("a", 1), "fig.png", "pixels")
	for _, c := range []struct {
		name string
		do   func(dir string, p *platforms.Post) error
		want platforms.Outcome
	}{
		{"as published", func(string, *platforms.Post) error { return nil }, platforms.Present},
		{"an older revision is there too", func(_ string, p *platforms.Post) error { p.Revision--; return nil }, platforms.Present},
		{"a newer revision is not", func(_ string, p *platforms.Post) error { p.Revision++; return nil }, platforms.Absent},
		{"another generation is not", func(_ string, p *platforms.Post) error { p.Key = "other"; return nil }, platforms.Absent},
		{"without its page", func(dir string, _ *platforms.Post) error {
			return os.Remove(filepath.Join(dir, "posts/a/index.html"))
		}, platforms.Partial},
		{"without its image", func(dir string, _ *platforms.Post) error {
			return os.Remove(filepath.Join(dir, "posts/a/fig.png"))
		}, platforms.Partial},
		{"without the index", func(dir string, _ *platforms.Post) error {
			return os.Remove(filepath.Join(dir, indexFile))
		}, platforms.Absent},
	} {
		t.Run(c.name, func(t *testing.T) {
			blog, p := open(t, Config{}), p
			mustPublish(t, blog, p)
			if err := c.do(blog.dir, &p); err != nil {
				t.Fatal(err)
			}
			found, err := blog.Find(t.Context(), p, time.Now().Add(time.Hour), nil)
			if err != nil || found.Outcome != c.want {
				t.Errorf("got %+v, %v; want outcome %v", found, err, c.want)
			}
			if found.Outcome == platforms.Present && found.Receipt != blog.receipt("a") {
				t.Errorf("receipt %+v", found.Receipt)
			}
		})
	}
}

func TestPublishHealsWhatSomebodyDeleted(t *testing.T) {
	c := open(t, Config{})
	p := withImage(t, newPost("a", 1), "fig.png", "pixels")
	mustPublish(t, c, p)
	want := files(t, c.dir)
	for _, name := range []string{"posts/a", "style.css", "index.html"} {
		if err := os.RemoveAll(filepath.Join(c.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	mustPublish(t, c, p)
	if diff := cmp.Diff(want, files(t, c.dir)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func TestUpdateReplacesThePageAndShowsWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, Config{})
		p := withImage(t, newPost("a", 1, "go", "old"), "old.png", "old")
		mustPublish(t, c, p)
		time.Sleep(48 * time.Hour) // in the bubble's time

		p = withImage(t, newPost("a", 1, "go", "new"), "new.png", "new")
		p.Revision, p.Title = 2, "第二版"
		if _, err := c.Update(t.Context(), p, c.receipt("a"), nil); err != nil {
			t.Fatal(err)
		}
		page := html.UnescapeString(read(t, c, "posts/a/index.html"))
		for _, want := range []string{"第二版", "更新于", `<time datetime="2000-01-03T08:00:00+08:00">2000年1月3日</time>`, "2026年6月1日"} {
			if !strings.Contains(page, want) {
				t.Errorf("no %q on the page", want)
			}
		}
		if feed := read(t, c, feedFile); !strings.Contains(feed, "<updated>2000-01-03T08:00:00+08:00</updated>") {
			t.Errorf("the feed does not tell the update:\n%s", feed)
		}
		want := []string{
			"404.html", "favicon.svg", "feed.xml", "index.html", "posts/a/index.html", "posts/a/new.png", "style.css",
			"tags/go/index.html", "tags/index.html", "tags/new/index.html",
		}
		if diff := cmp.Diff(want, files(t, c.dir)); diff != "" {
			t.Errorf("stale files (-want +got):\n%s", diff)
		}
	})
}

func TestLateWorkerDoesNotUndoANewerRevision(t *testing.T) {
	c := open(t, Config{})
	older := newPost("a", 1)
	newer := older
	newer.Revision, newer.Title = 2, "第二版"
	mustPublish(t, c, newer)
	before := snapshot(t, c.dir)
	mustPublish(t, c, older)
	if diff := cmp.Diff(before, snapshot(t, c.dir)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func TestNewerGenerationTakesOverThePage(t *testing.T) {
	c := open(t, Config{})
	p := newPost("a", 1)
	mustPublish(t, c, p)
	p.Key, p.Body = "the next generation", "<p>再来一次</p>"
	mustPublish(t, c, p)
	if !strings.Contains(read(t, c, "posts/a/index.html"), "再来一次") {
		t.Error("the page is the old one")
	}
	if n := strings.Count(read(t, c, "index.html"), `class="teaser"`); n != 1 {
		t.Errorf("%d articles in the list, want 1", n)
	}
}

func TestWithdrawRemovesEverythingOfTheArticleAndNothingElse(t *testing.T) {
	c := open(t, Config{PerPage: 1})
	other := newPost("b", 1, "go")
	mustPublish(t, c, other)
	foreign := map[string]string{"CNAME": "example.com", "posts/a/notes.txt": "mine", "tags/mine.txt": "mine"}
	for name, content := range foreign {
		path := filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := files(t, c.dir)
	mustPublish(t, c, withImage(t, newPost("a", 2, "go", "solo"), "fig.png", "pixels"))
	if got := files(t, c.dir); !slices.Contains(got, "page/2/index.html") || !slices.Contains(got, "tags/solo/index.html") {
		t.Fatalf("the article brought no second page and no tag: %v", got)
	}
	for range 2 { // already gone is success
		if err := c.Withdraw(t.Context(), c.receipt("a")); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(before, files(t, c.dir)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	for _, name := range []string{"index.html", feedFile, "tags/go/index.html", "posts/b/index.html"} {
		if strings.Contains(read(t, c, name), "posts/a/") {
			t.Errorf("%s still links to the article", name)
		}
	}
	for name, content := range foreign {
		if got := read(t, c, name); got != content {
			t.Errorf("%s holds %q, want %q", name, got, content)
		}
	}
}

func TestWithdrawOnNoBlogMakesNone(t *testing.T) {
	c := open(t, Config{})
	if err := c.Withdraw(t.Context(), platforms.Receipt{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}
