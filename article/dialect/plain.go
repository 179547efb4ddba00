package dialect

import (
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"herald/article"
)

// PlainOptions say how an article becomes plain text.
type PlainOptions struct {
	// NoAddresses leaves out where a link leads, of which a platform may disapprove.
	// An address that the text itself names stays.
	NoAddresses bool
}

// PlainText renders the body as text with line breaks and no mark-up: paragraphs
// with a blank line between them, items as "1. " and "• ", tasks as ☑ and ☐, a link
// as its text with the address in full-width brackets, table rows one a line, code
// as it is. Images are left out. Warnings say what else was.
func PlainText(a *article.Article, o PlainOptions) (text string, warnings []string, err error) {
	p, err := newPage(a, a.Body)
	if err != nil {
		return "", nil, err
	}
	p.dropTitle(a.Title)
	options := article.TextOptions{Bullet: "• "}
	if !o.NoAddresses {
		options.Link = behindLink
		for _, link := range find(p.root, atom.A) {
			setAttr(link, "href", p.address(attr(link, "href")))
		}
	}
	return Clean(article.TextOf([]*html.Node{p.root}, options)), p.warnings, nil
}

// behindLink returns the address to be read behind the text of a link.
func behindLink(text, href string) string {
	if href == "" || saysAddress(text, href) {
		return ""
	}
	return "（" + readable(href) + "）"
}
