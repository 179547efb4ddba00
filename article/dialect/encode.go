package dialect

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// encode writes the tree below root with the elements and attributes that WeChat
// keeps, and no others.
func encode(root *html.Node, theme *Theme) string {
	e := encoder{theme: theme}
	e.node(root)
	return e.b.String()
}

type encoder struct {
	theme *Theme
	b     strings.Builder
	// inLine is true behind text on the same line; space is true while a space is
	// due before the next one. White space elsewhere shows nothing, but counts.
	inLine, space bool
}

func (e *encoder) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		e.text(Clean(n.Data))
	case html.RawNode:
		e.b.WriteString(n.Data)
	case html.ElementNode:
		switch n.DataAtom {
		case atom.Script, atom.Style, atom.Title, atom.Textarea, atom.Template, atom.Iframe, atom.Noscript:
		default:
			e.element(n)
		}
	}
}

func (e *encoder) children(n *html.Node) {
	for c := range n.ChildNodes() {
		e.node(c)
	}
}

func (e *encoder) element(n *html.Node) {
	tag := shown[n.Data]
	if tag == "p" && isEmpty(n) {
		return
	}
	style := escape(Clean(e.theme.sheet.style(n)))
	if tag == "" || tag == "span" && style == "" {
		e.children(n)
		return
	}
	block := isBlock(n) || n.DataAtom == atom.Br
	if block {
		e.inLine, e.space = false, false
	} else {
		e.flush()
	}
	e.b.WriteString("<" + tag)
	for _, name := range attributes[tag] {
		if value := attr(n, name); value != "" {
			e.b.WriteString(" " + name + `="` + escape(Clean(value)) + `"`)
		}
	}
	if style != "" {
		e.b.WriteString(` style="` + style + `"`)
	}
	e.b.WriteByte('>')
	switch tag {
	case "br", "hr":
		return
	case "img":
		e.inLine = true
		return
	}
	e.children(n)
	e.b.WriteString("</" + tag + ">")
	if block {
		e.inLine, e.space = false, false
	}
}

// attributes are those that an element keeps beside its style.
var attributes = map[string][]string{
	"a": {"href"}, "img": {"src", "alt"}, "td": {"colspan", "rowspan"}, "th": {"colspan", "rowspan"},
}

// isEmpty reports whether nothing of n can be seen.
func isEmpty(n *html.Node) bool {
	for c := range n.Descendants() {
		if c.DataAtom == atom.Img || c.Type == html.RawNode || c.Type == html.TextNode && !isBlank(c) {
			return false
		}
	}
	return true
}

// text writes text with each stretch of white space as one space.
func (e *encoder) text(s string) {
	for s != "" {
		i := strings.IndexAny(s, " \t\n\r\f")
		if i == 0 {
			e.space = true
			s = s[1:]
			continue
		}
		if i < 0 {
			i = len(s)
		}
		e.flush()
		e.b.WriteString(escape(s[:i]))
		e.inLine = true
		s = s[i:]
	}
}

// flush writes the space that is due.
func (e *encoder) flush() {
	if e.space && e.inLine {
		e.b.WriteByte(' ')
	}
	e.space = false
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// escape makes s text, or the value of an attribute in double quotes.
func escape(s string) string { return escaper.Replace(s) }
