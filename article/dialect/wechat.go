package dialect

import (
	"fmt"
	"sync"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"herald/article"
)

// WeChatOptions say how an article becomes WeChat's HTML.
type WeChatOptions struct {
	// Theme is the look; nil is the default one.
	Theme *Theme
	// Image returns the src of a picture, of the article or of External; nil keeps
	// each reference as written.
	Image func(article.Image) string
	// External draws what WeChat cannot: kind is one of the constants below, source
	// TeX without dollar signs, or Mermaid. If it is nil or fails, the source stays
	// readable and a warning says so.
	External func(kind, source string) (article.Image, error)
	// PlainCode leaves code without colours, which take much of WeChat's limit of
	// characters.
	PlainCode bool
}

// The kinds of what WeChatOptions.External draws.
const (
	KindMath      = "math"       // a formula in a line
	KindMathBlock = "math-block" // a formula of its own
	KindMermaid   = "mermaid"    // a diagram
)

// WeChatHTML is the body of a WeChat article.
type WeChatHTML struct {
	HTML string
	// Images are the pictures of External that HTML shows, in order.
	Images []article.Image
	// Warnings say what was left out or looks other than written.
	Warnings []string
}

// WeChat renders the body as HTML that WeChat's editor and readers leave alone:
// few elements, inline styles, no class, no id. Lists are paragraphs with their
// marks as text, since WeChat's own get nesting wrong. External links, which WeChat
// drops, become numbered notes; footnotes keep their numbers and come first. The
// text is that of the article, without control characters.
func WeChat(a *article.Article, o WeChatOptions) (WeChatHTML, error) {
	if o.Theme == nil {
		theme, err := defaultTheme()
		if err != nil {
			return WeChatHTML{}, err
		}
		o.Theme = theme
	}
	w := &wechat{options: o, article: a}
	body := a.Body
	if len(a.Images) > 0 {
		body = w.markImages()
	}
	p, err := newPage(a, body)
	if err != nil {
		return WeChatHTML{}, err
	}
	w.page = p

	w.dropTitle(a.Title)
	w.drawings()
	w.codeBlocks()
	w.paragraphs()
	w.pictures()
	footnotes := w.footnotes()
	w.links(footnotes)
	w.lists()
	w.tables()
	w.colouring.Wait()
	return WeChatHTML{HTML: encode(w.root, o.Theme), Images: w.drawn, Warnings: w.warnings}, nil
}

// wechat is one article on its way to WeChat.
type wechat struct {
	*page
	options WeChatOptions
	article *article.Article
	drawn   []article.Image
	// colouring is under way while the other steps work: it takes as long as they.
	colouring sync.WaitGroup
}

// imageMark begins the src by which an image of the article is known while the
// HTML is under way; its index follows.
const imageMark = "herald-image-"

// markImages returns the body with each image's reference replaced by its mark.
func (w *wechat) markImages() string {
	index := make(map[string]int, len(w.article.Images))
	for i, im := range w.article.Images {
		index[im.Ref] = i
	}
	return w.article.Markdown(func(im article.Image) string { return fmt.Sprint(imageMark, index[im.Ref]) })
}

// src returns what the reader's browser loads for an image.
func (w *wechat) src(im article.Image) string {
	if w.options.Image == nil {
		return im.Ref
	}
	return w.options.Image(im)
}

// paragraphs gives text that stands beside blocks a paragraph of its own.
func (w *wechat) paragraphs() {
	wrapRuns(w.root)
	for _, n := range find(w.root, atom.Div, atom.Section, atom.Blockquote, atom.Details, atom.Center) {
		for c := range n.ChildNodes() {
			if isBlock(c) {
				wrapRuns(n)
				break
			}
		}
	}
}

// wrapRuns puts each run of children of n that are no blocks into a paragraph.
func wrapRuns(n *html.Node) {
	var p *html.Node
	for _, c := range children(n) {
		switch {
		case isBlock(c):
			p = nil
		case p != nil:
			move(p, c)
		case !isBlank(c):
			p = element("p", "")
			n.InsertBefore(p, c)
			move(p, c)
		}
	}
}

// tables puts each table into a box that scrolls.
func (w *wechat) tables() {
	for _, table := range find(w.root, atom.Table) {
		if !hasClass(table.Parent, "table") {
			box := element("section", "table")
			replace(table, box)
			box.AppendChild(table)
		}
	}
}
