package site

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"herald/article"
	"herald/platforms"
)

// checkLinks follows every address of every page and of the feed that is not
// absolute, and fails where it leads to no file.
func checkLinks(t *testing.T, dir string) {
	t.Helper()
	links := 0
	for _, name := range files(t, dir) {
		path := filepath.Join(dir, name)
		var hrefs []string
		switch filepath.Ext(name) {
		case ".html":
			for n := range parsePage(t, path).Descendants() {
				for _, a := range n.Attr {
					if a.Key == "href" || a.Key == "src" {
						hrefs = append(hrefs, a.Val)
					}
				}
			}
		case ".xml":
			hrefs = feedAddresses(t, path)
		}
		for _, href := range hrefs {
			u, err := url.Parse(href)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if u.IsAbs() || u.Path == "" {
				continue
			}
			links++
			target := filepath.Join(filepath.Dir(path), u.Path)
			if info, err := os.Stat(target); err != nil || info.IsDir() {
				t.Errorf("%s links to %s, which is no file (%v)", name, href, err)
			}
		}
	}
	if links == 0 {
		t.Error("no links were found")
	}
}

// feedAddresses returns the addresses of a feed, also those inside its content.
func feedAddresses(t *testing.T, path string) []string {
	t.Helper()
	f := readFeed(t, path)
	var hrefs []string
	for _, l := range f.Links {
		hrefs = append(hrefs, l.Href)
	}
	for _, e := range f.Entries {
		hrefs = append(hrefs, e.Links[0].Href)
		for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(e.Content.Body, -1) {
			hrefs = append(hrefs, m[1])
		}
	}
	return hrefs
}

// readFeed parses a feed and fails if it lacks what RFC 4287 requires.
func readFeed(t *testing.T, path string) atomFeed {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dec := xml.NewDecoder(strings.NewReader(string(data)))
	for { // every token: Unmarshal stops at the end of the root
		_, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the feed is no XML: %v\n%s", err, data)
		}
	}
	var f atomFeed
	if err := xml.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	stamp := func(s string) {
		if _, err := time.Parse(time.RFC3339, s); err != nil {
			t.Errorf("feed: %v", err)
		}
	}
	stamp(f.Updated)
	if f.XMLName.Space != "http://www.w3.org/2005/Atom" || f.Title == "" || f.ID == "" || f.Author.Name == "" || f.Lang == "" {
		t.Errorf("feed lacks a required element: %+v", f)
	}
	ids := map[string]bool{}
	for _, e := range f.Entries {
		stamp(e.Updated)
		stamp(e.Published)
		if u, err := url.Parse(e.ID); err != nil || !u.IsAbs() || ids[e.ID] || e.Title == "" || len(e.Links) == 0 {
			t.Errorf("feed entry lacks a required element, or its id is not unique: %+v", e)
		}
		ids[e.ID] = true
	}
	return f
}

// rich is a post with all that a page can show.
func rich(t *testing.T) platforms.Post {
	p := newPost("错误处理-是设计", 17, "go", "架构", "C++")
	p.Title, p.Author, p.Summary = "发布🚀 C++ & <T>", "herald", `两类"错误" & <更多>`
	p.Body = `<p>正文<sup id="fnref:1"><a href="#fn:1" class="footnote-ref" role="doc-noteref">1</a></sup>，见<a href="https://go.dev/">Go</a>。</p>
<pre class="chroma"><code><span class="line">a &lt; b</span></code></pre>
<div class="footnotes" role="doc-endnotes"><ol><li id="fn:1"><p>注 <a href="#fnref:1">↩︎</a></p></li></ol></div>
`
	p = withImage(t, p, "fig.png", "pixels")
	p.Cover = &p.Images[0]
	return p
}

func TestGoldenPages(t *testing.T) {
	for name, cfg := range map[string]Config{
		"disk": {Title: "韧性笔记", Description: "关于可靠系统"},
		"web":  {Title: "Notes", URL: "https://example.com/blog", Language: "en", Author: "The authors"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the time is always the same
				c := open(t, cfg)
				p := rich(t)
				mustPublish(t, c, newPost("older", 1), p, newPost("newer", 20, "go"))
				p.Revision = 2
				mustPublish(t, c, p)
				for _, file := range []string{"posts/" + p.Slug + "/index.html", "index.html", "tags/index.html", "tags/go/index.html", "404.html", feedFile} {
					flat := strings.ReplaceAll(strings.Replace(file, p.Slug, "post", 1), "/", "-")
					golden(t, filepath.Join("testdata", name+"-"+flat), read(t, c, file))
				}
				readFeed(t, filepath.Join(c.dir, feedFile))
				checkLinks(t, c.dir)
			})
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; renew with -update):\n%s", path, diff)
	}
}

