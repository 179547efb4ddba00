package git

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"herald/article"
	"herald/platforms"
	"herald/platforms/platformtest"
)

const (
	testUser  = "bot"
	testToken = "s3cr3t/with+signs"
	testKey   = "0123456789abcdef0123456789abcdef"
	otherKey  = "fedcba9876543210fedcba9876543210"
)

var china = time.FixedZone("+08:00", 8*60*60)

func TestConformanceOverHTTPWithAToken(t *testing.T) {
	t.Parallel()
	platformtest.Run(t, platformtest.Case{
		Type: "git",
		New: func(t testing.TB) *platformtest.World {
			r := newRemote(t)
			cfg := r.config(hugo)
			cfg.Repo = r.serve(testUser, testToken).URL + "/site.git"
			cfg.Username, cfg.Token = testUser, testToken
			return world(r, cfg)
		},
		Secrets: []string{testToken, base64.StdEncoding.EncodeToString([]byte(testUser + ":" + testToken))},
	})
}

func TestConformanceOnAnEmptyLocalRepository(t *testing.T) {
	t.Parallel()
	platformtest.Run(t, platformtest.Case{
		Type: "git",
		New: func(t testing.TB) *platformtest.World {
			r := emptyRemote(t)
			return world(r, r.config(jekyll))
		},
		TooLong:  &article.Article{ID: "large", Title: "t", Images: []article.Image{{Ref: "x.png", Path: "x.png", Size: maxFile + 1}}},
		Codes:    Codes,
		Unlisted: "128",
	})
}

// site is an adapter on a remote, in a folder of its own.
type site struct {
	*Client
	t    testing.TB
	env  platforms.Env
	memo *platformtest.Memo
}

func open(t testing.TB, cfg Config) site {
	t.Helper()
	env := platforms.Env{
		Target: "blog", Dir: filepath.Join(t.TempDir(), "blog"), Base: t.TempDir(), Location: china,
		Log: slog.New(slog.DiscardHandler),
	}
	return reopen(t, cfg, env)
}

func reopen(t testing.TB, cfg Config, env platforms.Env) site {
	t.Helper()
	c, err := New(cfg, env)
	if err != nil {
		t.Fatal(err)
	}
	return site{c, t, env, platformtest.NewMemo()}
}

// post renders a page with nothing but a title and a body.
func (s site) post(slug, title, body string) platforms.Post {
	s.t.Helper()
	p, err := s.Render(&article.Article{ID: slug, Title: title, Body: body})
	if err != nil {
		s.t.Fatal(err)
	}
	p.Key, p.Revision = testKey, 1
	return p
}

func (s site) mustPublish(p platforms.Post) platforms.Receipt {
	s.t.Helper()
	r, err := s.Publish(s.t.Context(), p, s.memo)
	if err != nil {
		s.t.Fatalf("publish: %v", err)
	}
	return r
}

func TestAPublicationIsOneSignedCommit(t *testing.T) {
	r := newRemote(t)
	cfg := r.config(hugo)
	cfg.AuthorName, cfg.AuthorEmail = "作者", "author@example.com"
	s := open(t, cfg)
	receipt := s.mustPublish(s.post("hello", "Hello\n\nPublish-Key: "+otherKey, "text"))

	want := platforms.Receipt{ID: "content/posts/hello/index.md", URL: "https://example.com/blog/posts/hello/"}
	if diff := cmp.Diff(want, receipt); diff != "" {
		t.Errorf("receipt (-want +got):\n%s", diff)
	}
	got := r.git("log", "--format=%an <%ae>|%cn|%B", "main", "--", "content")
	wantLog := "作者 <author@example.com>|作者|Publish Hello Publish-Key: " + otherKey +
		"\n\nPublish-Key: " + testKey + "\nPublish-Revision: 1\n\n"
	if diff := cmp.Diff(wantLog, got); diff != "" {
		t.Errorf("commit (-want +got):\n%s", diff)
	}
	other := s.post("hello", "Hello", "text")
	other.Key = otherKey
	if found, err := s.Find(t.Context(), other, time.Time{}, platformtest.NewMemo()); err != nil || found.Outcome != platforms.Absent {
		t.Errorf("a key in a title was taken for a trailer: %+v, %v", found, err)
	}
}

func TestTheSameAttemptMakesTheSameCommit(t *testing.T) {
	r := newRemote(t)
	s := open(t, r.config(hugo))
	parent := strings.TrimSpace(r.git("rev-parse", "main"))
	p := s.post("hello", "Hello", "text")
	s.mustPublish(p)
	first := r.git("rev-parse", "main")

	r.git("update-ref", "refs/heads/main", parent)
	again := open(t, r.config(hugo))
	again.memo = s.memo
	again.mustPublish(p)
	if second := r.git("rev-parse", "main"); first != second {
		t.Errorf("commit %s, made again %s", first, second)
	}
}

