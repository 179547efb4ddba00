package site

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"herald/article"
)

//go:embed theme
var themeFiles embed.FS

// templates are the pages of the theme, each filled into layout.html.
var templates = sync.OnceValue(func() map[string]*template.Template {
	pages := map[string]*template.Template{}
	for _, name := range []string{"list", "post", "tag", "tags", "404"} {
		pages[name] = template.Must(template.ParseFS(themeFiles, "theme/layout.html", "theme/"+name+".html"))
	}
	return pages
})

// theme makes the blog's pages. It is pure: the same posts give the same bytes.
type theme struct {
	cfg         Config
	loc         *time.Location
	words       words
	css, icon   []byte
	fingerprint string
}

func newTheme(cfg Config, loc *time.Location) (*theme, error) {
	if loc == nil {
		loc = time.UTC
	}
	t := &theme{cfg: cfg, loc: loc, words: wordsOf(cfg.Language)}
	css, err := themeFiles.ReadFile("theme/style.css")
	if err != nil {
		return nil, fmt.Errorf("read the theme: %w", err)
	}
	code, err := article.HighlightCSS("github", "github-dark")
	if err != nil {
		return nil, fmt.Errorf("colour code blocks: %w", err)
	}
	t.css = append([]byte(code+"\n"), css...)
	if t.icon, err = themeFiles.ReadFile("theme/favicon.svg"); err != nil {
		return nil, fmt.Errorf("read the theme: %w", err)
	}
	t.fingerprint, err = fingerprint(cfg, loc)
	return t, err
}

