package scheduler

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/article"
)

// refused drops files together with a good article, looks until the entry must
// have been judged, and checks that the entry and nothing else was set aside, and
// that the queue goes on. It returns the reason.
func (r *rig) refused(entry string) string {
	r.Helper()
	r.drop("good.md", text("Good", "dropped at the same time"))
	r.settle()
	r.settle()
	if !slices.Contains(r.articles(), "good") {
		r.Errorf("the article dropped at the same time was not admitted\n%s", r.log)
	}
	if exists(r.path(entry)) || !exists(r.path(".bad/"+entry)) {
		r.Errorf("%s is not in .bad; files: %q\n%s", entry, r.files(), r.log)
	}
	r.drop("after.md", text("After", "dropped afterwards"))
	r.settle()
	r.wantArticles("after", "good")
	return r.reason(entry)
}

func TestBadInputIsSetAsideWithFileLineAndRemedy(t *testing.T) {
	big := "---\ntitle: Big\n---\n" + strings.Repeat("long line of text\n", 50<<20/18)
	for _, c := range []struct {
		name   string
		files  map[string]string
		entry  string
		reason string // a pattern: file:line, the fault and the remedy
	}{
		{"a missing title", map[string]string{"x.md": "just text\n"}, "x.md", `x\.md: the article has no title; add "title:`},
		{"broken YAML", map[string]string{"x.md": "---\ntitle: \"open\ntags: [a\n---\n\ntext\n"}, "x.md", `x\.md:\d+: the front matter is not valid YAML.*; quote`},
		{"a misspelt key", map[string]string{"x.md": "---\ntitle: T\nplatfroms: [blog]\n---\n\ntext\n"}, "x.md", `x\.md:3: .*platfroms.*; .*platforms`},
		{"an unknown platform", map[string]string{"x.md": "---\ntitle: T\nplatforms: [blog, wechta]\n---\n\ntext\n"}, "x.md", `x\.md:3: .*wechta.*; `},
		{"a tag of the wrong type, before any platform is called", map[string]string{"x.md": "---\ntitle: T\ntags: {a: b}\n---\n\ntext\n"}, "x.md", `x\.md:3: .*tags.*; `}, // B78
		{"a date that is none", map[string]string{"x.md": "---\ntitle: T\npublish_at: tomorrow\n---\n\ntext\n"}, "x.md", `x\.md:3: .*tomorrow.*; `},
		{"a day that is none", map[string]string{"x.md": "---\ntitle: T\npublish_at: 2026-02-30 09:00\n---\n\ntext\n"}, "x.md", `x\.md:3: .*2026-02-30.*; `},
		{"50 MB of text", map[string]string{"x.md": big}, "x.md", `x\.md: the text has 50 MiB, the limit is 4\.0 MiB; split`},
		{"text that is not UTF-8", map[string]string{"x.md": "---\ntitle: T\n---\n\n\xc4\xe3\xba\xc3\xca\xc0\xbd\xe7\n"}, "x.md", `x\.md:5: .*UTF-8.*; `},
		{"UTF-16", map[string]string{"x.md": "\xff\xfet\x00"}, "x.md", `x\.md:1: .*UTF-16.*; `},
		{"front matter only", map[string]string{"x.md": "---\ntitle: T\n---\n"}, "x.md", `x\.md.*: the article has no text; write`},                       // B54
		{"nothing but a comment", map[string]string{"x.md": "---\ntitle: T\n---\n\n<!-- later -->\n"}, "x.md", `x\.md:5: the article has no text; write`}, // B54
		{"an empty file", map[string]string{"x.md": ""}, "x.md", `x\.md.*: the article has no`},
		{"a folder with two articles", map[string]string{"x/a.md": text("A", "a"), "x/b.md": text("B", "b")}, "x", `x: the folder holds 2 Markdown files: a\.md, b\.md; name`},
		{"an image out of the folder", map[string]string{"x/index.md": text("T", "![](../../../../etc/passwd)")}, "x", `x/index\.md:5: .*etc/passwd" is outside the article's folder; put`},
		{"an absolute image", map[string]string{"x.md": text("T", "![](/etc/passwd)")}, "x.md", `x\.md:5: .*outside.*; put`},
		{"a file: image", map[string]string{"x.md": text("T", "![](file:///etc/passwd)")}, "x.md", `x\.md:5: .*file:.*never read; put`},
		{"an image at a private address", map[string]string{"x.md": text("T", "![](http://169.254.169.254/latest)")}, "x.md", `x\.md:5: .*169\.254\.169\.254.*; `},
		{"an image of herald's own folders", map[string]string{"x.md": text("T", "![](.bad/a.png)")}, "x.md", `x\.md:5: .*outside.*; put`},
		{"an image without content", map[string]string{"x/index.md": text("T", "![](a.png)"), "x/a.png": ""}, "x", `x/index\.md:5: .*a\.png" is empty.*; export`},
		{"an image that is none", map[string]string{"x/index.md": text("T", "![](a.png)"), "x/a.png": "<html>"}, "x", `x/index\.md:5: .*not a picture.*; use`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.put(c.files)
			reason := r.refused(c.entry)
			if !regexp.MustCompile(c.reason).MatchString(reason) {
				t.Errorf("reason does not match %s:\n%s", c.reason, reason)
			}
			for name, content := range c.files {
				kept, err := os.ReadFile(r.path(".bad/" + name))
				if err != nil || string(kept) != content {
					t.Errorf("%s is not kept as it was: %v", name, err)
				}
			}
		})
	}
}