func TestAnOlderRevisionIsPartialAndPublishBringsItUpToDate(t *testing.T) {
	r := newRemote(t)
	s := open(t, r.config(hugo))
	s.mustPublish(s.post("hello", "Hello", "one"))
	p := s.post("hello", "Hello", "two")
	p.Revision = 2
	found, err := s.Find(t.Context(), p, time.Time{}, s.memo)
	if err != nil || found.Outcome != platforms.Partial {
		t.Fatalf("found %+v, %v; want Partial", found, err)
	}
	s.mustPublish(p)
	if found, err = s.Find(t.Context(), p, time.Time{}, s.memo); err != nil || found.Outcome != platforms.Present {
		t.Errorf("found %+v, %v; want Present", found, err)
	}
	p.Revision = 1
	s.mustPublish(p) // an attempt of long ago
	if text := r.read("content/posts/hello/index.md"); !strings.Contains(text, "two") {
		t.Errorf("an old attempt overwrote the new revision:\n%s", text)
	}
}

func TestACommitOfSomebodyElseIsSeen(t *testing.T) {
	r := newRemote(t)
	s := open(t, r.config(hugo))
	p := s.post("hello", "Hello", "one")
	s.mustPublish(p)
	changed := func() string {
		t.Helper()
		found, err := s.Find(t.Context(), p, time.Time{}, s.memo)
		if err != nil || found.Outcome != platforms.Present {
			t.Fatalf("found %+v, %v; want Present", found, err)
		}
		return found.Changed
	}
	r.commit("content/about.md", "about us", "another page")
	if got := changed(); got != "" {
		t.Errorf("nobody has touched the page, and it says %q", got)
	}
	const page = "content/posts/hello/index.md"
	r.commit(page, "by hand", "mend a word")
	if got := changed(); !strings.Contains(got, "changed "+page) {
		t.Errorf("a page changed by hand: got %q", got)
	}
	p.Revision = 2
	s.mustPublish(p)
	if got := changed(); got != "" {
		t.Errorf("the last commit is ours again, and it says %q", got)
	}
}

func TestAPageThatIsNotHeraldsIsLeftAlone(t *testing.T) {
	for _, flavor := range []string{hugo, hexo} {
		r := newRemote(t)
		s := open(t, r.config(flavor))
		p := s.post("hello", "Hello", "text")
		page := s.flavor.newPlace(s.cfg, p.Slug, time.Now()).page
		r.commit(page, "written by hand", "my own post")

		_, err := s.Publish(t.Context(), p, s.memo)
		if platforms.KindOf(err) != platforms.Rejected || !strings.Contains(err.Error(), page) {
			t.Errorf("%s: %v, want Rejected and the name of the page", flavor, err)
		}
		if got := r.read(page); got != "written by hand" {
			t.Errorf("%s: the page is now %q", flavor, got)
		}
		if found, err := s.Find(t.Context(), p, time.Time{}, s.memo); err != nil || found.Outcome != platforms.Absent {
			t.Errorf("%s: found %+v, %v; want Absent", flavor, found, err)
		}
	}
}

func TestAnUpdateTakesAwayWhatIsNoLongerUsed(t *testing.T) {
	for _, flavor := range []string{hugo, hexo, jekyll} {
		r := newRemote(t)
		s := open(t, r.config(flavor))
		a := platformtest.Samples(t).One
		p, err := s.Render(a)
		if err != nil {
			t.Fatal(err)
		}
		p.Key, p.Revision = testKey, 1
		receipt := s.mustPublish(p)
		if n := len(r.files()); n != 4 { // README, page, two pictures
			t.Errorf("%s: %d files: %v", flavor, n, r.files())
		}
		at, err := s.flavor.placeOf(s.cfg, receipt.ID)
		if err != nil {
			t.Fatal(err)
		}
		r.commit(at.images+"/notes.pdf", "by hand", "add a file")

		p = s.post(a.ID, a.Title, "no pictures any more")
		p.Revision = 2
		if _, err := s.Update(t.Context(), p, receipt, s.memo); err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{"README.md": true, receipt.ID: true, at.images + "/notes.pdf": true}
		got := map[string]bool{}
		for _, file := range r.files() {
			got[file] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: files after the update (-want +got):\n%s", flavor, diff)
		}
		if err := s.Withdraw(t.Context(), receipt); err != nil {
			t.Fatal(err)
		}
		if pages := r.pages(s.cfg.ContentDir); len(pages) != 0 {
			t.Errorf("%s: pages after the withdrawal: %v", flavor, pages)
		}
	}
}