// fingerprint changes when any page would come out differently though its post
// is the same.
func fingerprint(cfg Config, loc *time.Location) (string, error) {
	cfg.Dir = "" // a blog may be moved
	h := sha256.New()
	if err := json.NewEncoder(h).Encode([]any{cfg, loc.String()}); err != nil {
		return "", fmt.Errorf("hash the configuration: %w", err)
	}
	err := fs.WalkDir(themeFiles, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := themeFiles.ReadFile(name)
		h.Write(data)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("hash the theme: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// file is one generated file. What render returns as nil stays as it is.
type file struct {
	path   string
	render func() ([]byte, error)
}

// build is the making of all files that one change touches.
type build struct {
	theme *theme
	store *store
	old   index
	next  *index
	fresh string // slug of the post whose page is made anew in any case
}

// files returns what is to be written, in this order: bodies, pages, lists,
// feed. It fills in the fields of next that follow from its posts.
func (b *build) files() []file {
	b.next.Theme = b.theme.fingerprint
	b.next.Files = nil
	var files []file
	before := b.old.neighbours()
	now := b.next.neighbours()
	for i, e := range b.next.Posts {
		b.next.Files = append(b.next.Files, e.paths()...)
		if e.Slug == b.fresh {
			files = append(files, file{e.bodyFile(), func() ([]byte, error) { return []byte(e.html), nil }})
		}
		if e.Slug == b.fresh || b.old.Theme != b.next.Theme || before[e.Slug] != now[e.Slug] {
			files = append(files, file{e.page(), func() ([]byte, error) { return b.post(i) }})
		}
	}
	lists := b.lists()
	for _, f := range lists {
		b.next.Files = append(b.next.Files, f.path)
	}
	slices.Sort(b.next.Files)
	b.next.Files = slices.Compact(b.next.Files)
	return append(files, lists...)
}

// body returns the stored body of e; ok is false if somebody deleted it.
func (b *build) body(e entry) (html string, ok bool) {
	if e.Slug == b.fresh {
		return e.html, true
	}
	data, err := os.ReadFile(b.store.path(e.bodyFile()))
	return string(data), err == nil
}

// neighbours returns what the page of each post says about the ones beside it.
func (x index) neighbours() map[string][4]string {
	m := make(map[string][4]string, len(x.Posts))
	for i, e := range x.Posts {
		newer, older := x.beside(i)
		m[e.Slug] = [4]string{newer.Slug, newer.Title, older.Slug, older.Title}
	}
	return m
}

func (x index) beside(i int) (newer, older entry) {
	if i > 0 {
		newer = x.Posts[i-1]
	}
	if i+1 < len(x.Posts) {
		older = x.Posts[i+1]
	}
	return newer, older
}

// link is an address below the blog's folder, escaped, with its text.
type link struct{ Text, Href string }

// view is what the templates see.
type view struct {
	theme *theme
	Site  Config
	Words words
	// Root leads from the page to the blog's folder: "", "../../".
	Root        string
	Title       string // of the page; empty on the first one
	Description string
	Canonical   string
	Image       string // absolute
	Article     bool
	Post        postView
	Body        template.HTML
	Minutes     int
	Newer       link // or the page of newer posts
	Older       link
	Posts       []postView
	Tags        []tagView
	Page, Pages int
}

// Day and Stamp are a time for people and for machines, in the blog's zone.
func (v view) Day(at time.Time) string   { return at.In(v.theme.loc).Format(v.Words.Day) }
func (v view) Stamp(at time.Time) string { return v.theme.stamp(at) }

// postView is a post as the templates see it.
type postView struct {
	entry
	Href    string
	Tags    []tagView
	Revised bool
}

// tagView is a tag as the templates see it.
type tagView struct {
	link
	Count int
}

// post renders the page of the post at i.
func (b *build) post(i int) ([]byte, error) {
	e := b.next.Posts[i]
	html, ok := b.body(e)
	if !ok {
		return nil, nil
	}
	newer, older := b.next.beside(i)
	v := b.view(e.page(), e.Title)
	v.Article = true
	v.Post = b.postView(e)
	v.Body = template.HTML(html) // unescaped: the article's HTML is what the page is for
	v.Minutes = readingMinutes(html)
	v.Newer, v.Older = postLink(newer), postLink(older)
	if e.Summary != "" {
		v.Description = e.Summary
	}
	if e.Original != "" {
		v.Canonical = e.Original
	}
	v.Image = b.theme.absolute(e)
	return b.theme.execute("post", v)
}

// lists returns all pages that are not of one post.
func (b *build) lists() []file {
	t := b.theme
	files := []file{
		{"style.css", func() ([]byte, error) { return t.css, nil }},
		{"favicon.svg", func() ([]byte, error) { return t.icon, nil }},
		{"404.html", b.notFound},
		{"tags/index.html", b.tagIndex},
	}
	for _, tag := range b.next.tags() {
		files = append(files, file{"tags/" + tag.Folder + "/index.html", func() ([]byte, error) { return b.tagPage(tag) }})
	}
	pages := max(1, (len(b.next.Posts)+t.cfg.PerPage-1)/t.cfg.PerPage)
	for n := pages; n >= 1; n-- {
		files = append(files, file{listPath(n), func() ([]byte, error) { return b.listPage(n, pages) }})
	}
	return append(files, file{feedFile, b.feed})
}

func listPath(n int) string {
	if n == 1 {
		return "index.html"
	}
	return "page/" + strconv.Itoa(n) + "/index.html"
}

func (b *build) listPage(n, pages int) ([]byte, error) {
	v := b.view(listPath(n), "")
	v.Page, v.Pages = n, pages
	if n > 1 {
		v.Title = fmt.Sprintf(v.Words.PageTitle, n)
		v.Newer = link{v.Words.NewerPosts, listPath(n - 1)}
	}
	if n < pages {
		v.Older = link{v.Words.OlderPosts, listPath(n + 1)}
	}
	from := (n - 1) * b.theme.cfg.PerPage
	to := min(from+b.theme.cfg.PerPage, len(b.next.Posts))
	v.Posts = b.postViews(b.next.Posts[from:to])
	return b.theme.execute("list", v)
}

func (b *build) tagIndex() ([]byte, error) {
	v := b.view("tags/index.html", b.theme.words.Tags)
	for _, tag := range b.next.tags() {
		v.Tags = append(v.Tags, tagView{tagLink(tag.Name, tag.Folder), len(tag.Posts)})
	}
	return b.theme.execute("tags", v)
}

func (b *build) tagPage(tag tagged) ([]byte, error) {
	v := b.view("tags/"+tag.Folder+"/index.html", tag.Name)
	v.Posts = b.postViews(tag.Posts)
	return b.theme.execute("tag", v)
}

// notFound renders the page that a web server shows in place of any missing
// one, at any depth: hence absolute links, where the blog knows its address.
func (b *build) notFound() ([]byte, error) {
	v := b.view("404.html", b.theme.words.NotFound)
	v.Root, v.Canonical = b.theme.cfg.URL, ""
	return b.theme.execute("404", v)
}

// view returns what all pages have in common.
func (b *build) view(name, title string) view {
	t := b.theme
	v := view{
		theme: t, Site: t.cfg, Words: t.words, Title: title, Description: t.cfg.Description,
		Root: strings.Repeat("../", strings.Count(name, "/")),
	}
	if t.cfg.URL != "" {
		folder := url.URL{Path: strings.TrimSuffix(name, "index.html")}
		v.Canonical = t.cfg.URL + folder.EscapedPath()
	}
	return v
}

func (b *build) postViews(posts []entry) []postView {
	views := make([]postView, len(posts))
	for i, e := range posts {
		views[i] = b.postView(e)
	}
	return views
}

func (b *build) postView(e entry) postView {
	v := postView{entry: e, Href: postFolder(e.Slug) + "index.html", Revised: e.Updated.After(e.Published)}
	for _, name := range e.Tags {
		v.Tags = append(v.Tags, tagView{link: tagLink(name, b.next.Tags[foldTag(name)])})
	}
	return v
}

func postLink(e entry) link {
	if e.Slug == "" {
		return link{}
	}
	return link{e.Title, postFolder(e.Slug) + "index.html"}
}

func tagLink(name, folder string) link {
	return link{name, "tags/" + url.PathEscape(folder) + "/index.html"}
}

// absolute returns the address of the cover, which must be absolute to be of
// use to others; empty if the blog does not know its own.
func (t *theme) absolute(e entry) string {
	switch {
	case e.Cover == "" || strings.Contains(e.Cover, "://"):
		return e.Cover
	case t.cfg.URL == "":
		return ""
	}
	return t.cfg.URL + postFolder(e.Slug) + e.Cover
}

func (t *theme) execute(name string, v view) ([]byte, error) {
	var buf bytes.Buffer
	if err := templates()[name].ExecuteTemplate(&buf, "layout.html", v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// stamp is a time for machines, in the blog's zone.
func (t *theme) stamp(at time.Time) string { return at.In(t.loc).Format(time.RFC3339) }
