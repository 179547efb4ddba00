package site

import (
	"encoding/xml"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	feedFile  = "feed.xml"
	feedPosts = 20
)

// The Atom elements that the feed uses (RFC 4287). encoding/xml writes them,
// because gorilla/feeds has neither xml:lang, nor a category's term, nor a link
// to the feed itself beside the one to the blog.
type (
	atomFeed struct {
		XMLName   xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		Lang      string      `xml:"http://www.w3.org/XML/1998/namespace lang,attr"`
		Title     string      `xml:"title"`
		Subtitle  string      `xml:"subtitle,omitempty"`
		ID        string      `xml:"id"`
		Updated   string      `xml:"updated"`
		Links     []atomLink  `xml:"link"`
		Author    atomAuthor  `xml:"author"`
		Generator string      `xml:"generator"`
		Icon      string      `xml:"icon"`
		Entries   []atomEntry `xml:"entry"`
	}
	atomEntry struct {
		Title      string         `xml:"title"`
		ID         string         `xml:"id"`
		Published  string         `xml:"published"`
		Updated    string         `xml:"updated"`
		Links      []atomLink     `xml:"link"`
		Author     *atomAuthor    `xml:"author"`
		Categories []atomCategory `xml:"category"`
		Summary    string         `xml:"summary,omitempty"`
		Content    *atomContent   `xml:"content"`
	}
	atomLink struct {
		Rel  string `xml:"rel,attr"`
		Type string `xml:"type,attr"`
		Href string `xml:"href,attr"`
	}
	atomAuthor struct {
		Name string `xml:"name"`
	}
	atomCategory struct {
		Term string `xml:"term,attr"`
	}
	atomContent struct {
		Type string `xml:"type,attr"`
		Body string `xml:",chardata"`
	}
)

// feed renders the newest posts with their whole content.
func (b *build) feed() ([]byte, error) {
	cfg := b.theme.cfg
	f := atomFeed{
		Lang: cfg.Language, Title: cfg.Title, Subtitle: cfg.Description,
		ID: feedID(cfg.URL, ""), Updated: b.theme.stamp(b.next.Updated),
		Links: []atomLink{
			{Rel: "self", Type: "application/atom+xml", Href: cfg.URL + feedFile},
			{Rel: "alternate", Type: "text/html", Href: cfg.URL + homeHref(cfg.URL)},
		},
		Author: atomAuthor{cfg.Author}, Generator: "herald", Icon: cfg.URL + "favicon.svg",
	}
	if f.Author.Name == "" {
		f.Author.Name = cfg.Title // Atom requires an author
	}
	for _, e := range b.next.Posts[:min(feedPosts, len(b.next.Posts))] {
		entry, err := b.feedEntry(e)
		if err != nil {
			return nil, err
		}
		f.Entries = append(f.Entries, entry)
	}
	data, err := xml.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the feed: %w", err)
	}
	return append([]byte(xml.Header), append(data, '\n')...), nil
}

func (b *build) feedEntry(e entry) (atomEntry, error) {
	base := b.theme.cfg.URL + postFolder(e.Slug)
	page := base + homeHref(b.theme.cfg.URL)
	entry := atomEntry{
		Title: e.Title, ID: feedID(b.theme.cfg.URL, postFolder(e.Slug)),
		Published: b.theme.stamp(e.Date), Updated: b.theme.stamp(e.Updated),
		Links:   []atomLink{{Rel: "alternate", Type: "text/html", Href: page}},
		Summary: e.Summary,
	}
	if e.Author != "" {
		entry.Author = &atomAuthor{e.Author}
	}
	for _, tag := range e.Tags {
		entry.Categories = append(entry.Categories, atomCategory{tag})
	}
	if body, ok := b.body(e); ok {
		content, err := rebase(body, base, page)
		if err != nil {
			return entry, fmt.Errorf("read the body of %s: %w", e.Slug, err)
		}
		entry.Content = &atomContent{Type: "html", Body: content}
	}
	return entry, nil
}

// homeHref is how a folder's page is linked: a web server finds it by itself,
// on the disk it must be named.
func homeHref(blogURL string) string {
	if blogURL != "" {
		return ""
	}
	return "index.html"
}

// feedID is an id that stays the same for as long as the blog's address and the
// article's id do. A blog without an address uses tag URIs (RFC 4151).
func feedID(blogURL, folder string) string {
	if blogURL != "" {
		return blogURL + folder
	}
	return "tag:herald.invalid,2026:blog/" + folder
}

// rebase makes the relative addresses of an HTML fragment start from the feed:
// base is the folder of its page. Many readers ignore xml:base, so the feed has
// none.
func rebase(body, base, page string) (string, error) {
	root := &html.Node{Type: html.ElementNode, DataAtom: atom.Div, Data: "div"}
	nodes, err := html.ParseFragment(strings.NewReader(body), root)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, n := range nodes {
		rebaseNode(n, base, page)
		for d := range n.Descendants() {
			rebaseNode(d, base, page)
		}
		if err := html.Render(&out, n); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}

func rebaseNode(n *html.Node, base, page string) {
	for i, a := range n.Attr {
		if a.Key != "src" && a.Key != "href" {
			continue
		}
		u, err := url.Parse(a.Val)
		switch {
		case err != nil, u.IsAbs(), u.Host != "", strings.HasPrefix(u.Path, "/"):
		case u.Path == "": // a place on the page, such as a footnote
			n.Attr[i].Val = page + a.Val
		default:
			n.Attr[i].Val = base + a.Val
		}
	}
}