func TestAJekyllPageKeepsItsNameWhateverTheDateBecomes(t *testing.T) {
	r := newRemote(t)
	s := open(t, r.config(jekyll))
	p := s.post("hello", "Hello", "one")
	p.Date = time.Date(2024, 4, 18, 18, 50, 16, 0, china)
	receipt := s.mustPublish(p)
	if receipt.ID != "_posts/2024-04-18-hello.md" {
		t.Fatalf("id %q", receipt.ID)
	}
	p.Date, p.Body, p.Revision = time.Date(2024, 5, 1, 0, 0, 0, 0, china), "two\n", 2
	updated, err := s.Update(t.Context(), p, receipt, s.memo)
	if err != nil || updated.ID != receipt.ID {
		t.Errorf("updated: %+v, %v", updated, err)
	}
	p.Key, p.Revision, p.Body = otherKey, 1, "three\n" // a republication knows nothing of the first
	s.memo = platformtest.NewMemo()
	if again := s.mustPublish(p); again.ID != receipt.ID {
		t.Errorf("published again as %q", again.ID)
	}
	if pages := r.pages("_posts"); len(pages) != 1 || !strings.Contains(pages[0], "three") {
		t.Errorf("pages: %q", pages)
	}
}

func TestDates(t *testing.T) { // B73
	future := time.Now().Add(48 * time.Hour)
	past := time.Date(2024, 4, 18, 18, 50, 16, 0, china)
	tests := []struct {
		name string
		a    article.Article
		want func(page time.Time) bool
	}{
		{"the article's own", article.Article{Date: past, PublishAt: time.Now()}, past.Equal},
		{"else the planned one", article.Article{PublishAt: past}, past.Equal},
		{"else the moment of publication", article.Article{}, isNow},
		{"never the future, which a generator hides", article.Article{Date: future}, isNow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for flavor := range flavors {
				r := newRemote(t)
				s := open(t, r.config(flavor))
				tt.a.ID, tt.a.Title, tt.a.Body = "hello", "Hello", "text"
				p, err := s.Render(&tt.a)
				if err != nil {
					t.Fatal(err)
				}
				p.Key, p.Revision = testKey, 1
				line := dateLine(r.read(s.mustPublish(p).ID))
				got, err := parseDate(line)
				if err != nil || !tt.want(got) || !strings.Contains(line, "+08:00") {
					t.Errorf("%s: %q", flavor, line)
				}
			}
		})
	}
}

func isNow(date time.Time) bool {
	age := time.Since(date)
	return age >= 0 && age < time.Minute
}

func dateLine(page string) string {
	for line := range strings.Lines(page) {
		if value, ok := strings.CutPrefix(line, "date: "); ok {
			return strings.Trim(value, "\"\n")
		}
	}
	return ""
}

func parseDate(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t, err = time.Parse("2006-01-02 15:04:05 -07:00", text)
	}
	return t, err
}

func TestAnImageThatIsGoneIsNamed(t *testing.T) {
	r := newRemote(t)
	s := open(t, r.config(hugo))
	a := platformtest.Samples(t).One
	p, err := s.Render(a)
	if err != nil {
		t.Fatal(err)
	}
	p.Key, p.Revision = testKey, 1
	if err := os.Remove(a.Images[0].Path); err != nil {
		t.Fatal(err)
	}
	_, err = s.Publish(t.Context(), p, s.memo)
	if platforms.KindOf(err) != platforms.Rejected || !strings.Contains(err.Error(), "figure.png") {
		t.Errorf("%v, want Rejected and the name of the picture", err)
	}
	if len(r.keys()) != 0 {
		t.Error("published without its picture")
	}
}

func TestAReceiptOfAnotherSiteIsRefused(t *testing.T) {
	s := open(t, newRemote(t).config(hugo))
	for _, id := range []string{"", "index.md", "../x/index.md", "/etc/passwd", ".git/hooks/index.md", "content/posts/hello.md"} {
		_, err := s.Update(t.Context(), s.post("hello", "Hello", "text"), platforms.Receipt{ID: id}, s.memo)
		if err = errors.Join(err); platforms.KindOf(err) != platforms.Invalid {
			t.Errorf("update of %q: %v, want Invalid", id, err)
		}
		if err := s.Withdraw(t.Context(), platforms.Receipt{ID: id}); platforms.KindOf(err) != platforms.Invalid {
			t.Errorf("withdrawal of %q: %v, want Invalid", id, err)
		}
	}
}

func ExampleConfig_Validate() {
	fmt.Println(Config{Repo: "https://me:pw@example.com/x.git", Branch: "a..b", Flavor: "jekyl", ContentDir: "../up"}.Validate())
	// Output:
	// repo: holds a user name or password; write them as username and token
	// branch: "a..b" is no name of a branch
	// flavor: "jekyl" is not known; use hugo, hexo or jekyll
	// content_dir: "../up" is no folder inside the repository
}
