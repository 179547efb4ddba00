package main

import (
	"encoding/json"
	"image"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"herald/state"
)

const blogOnly = settings + "  - { name: blog, type: site, dir: site }\n"

const twoTargets = settings + `  - { name: blog, type: site, dir: site }
  - { name: hugo, type: git, repo: remote.git, site_url: "https://hugo.example.com/" }
`

const richArticle = `---
title: 错误处理是系统韧性的设计
tags: [go, 架构]
summary: 失败是常态，韧性是设计出来的。
---
# 引子

失败是**常态**，见[下文](#代码)与 <https://example.com/>。

![截图](<图 片/截图（1）.png>) ![](images/plain.png)

## 代码

` + "```go\nfunc main() {\n\tif err := run(); err != nil {\n\t\tos.Exit(1) // <退出>\n\t}\n}\n```" + `

| 错误 | 处理 |
|------|------|
| 超时 | 重试 |
| 429  | 等待 |
`

// picture writes an image of its own colour.
func (p *place) picture(name string, shade uint8) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o750); err != nil {
		p.t.Fatal(err)
	}
	f, err := os.Create(p.path(name))
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	im := image.NewGray(image.Rect(0, 0, 8, 8))
	im.Pix[0] = shade
	if err := png.Encode(f, im); err != nil {
		p.t.Fatal(err)
	}
}

func TestADroppedArticleBecomesAPageWhoseEveryLinkResolves(t *testing.T) {
	t.Parallel()
	p := newPlace(t, blogOnly)
	d := p.start()
	p.picture("drop/error-handling/图 片/截图（1）.png", 10)
	p.picture("drop/error-handling/images/plain.png", 200)
	p.write("drop/error-handling/index.md", richArticle)
	if err := os.Rename(p.path("drop/error-handling"), p.path("data/queue/error-handling")); err != nil {
		t.Fatal(err)
	}
	r := p.awaitState("error-handling", state.ArticleSuccess)

	page := strings.TrimPrefix(r.Deliveries[0].URL, "file://")
	page, err := url.PathUnescape(page)
	if err != nil {
		t.Fatal(err)
	}
	text := p.text(page)
	for _, want := range []string{"错误处理是系统韧性的设计", "\tif err := run(); err != nil {\n\t\tos.Exit(1) // <退出>\n\t}", "重试"} {
		if !strings.Contains(words(t, text), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if !strings.Contains(text, "<table>") {
		t.Error("the page has no table")
	}
	if n := strings.Count(text, "<img"); n != 2 {
		t.Errorf("the page has %d images, want 2", n)
	}
	if pages := p.crawl(p.path("site/index.html")); !pages[page] {
		t.Errorf("no way leads from the index to %s; it leads to %v", page, pages)
	}

	st := p.want(0, "status", "--json")
	var got struct{ Articles []map[string]any }
	if err := json.Unmarshal([]byte(st.out), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Articles) != 1 || got.Articles[0]["state"] != "success" || got.Articles[0]["title"] != "错误处理是系统韧性的设计" {
		t.Errorf("status --json says %s", st.out)
	}
	if out := d.out.String(); !strings.Contains(out, p.path("site/index.html")) || !strings.Contains(out, p.path("data/queue")) || !strings.Contains(out, p.socket()) {
		t.Errorf("run does not say where blog, queue and socket are: %s", out)
	}
}

// B10: a corrected article does not become a second post.
func TestAnEditedArticleIsUpdatedInPlace(t *testing.T) {
	t.Parallel()
	p := newPlace(t, blogOnly)
	p.start()
	p.drop("a.md", "# 标题\n\n第一版有一个错字。\n")
	first := p.awaitState("a", state.ArticleSuccess)
	p.drop("a.md", "# 标题\n\n第二版没有错字。\n")
	second := p.await("a", "at revision 2", func(r state.Report) bool {
		return r.Revision == 2 && r.State == state.ArticleSuccess && r.Deliveries[0].State == state.Published
	})
	if first.Deliveries[0].URL != second.Deliveries[0].URL {
		t.Errorf("the post moved from %s to %s", first.Deliveries[0].URL, second.Deliveries[0].URL)
	}
	text := p.text(strings.TrimPrefix(second.Deliveries[0].URL, "file://"))
	if !strings.Contains(text, "第二版") || strings.Contains(text, "第一版") {
		t.Errorf("the page is not the second revision: %s", text)
	}
	if n := p.listed("posts/a/"); n != 1 {
		t.Errorf("the index lists it %d times", n)
	}
	if out := p.want(0, "status", "a").out; !strings.Contains(out, "revision  2") || !strings.Contains(out, "revise") {
		t.Errorf("status a does not tell of the revision: %s", out)
	}
}

// words is the text of a page without its tags.
func words(t *testing.T, page string) string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for n := range doc.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}

// listed counts the entries of the index that lead to a post.
func (p *place) listed(post string) int {
	p.t.Helper()
	hrefs := map[string]int{}
	for _, ref := range p.references(p.path("site/index.html")) {
		hrefs[ref]++
	}
	n := 0
	for ref, times := range hrefs {
		if strings.Contains(ref, post) {
			n += times
		}
	}
	return n
}

func (p *place) text(file string) string {
	p.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

// references returns what a page refers to, and its fragments as "#id".
func (p *place) references(file string) []string {
	p.t.Helper()
	doc, err := html.Parse(strings.NewReader(p.text(file)))
	if err != nil {
		p.t.Fatal(err)
	}
	var refs []string
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "href" || a.Key == "src" {
				refs = append(refs, a.Val)
			}
		}
	}
	return refs
}

// crawl follows every local reference from a page and demands that it resolves;
// it returns the pages it has seen.
func (p *place) crawl(from string) map[string]bool {
	p.t.Helper()
	seen := map[string]bool{from: true}
	for todo := []string{from}; len(todo) > 0; {
		page := todo[0]
		todo = todo[1:]
		for _, ref := range p.references(page) {
			u, err := url.Parse(ref)
			if err != nil {
				p.t.Errorf("%s refers to %q: %v", page, ref, err)
				continue
			}
			if u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "data" || u.Scheme == "mailto" {
				continue
			}
			file := page
			if u.Path != "" {
				file = u.Path
				if u.Scheme == "" && !filepath.IsAbs(file) {
					file = filepath.Join(filepath.Dir(page), file)
				}
			}
			info, err := os.Stat(file)
			if err != nil {
				p.t.Errorf("%s refers to %q, which is not there", page, ref)
				continue
			}
			if info.IsDir() {
				p.t.Errorf("%s refers to the folder %q, which a browser does not open from the disk", page, ref)
				continue
			}
			if !strings.HasSuffix(file, ".html") {
				continue
			}
			if u.Fragment != "" && !strings.Contains(p.text(file), `id="`+u.Fragment+`"`) {
				p.t.Errorf("%s refers to %q, but %s has no such id", page, ref, file)
			}
			if !seen[file] {
				seen[file] = true
				todo = append(todo, file)
			}
		}
	}
	return seen
}
