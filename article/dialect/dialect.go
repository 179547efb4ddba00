// Package dialect turns an article into the forms of platforms that take neither
// Markdown nor a blog's HTML: HTML with inline styles for WeChat, plain text for
// Xiaohongshu and Weibo. It also counts and cuts text the way these platforms do.
//
// It makes no network call, fetches and converts no picture, and knows no limit
// of a platform: how long a title may be is its adapter's business. What cannot be
// shown is never dropped silently: each form comes with warnings.
package dialect

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"herald/article"
)

// markdown is the dialect of package article with formulas and callouts.
var markdown = sync.OnceValue(func() goldmark.Markdown {
	md := article.NewMarkdown(formulas{})
	md.Parser().AddOptions(parser.WithASTTransformers(util.Prioritized(calloutLines{}, 100)))
	return md
})

// page is the body of an article as a tree of HTML that may be taken apart.
type page struct {
	root      *html.Node // an <article>
	canonical string     // address of the article, from which relative links lead on
	warnings  []string
}

// newPage parses the Markdown of an article, which body is. What HTML the author
// wrote is sanitised; goldmark's own needs no such thing.
func newPage(a *article.Article, body string) (*page, error) {
	source := []byte(body)
	doc := markdown().Parser().Parse(text.NewReader(source))
	var b bytes.Buffer
	if err := markdown().Renderer().Render(&b, source, doc); err != nil {
		return nil, fmt.Errorf("render Markdown: %w", err)
	}
	p := &page{root: element("article", ""), canonical: a.CanonicalURL}
	rendered := b.Bytes()
	if raw := rawHTML(doc, source); len(raw) > 0 {
		for _, tag := range refusedTags(raw) {
			p.warn("HTML <%s> is left out: platforms that take no free HTML have no such thing", tag)
		}
		rendered = policy().SanitizeBytes(rendered)
	}
	context := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	nodes, err := html.ParseFragment(bytes.NewReader(rendered), context)
	if err != nil {
		return nil, fmt.Errorf("parse HTML: %w", err)
	}
	for _, n := range nodes {
		p.root.AppendChild(n)
	}
	p.callouts()
	p.tasks()
	return p, nil
}

// rawHTML returns what HTML the author wrote.
func rawHTML(doc ast.Node, source []byte) []byte {
	var raw []byte
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			switch n := n.(type) {
			case *ast.RawHTML:
				raw = append(raw, n.Segments.Value(source)...)
			case *ast.HTMLBlock:
				raw = append(raw, n.Lines().Value(source)...)
				if n.HasClosure() {
					raw = append(raw, n.ClosureLine.Value(source)...)
				}
			}
		}
		return ast.WalkContinue, nil
	})
	return raw
}

// warn notes something that a person may want to know, once.
func (p *page) warn(format string, args ...any) {
	warning := Clean(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " "))
	if !slices.Contains(p.warnings, warning) {
		p.warnings = append(p.warnings, warning)
	}
}

// dropTitle removes a heading at the beginning that says again what the platform shows
// as the title.
func (p *page) dropTitle(title string) {
	for n := range p.root.ChildNodes() {
		if isBlank(n) {
			continue
		}
		if n.DataAtom == atom.H1 && words(textOf(n)) == words(title) {
			p.root.RemoveChild(n)
		}
		return
	}
}

// words returns s with each stretch of white space as one space.
func words(s string) string { return strings.Join(strings.Fields(s), " ") }

// tasks puts a box of text in place of each checkbox, which neither form has.
func (p *page) tasks() {
	for _, box := range find(p.root, atom.Input) {
		mark := "☐ "
		if hasAttr(box, "checked") {
			mark = "☑ "
		}
		next := box.NextSibling
		switch {
		case attr(box, "type") != "checkbox":
			replace(box)
		case next != nil && next.Type == html.TextNode:
			next.Data = mark + strings.TrimLeft(next.Data, " ")
			replace(box)
		default:
			replace(box, textNode(mark))
		}
	}
}
