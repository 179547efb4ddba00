package article

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"
)

func TestTitleIsTheFirstHeadingUnlessFrontMatterHasOne(t *testing.T) {
	for _, tc := range []struct {
		name, text, title, body string
		line                    int
	}{
		{"heading only", "# 标题 *x*\n\n正文\n", "标题 x", "正文\n", 3},
		{"underlined", "\n标题\n====\n正文\n", "标题", "正文\n", 4},
		{"closing hashes", "# A & B #\ntext\n", "A & B", "text\n", 2},
		{"second heading first", "## Two\n\n# One\n\nx\n", "One", "## Two\n\n\n\nx\n", 1},
		{"empty and picture headings", "#\n\n# One\nx\n", "One", "#\n\n\nx\n", 1},
		{"front matter", "---\ntitle: T\n---\n\n# Other\n\nx\n", "T", "# Other\n\nx\n", 5},
		{"both the same", "---\ntitle: 'A  B'\n---\n# A B\n\nx\n", "A B", "x\n", 6},
		{"in code", "---\ntitle: T\n---\n```\n# T\n```\n", "T", "```\n# T\n```\n", 4},
		{"after text", "intro\n\nT\n=\n\nx\n", "T", "intro\n\n\n\n\nx\n", 1},
		{"no more lines", "x\n# T", "T", "x\n", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := mustLoadText(t, tc.text, Options{})
			wantEqual(t, "title", a.Title, tc.title)
			wantEqual(t, "body", a.Body, tc.body)
			wantEqual(t, "line of the body", a.BodyLine, tc.line)
		})
	}
}

func TestArticleWithoutTitleIsRefused(t *testing.T) {
	for _, text := range []string{"text\n", "---\nauthor: x\n---\n\n## Two\n", "---\ntitle: ''\n---\ntext\n"} {
		_, err := loadText(t, text, Options{})
		wantProblem(t, err, "title-missing", 0, "a.md: the article has no title", "title: …", "# Heading")
	}
}

func TestArticleWithoutTextIsRefused(t *testing.T) { // B54
	for name, body := range map[string]string{
		"nothing":               "",
		"white space":           " \n\t\n\n",
		"a comment":             "<!-- to do -->\n",
		"a comment left open":   "<!-- to do\n\nmore\n",
		"a comment in a line":   "&nbsp; <!-- x -->\u200b\n",
		"a link definition":     "[a]: https://example.com\n",
		"the title once more":   "# T\n",
		"a rule":                "***\n",
		"an unused footnote":    "[^1]: text\n",
		"only an empty heading": "##\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadText(t, "---\ntitle: T\n---\n"+body, Options{})
			ps, ok := err.(Problems) //nolint:errorlint // Load promises the type itself
			if !ok || len(ps) != 1 || ps[0].Rule != "body-missing" || ps[0].Line > 0 && ps[0].Line < 4 {
				t.Fatalf("error = %v, want body-missing without line or from line 4 on", err)
			}
			if !strings.Contains(err.Error(), "a.md") || !strings.Contains(err.Error(), "write the text") {
				t.Errorf("error %v names no file or no remedy", err)
			}
		})
	}
	for name, body := range map[string]string{
		"a picture":      "![](https://example.com/a.png)\n",
		"a video":        "<video src=x></video>\n",
		"an HTML image":  "<img src=https://example.com/a.png>\n",
		"code":           "```\n<!-- x -->\n```\n",
		"a single digit": "1\n",
	} {
		t.Run(name, func(t *testing.T) {
			mustLoadText(t, "---\ntitle: T\n---\n"+body, Options{})
		})
	}
}

func TestFilesThatAreNoTextAreRefused(t *testing.T) {
	gbk, err := simplifiedchinese.GB18030.NewEncoder().String("# 标题\n\n正文\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, text, rule string
		line             int
		texts            []string
	}{
		{"GBK", gbk, "not-utf8", 1, []string{"a.md:1", "GBK", "iconv -f GB18030 -t UTF-8"}},
		{"one broken byte", "# 标题\n\n正文正文正文\n\xff\n", "not-utf8", 4, []string{"a.md:4", "0xFF", "save the file as UTF-8"}},
		{"UTF-16", "\xff\xfe#\x00 \x00", "not-utf8", 1, []string{"UTF-16", "iconv"}},
		{"a picture", picture(t, 1), "binary", 3, []string{"not text"}},
		{"zero bytes", "# T\n\nx\x00\n", "binary", 3, []string{"zero byte", "Markdown"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := loadText(t, tc.text, Options{})
			wantProblem(t, err, tc.rule, tc.line, tc.texts...)
			if tc.name == "one broken byte" && strings.Contains(err.Error(), "GBK") {
				t.Errorf("UTF-8 text with one fault is taken for GBK: %v", err)
			}
		})
	}
}