func TestASecretBehindALinkIsNeverRead(t *testing.T) { // B72
	for _, c := range []struct {
		name  string
		make  func(r *rig, secret string)
		entry string
	}{
		{"the article itself", func(r *rig, secret string) { r.must(os.Symlink(secret, r.path("x.md"))) }, "x.md"},
		{"a folder", func(r *rig, secret string) { r.must(os.Symlink(filepath.Dir(secret), r.path("x"))) }, "x"},
		{"the text in a folder", func(r *rig, secret string) {
			r.must(os.Mkdir(r.path("x"), 0o755))
			r.must(os.Symlink(secret, r.path("x/index.md")))
		}, "x"},
		{"an image", func(r *rig, secret string) {
			r.drop("x/index.md", text("T", "![](a.png)"))
			r.must(os.Symlink(secret, r.path("x/a.png")))
		}, "x"},
		{"an image by way of a linked folder", func(r *rig, secret string) {
			r.drop("x/index.md", text("T", "![](img/secret.md)"))
			r.must(os.Symlink(filepath.Dir(secret), r.path("x/img")))
		}, "x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			secret := filepath.Join(t.TempDir(), "secret.md")
			r.must(os.WriteFile(secret, []byte(text("Secret", "hunter2")), 0o644))
			c.make(r, secret)
			if reason := r.refused(c.entry); !strings.Contains(reason, "link") || !strings.Contains(reason, "; ") {
				t.Errorf("reason = %s, want one that names the link and a remedy", reason)
			}
			if !exists(secret) {
				t.Error("what the link leads to was moved away")
			}
			for name, content := range r.files() {
				if strings.Contains(content, "hunter2") {
					t.Errorf("%s holds what the link leads to", name)
				}
			}
		})
	}
}

// What lies beside the text but is not published may be a link to anywhere; it is
// not followed either.
func TestAnUnusedLinkOutOfTheFolderIsNotFollowed(t *testing.T) {
	r := newRig(t)
	secret := filepath.Join(t.TempDir(), "secret")
	r.must(os.WriteFile(secret, []byte("hunter2"), 0o644))
	r.drop("x/index.md", text("T", "text"))
	r.must(os.Symlink(secret, r.path("x/notes.txt")))
	r.settle()
	r.wantArticles("x")
	r.wantFiles(".done/x/r1/index.md")
}

func TestALinkToNothingIsWaitedForAndRefused(t *testing.T) {
	for name, target := range map[string]string{"nothing": "gone.md", "itself": "x.md"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.must(os.Symlink(target, r.path("x.md")))
			r.settle()
			if !exists(r.path("x.md")) {
				t.Error("refused at once, though a copy may still be under way")
			}
			r.look(missingFor)
			if reason := r.reason("x.md"); !strings.Contains(reason, "x.md: cannot be read") || !strings.Contains(reason, "; ") {
				t.Errorf("reason = %s, want file, fault and remedy", reason)
			}
		})
	}
}

func TestARefusalIsToldOnceAndTheSameNameMayComeAgain(t *testing.T) {
	r := newRig(t)
	for range 3 {
		r.drop("x.md", "no title")
		r.settle()
	}
	names := 0
	for name := range r.files() {
		if strings.HasPrefix(name, ".bad/") && strings.HasSuffix(name, "x.md") {
			names++
			if !exists(r.path(name + ".reason.txt")) {
				t.Errorf("%s has no reason beside it", name)
			}
		}
	}
	if names != 3 {
		t.Errorf("%d refused files kept, want 3: %q", names, r.files())
	}
	if n := strings.Count(r.log.String(), "article refused"); n != 3 {
		t.Errorf("%d refusals told, want 3", n)
	}
	r.drop("x.md", text("Mended", "text"))
	r.settle()
	r.wantArticles("x")
}

func TestAnArticleThatMakesTheReaderPanicIsRefused(t *testing.T) {
	r := newRig(t)
	r.queue.read = func(path string, o article.Options) (*article.Article, error) {
		if o.Name == "x.md" {
			panic("index out of range")
		}
		return article.Load(path, o)
	}
	r.drop("x.md", text("T", "text"))
	if reason := r.refused("x.md"); !strings.Contains(reason, "x.md: herald cannot read it (index out of range)") {
		t.Errorf("reason = %s", reason)
	}
}

func TestAStoreThatIsSickKeepsTheArticleInTheQueue(t *testing.T) {
	r := newRig(t)
	r.drop("x.md", text("T", "text"))
	r.must(r.store.Close())
	at := time.Time{}
	for range 5 {
		at = r.look(2 * time.Second)
	}
	if !at.Equal(r.now.Add(faultRest)) {
		t.Errorf("next look at %v, want after a rest", at)
	}
	if n := strings.Count(r.log.String(), "stays in the queue"); n != 1 {
		t.Errorf("told %d times, want once:\n%s", n, r.log)
	}
	if !exists(r.path("x.md")) || exists(r.path(".bad/x.md")) {
		t.Errorf("the file is not in the queue any more: %q", r.files())
	}
}

func TestAFullDiskKeepsTheArticleInTheQueue(t *testing.T) {
	r := newRig(t)
	r.drop("x.md", text("T", "text"))
	r.drop("y.md", text("U", "other text"))
	r.drop(".done/x", "a file where the folder of x must be: no copy can be made")
	r.settle()
	r.wantArticles("y")
	r.wantFiles("x.md", ".done/x", ".done/y/r1/y.md")
	r.must(os.Remove(r.path(".done/x")))
	r.look(faultRest)
	r.wantArticles("x", "y")
}