func TestAllLinksLeadToFiles(t *testing.T) {
	c := open(t, Config{PerPage: 3})
	for i := range 8 {
		p := newPost(fmt.Sprintf("第%d篇-100%%-a+b-é", i), i+1, "go", "C++", "C#", "架构 设计", fmt.Sprintf("只有%d", i))
		mustPublish(t, c, withImage(t, p, "fig.png", "pixels"))
	}
	mustPublish(t, c, rich(t))
	checkLinks(t, c.dir)
	if err := c.Withdraw(t.Context(), c.receipt("错误处理-是设计")); err != nil {
		t.Fatal(err)
	}
	checkLinks(t, c.dir)
}

func TestNoPageNeedsTheNetworkOrAScript(t *testing.T) {
	c := open(t, Config{URL: "https://example.com/"})
	mustPublish(t, c, newPost("a", 1, "go"))
	for _, name := range files(t, c.dir) {
		if filepath.Ext(name) != ".html" {
			continue
		}
		for n := range parsePage(t, filepath.Join(c.dir, name)).Descendants() {
			if n.Data == "script" || n.Data == "iframe" {
				t.Errorf("%s has a %s", name, n.Data)
			}
			for _, a := range n.Attr {
				loads := a.Key == "src" || a.Key == "href" && n.Data == "link" && attr(n, "rel") != "canonical"
				if loads && strings.Contains(a.Val, "://") && name != "404.html" {
					t.Errorf("%s loads %s", name, a.Val)
				}
			}
		}
	}
	if css := read(t, c, "style.css"); strings.Contains(css, "url(") || strings.Contains(css, "@import") {
		t.Error("the style sheet loads something")
	}
}

func attr(n *html.Node, key string) string {
	i := slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
	if i < 0 {
		return ""
	}
	return n.Attr[i].Val
}

func TestEmojiMarkupAndControlCharactersStayValid(t *testing.T) { // B84
	c := open(t, Config{})
	p := newPost("a", 1, "a\x0bb", "<T>")
	p.Title = "发布🚀 C++ & <T>\x0b"
	p.Summary = "摘要\x00\x1f\ufffe]]>"
	p.Author = "é\x7f\xff"
	p.Body = "<p>正文\x0b\x00 &amp; ]]> <b>x</b></p>"
	mustPublish(t, c, p)
	e := readFeed(t, filepath.Join(c.dir, feedFile)).Entries[0]
	if e.Title != "发布🚀 C++ & <T>" || e.Summary != "摘要]]>" || e.Author.Name != "é\ufffd" || e.Categories[0].Term != "ab" {
		t.Errorf("got %+v", e)
	}
	if want := "<p>正文 &amp; ]]&gt; <b>x</b></p>"; e.Content.Body != want {
		t.Errorf("content %q, want %q", e.Content.Body, want)
	}
	page := read(t, c, "posts/a/index.html")
	if strings.ContainsAny(page, "\x00\x0b\x1f\x7f") {
		t.Error("the page has control characters")
	}
	if !strings.Contains(page, "<h1>发布🚀 C&#43;&#43; &amp; &lt;T&gt;</h1>") {
		t.Error("the title is not escaped, or lost its emoji")
	}
}

func TestTagsWithOneSlugHavePagesOfTheirOwnAndKeepThem(t *testing.T) {
	c := open(t, Config{})
	mustPublish(t, c, newPost("a", 1, "C++", "go"))
	before, _ := readIndex(t.Context(), c.dir)
	mustPublish(t, c, newPost("b", 2, "C", "Go", "#go"), newPost("c", 3, "C#", "🚀", "✈"))
	after, err := readIndex(t.Context(), c.dir)
	if err != nil {
		t.Fatal(err)
	}
	if before.Tags["c++"] != "c" || after.Tags["c++"] != "c" {
		t.Errorf("C++ moved from %q to %q", before.Tags["c++"], after.Tags["c++"])
	}
	folders := map[string]string{}
	for tag, folder := range after.Tags {
		if other, ok := folders[folder]; ok {
			t.Errorf("%s and %s share the folder %s", tag, other, folder)
		}
		folders[folder] = tag
	}
	if len(folders) != 6 { // C++, C, C#, Go in all its spellings, and the two signs
		t.Errorf("got folders %v, want 6", folders)
	}
	for _, tag := range []struct{ key, has, lacks string }{{"c++", "标题 a", "标题 b"}, {"c", "标题 b", "标题 a"}, {"c#", "标题 c", "标题 b"}} {
		page := read(t, c, "tags/"+after.Tags[tag.key]+"/index.html")
		if !strings.Contains(page, tag.has) || strings.Contains(page, tag.lacks) {
			t.Errorf("the page of %s lists the wrong articles", tag.key)
		}
	}
	checkLinks(t, c.dir)
}