func TestTextOverTheLimitIsRefusedUnread(t *testing.T) {
	dir := tree(t, map[string]string{"a.md": "# T\n"})
	file := filepath.Join(dir, "a.md")
	if err := os.Truncate(file, 50<<20); err != nil {
		t.Fatal(err)
	}
	allocated := testing.AllocsPerRun(1, func() {
		_, err := Load(file, Options{})
		wantProblem(t, err, "too-large", 0, "a.md", "50 MiB", "4.0 MiB", "split")
	})
	if allocated > 1000 {
		t.Errorf("%v allocations: the file was read", allocated)
	}
	_, err := Load(file, Options{MaxText: 10})
	wantProblem(t, err, "too-large", 0, "10 B")
	if _, err := loadText(t, "# T\n\n"+strings.Repeat("x", 100), Options{MaxText: 105}); err != nil {
		t.Errorf("a text of exactly the limit: %v", err)
	}
}

func TestControlCharactersAreRemovedWithANote(t *testing.T) {
	a := mustLoadText(t, "# T\n\na\tb\n\x0bc\x07\x7f\u0085\n", Options{})
	wantEqual(t, "body", a.Body, "a\tb\nc\n")
	wantEqual(t, "notes", a.Notes, []string{"line 4: 4 control characters were removed from the text, the first of them here"})
}

func TestUnclosedCodeIsOnlyNoted(t *testing.T) {
	a := mustLoadText(t, "# T\n\n```\nok\n```\n\n> ~~~\n> ok\n> ~~~\n\n~~~~go\nx\n~~~\n", Options{})
	wantEqual(t, "notes", a.Notes, []string{"line 11: the code block that begins here is never closed"})
	a = mustLoadText(t, "# T\n\nx\n\n```", Options{})
	wantEqual(t, "notes", a.Notes, []string{"line 5: the code block that begins here is never closed"})
}

func TestTextThatIsNestedTooDeeplyIsRefused(t *testing.T) {
	for _, line := range []string{strings.Repeat(">", 1<<20), strings.Repeat("> - ", 60) + "x", strings.Repeat("1. ", 101) + "x"} {
		_, err := loadText(t, "# T\n\nx\n\n"+line+"\n", Options{})
		wantProblem(t, err, "too-deep", 5, "more than 100", "nest less")
	}
	for _, line := range []string{strings.Repeat("> ", 100) + "x", strings.Repeat("- ", 200), strings.Repeat("* ", 200), strings.Repeat("-", 200)} {
		mustLoadText(t, "# T\n\nx\n\n"+line+"\n", Options{})
	}
}

func TestArticleMayBeAFileOrAFolder(t *testing.T) {
	root := tree(t, map[string]string{
		"My Post!.md":       "# A\n\nx\n",
		"文章/index.md":       "# B\n\n![](b.png)\n",
		"文章/other.md":       "no title\n",
		"文章/b.png":          picture(t, 1),
		"single/text.md":    "# C\n\nx\n",
		"single/_draft.md":  "x\n",
		"single/.hidden.md": "x\n",
		"two/a.md":          "x\n",
		"two/b.MD":          "x\n",
		"none/a.txt":        "x\n",
		"index.md":          "# D\n\nx\n",
	})
	for path, want := range map[string][2]string{
		"My Post!.md":    {"my-post", "My Post!.md"},
		"文章":             {"文章", "文章/index.md"},
		"文章/index.md":    {"文章", "index.md"},
		"single":         {"single", "single/text.md"},
		"single/text.md": {"text", "text.md"},
		"index.md":       {"index", "index.md"},
	} {
		a := mustLoad(t, filepath.Join(root, path), Options{Root: root})
		wantEqual(t, "identity of "+path, a.ID, want[0])
		_, err := Load(filepath.Join(root, path), Options{Root: root, MaxText: 1})
		wantProblem(t, err, "too-large", 0, want[1]+":")
	}
	wantEqual(t, "forced identity", mustLoad(t, filepath.Join(root, "文章"), Options{Root: root, ID: "x"}).ID, "x")

	_, err := Load(filepath.Join(root, "two"), Options{Root: root})
	wantProblem(t, err, "folder-ambiguous", 0, "two: the folder holds 2 Markdown files: a.md, b.MD", "index.md")
	_, err = Load(filepath.Join(root, "none"), Options{Root: root})
	wantProblem(t, err, "folder-empty", 0, "none: ", "index.md")
}

