package dialect

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// calloutTitles are the headings of callouts that have none of their own.
var calloutTitles = map[string]string{
	"note": "说明", "info": "信息", "tip": "提示", "important": "重要", "warning": "警告", "caution": "注意",
}

var calloutMark = regexp.MustCompile(`^\s*\[!([A-Za-z]+)\][+-]?[ \t]*`)

// calloutLines is the transformer that keeps the line break behind a callout's
// heading, which would vanish between two Chinese characters.
type calloutLines struct{}

// Transform makes the first soft line break of each callout a hard one.
func (calloutLines) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		first, ok := n.FirstChild().(*ast.Paragraph)
		if !ok || !entering || n.Kind() != ast.KindBlockquote || !calloutMark.Match(first.Lines().Value(reader.Source())) {
			return ast.WalkContinue, nil
		}
		for c := first.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok && t.SoftLineBreak() {
				t.SetSoftLineBreak(false)
				t.SetHardLineBreak(true)
				break
			}
		}
		return ast.WalkContinue, nil
	})
}

// callouts turns quotations that begin with [!NOTE] and the like, as GitHub and
// Obsidian write them, into boxes with a heading.
func (p *page) callouts() {
	for _, quote := range find(p.root, atom.Blockquote) {
		first := quote.FirstChild
		for first != nil && isBlank(first) {
			first = first.NextSibling
		}
		if first == nil || first.DataAtom != atom.P || first.FirstChild == nil || first.FirstChild.Type != html.TextNode {
			continue
		}
		mark := first.FirstChild
		found := calloutMark.FindStringSubmatch(mark.Data)
		if found == nil {
			continue
		}
		mark.Data = mark.Data[len(found[0]):]
		kind := strings.ToLower(found[1])
		heading := takeLine(first)
		setAttr(heading, "class", "callout-title")
		if textOf(heading) == "" {
			title, ok := calloutTitles[kind]
			if !ok {
				title = found[1]
			}
			heading.AppendChild(textNode(title))
		}
		box := element("section", "callout "+kind, heading)
		move(box, children(quote)...)
		replace(quote, box)
		if first.FirstChild == nil {
			box.RemoveChild(first)
		}
	}
}

// takeLine moves what stands before the first line break of a paragraph into a new
// paragraph.
func takeLine(p *html.Node) *html.Node {
	line := element("p", "")
	for _, c := range children(p) {
		if c.DataAtom == atom.Br {
			p.RemoveChild(c)
			break
		}
		move(line, c)
	}
	return line
}