func TestNewArticleIsLinkedFromBothNeighbours(t *testing.T) {
	c := open(t, Config{})
	mustPublish(t, c, newPost("old", 1), newPost("new", 3))
	mustPublish(t, c, newPost("middle", 2))
	for _, name := range []string{"old", "new"} {
		if !strings.Contains(read(t, c, "posts/"+name+"/index.html"), "../../posts/middle/index.html") {
			t.Errorf("%s does not link to the article beside it", name)
		}
	}
}

func TestChangedConfigurationRemakesAllPages(t *testing.T) {
	c := open(t, Config{Title: "旧名"})
	mustPublish(t, c, newPost("a", 1), newPost("b", 2), newPost("c", 3), newPost("d", 4))
	c = open(t, Config{Dir: c.dir, Title: "新名"})
	mustPublish(t, c, newPost("d", 4))
	for _, name := range files(t, c.dir) {
		if filepath.Ext(name) == ".html" && strings.Contains(read(t, c, name), "旧名") {
			t.Errorf("%s still has the old title", name)
		}
	}
}

func TestPagesOfTheListComeAndGo(t *testing.T) {
	c := open(t, Config{PerPage: 2})
	for i := range 5 {
		mustPublish(t, c, newPost(fmt.Sprint("p", i), i+1))
	}
	if page := read(t, c, "page/3/index.html"); !strings.Contains(page, "标题 p0") || !strings.Contains(page, "第 3 页，共 3 页") {
		t.Errorf("the last page is not the oldest article's:\n%s", page)
	}
	for i := range 5 {
		if err := c.Withdraw(t.Context(), c.receipt(fmt.Sprint("p", i))); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"404.html", "favicon.svg", "feed.xml", "index.html", "style.css", "tags/index.html"}
	if diff := cmp.Diff(want, files(t, c.dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(read(t, c, "index.html"), "还没有文章") {
		t.Error("the empty list does not say so")
	}
	readFeed(t, filepath.Join(c.dir, feedFile))
}

func TestFeedHoldsTheNewestArticles(t *testing.T) {
	c := open(t, Config{URL: "https://example.com/blog/"})
	for i := range feedPosts + 2 {
		mustPublish(t, c, withImage(t, newPost(fmt.Sprint("p", i), i+1), "fig.png", "pixels"))
	}
	f := readFeed(t, filepath.Join(c.dir, feedFile))
	if len(f.Entries) != feedPosts || f.Entries[0].ID != "https://example.com/blog/posts/p21/" {
		t.Errorf("%d entries, the first is %s", len(f.Entries), f.Entries[0].ID)
	}
	if !strings.Contains(f.Entries[0].Content.Body, `src="https://example.com/blog/posts/p21/fig.png"`) {
		t.Errorf("the image has no absolute address: %s", f.Entries[0].Content.Body)
	}
}

func TestCanonicalAddress(t *testing.T) {
	c := open(t, Config{URL: "https://example.com/blog"})
	p := newPost("错误", 1)
	p.Cover = &article.Image{URL: "https://example.com/cover.png"}
	mustPublish(t, c, p)
	page := read(t, c, "posts/错误/index.html")
	for _, want := range []string{
		`<link rel="canonical" href="https://example.com/blog/posts/%E9%94%99%E8%AF%AF/">`,
		`<meta property="og:image" content="https://example.com/cover.png">`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	p.CanonicalURL, p.Revision = "https://elsewhere.example/", 2
	mustPublish(t, c, p)
	if !strings.Contains(read(t, c, "posts/错误/index.html"), `<link rel="canonical" href="https://elsewhere.example/">`) {
		t.Error("the article's own canonical address is not used")
	}
}

func TestReadingTime(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       int
	}{
		{"nothing", "", 1},
		{"a thousand characters", "<p>" + strings.Repeat("错", 1000) + "</p>", 3},
		{"a thousand words", strings.Repeat("word ", 1000), 5},
		{"both", strings.Repeat("错误 word ", 400), 4},
		{"tags are not read", strings.Repeat("<b></b>", 5000), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := readingMinutes(c.body); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