func TestArticleThatIsALinkOutOfTheQueueIsRefused(t *testing.T) {
	outside := tree(t, map[string]string{"a.md": "# T\n\nx\n", "post/index.md": "# T\n\nx\n"})
	root := tree(t, map[string]string{"folder/x.txt": "", "in.md": "# T\n\nx\n"})
	link := func(target, name string) string {
		t.Helper()
		p := filepath.Join(root, name)
		if err := os.Symlink(target, p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, path := range []string{
		link(filepath.Join(outside, "a.md"), "link.md"),
		link(filepath.Join(outside, "post"), "post"),
	} {
		_, err := Load(path, Options{Root: root})
		wantProblem(t, err, "symlink-outside", 0, filepath.Base(path)+": ", outside, "copy")
	}
	link(filepath.Join(outside, "a.md"), "folder/index.md")
	for _, o := range []Options{{Root: root}, {}} {
		_, err := Load(filepath.Join(root, "folder"), o)
		wantProblem(t, err, "symlink-outside", 0, "folder/index.md: ")
	}
	mustLoad(t, link(filepath.Join(root, "in.md"), "same.md"), Options{Root: root})

	linked := filepath.Join(t.TempDir(), "queue")
	if err := os.Symlink(root, linked); err != nil {
		t.Fatal(err)
	}
	mustLoad(t, filepath.Join(linked, "in.md"), Options{Root: linked})
}

func TestNamedPipeIsRefusedAtOnce(t *testing.T) {
	root := tree(t, map[string]string{"b.md": "# T\n\n![](pipe.png)\n"})
	for _, name := range []string{"pipe.md", "pipe.png"} {
		if err := syscall.Mkfifo(filepath.Join(root, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Load(filepath.Join(root, "pipe.md"), Options{Root: root})
	wantProblem(t, err, "not-regular", 0, "pipe.md", "not a regular file")
	_, err = Load(filepath.Join(root, "b.md"), Options{Root: root})
	wantProblem(t, err, "image-invalid", 3, `"pipe.png" is not a file`)
}

func TestHashIsThatOfTheContentAlone(t *testing.T) {
	const front = "title: T\nauthor: A\nsummary: S\ntags: [a]\ncanonical_url: https://e.com/\ndate: 2026-01-01\nblog: { x: 1, cover: b.png }\n"
	const body = "---\ntext ![](a.png)\n"
	load := func(front, body, a, b string) *Article {
		t.Helper()
		dir := tree(t, map[string]string{"post/index.md": "---\n" + front + body, "post/a.png": a, "post/b.png": b})
		return mustLoad(t, filepath.Join(dir, "post"), Options{Root: dir})
	}
	one, two := picture(t, 1), picture(t, 2)
	want := load(front, body, one, two)

	for name, same := range map[string]*Article{
		"another folder": load(front, body, one, two),
		"routing": load(front+"platforms: [x]\npublish_at: 2026-01-01\nskip_if_late: 1h\nconsistency: all_or_nothing\n"+
			"allow_duplicate: true\ndraft: true\nid: other\n", body, one, two),
		"line ends": load(strings.ReplaceAll(front, "\n", "\r\n"), strings.ReplaceAll(body, "\n", "\r\n")+"\r\n", one, two),
	} {
		if same.Hash != want.Hash || same.Fingerprint != want.Fingerprint {
			t.Errorf("%s changes the hash", name)
		}
	}
	for name, other := range map[string]*Article{
		"title":         load(strings.Replace(front, "title: T", "title: U", 1), body, one, two),
		"author":        load(strings.Replace(front, "author: A", "author: B", 1), body, one, two),
		"summary":       load(strings.Replace(front, "summary: S", "summary: Z", 1), body, one, two),
		"tags":          load(strings.Replace(front, "tags: [a]", "tags: [b]", 1), body, one, two),
		"canonical_url": load(strings.Replace(front, "e.com", "f.com", 1), body, one, two),
		"date":          load(strings.Replace(front, "2026", "2027", 1), body, one, two),
		"cover":         load(front+"cover: b.png\n", body, one, two),
		"override":      load(strings.Replace(front, "x: 1", "x: 2", 1), body, one, two),
		"its cover":     load(front, body, one, picture(t, 3)),
		"picture":       load(front, body, picture(t, 3), two),
		"reference":     load(front, strings.Replace(body, "a.png", "./a.png", 1), one, two),
		"text":          load(front, body+"\nmore\n", one, two),
		"white space":   load(front, strings.Replace(body, "text ", "text\t", 1), one, two),
	} {
		if other.Hash == want.Hash {
			t.Errorf("%s does not change the hash", name)
		}
		if same := other.Fingerprint == want.Fingerprint; same != (name != "title" && name != "text" && name != "reference") {
			t.Errorf("%s: fingerprint is the same: %v", name, same)
		}
	}
}
