package article

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Text returns the body as plain text: paragraphs separated by a blank line,
// list items with their marks, links as their text, images left out.
func (a *Article) Text() string {
	d := parseMarkdown(a.Body)
	return plainText(d.render(d.root))
}

// Excerpt returns the summary, else the beginning of the text on one line, at
// most n characters (code points) including the "…" that says that it was cut.
// It is cut where a line could be broken, and never inside what a reader sees
// as one character.
func (a *Article) Excerpt(n int) string {
	if a.Summary != "" {
		return a.Summary
	}
	text := strings.Join(strings.Fields(a.Text()), " ")
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	room := n - 1
	cut := fitting(text, room, func(s string, state int) (string, string, int) {
		segment, rest, _, state := uniseg.FirstLineSegmentInString(s, state)
		return segment, rest, state
	})
	if 2*utf8.RuneCountInString(cut) < room { // one long word
		cut = fitting(text, room, func(s string, state int) (string, string, int) {
			cluster, rest, _, state := uniseg.FirstGraphemeClusterInString(s, state)
			return cluster, rest, state
		})
	}
	cut = strings.TrimRightFunc(cut, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;:，、；：", r) })
	if cut == "" {
		return ""
	}
	return cut + "…"
}

// fitting returns the leading pieces of s that have at most n characters.
func fitting(s string, n int, next func(s string, state int) (piece, rest string, newState int)) string {
	rest, state, length := s, -1, 0
	for rest != "" {
		var piece string
		before := rest
		piece, rest, state = next(rest, state)
		if length += utf8.RuneCountInString(piece); length > n {
			return s[:len(s)-len(before)]
		}
	}
	return s
}

// plainText returns the text of HTML.
func plainText(source string) string {
	context := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	nodes, err := html.ParseFragment(strings.NewReader(source), context)
	if err != nil { // nested deeper than the parser goes: do without blocks
		return strippedText(source)
	}
	return TextOf(nodes, TextOptions{})
}

// TextOptions say how HTML is written as text. The zero value is how
// [Article.Text] writes.
type TextOptions struct {
	// Bullet stands before the items of a list without numbers; "- " if empty.
	Bullet string
	// Link returns what is written behind the text of a link; nil writes nothing.
	Link func(text, href string) string
}

// TextOf returns the text of rendered Markdown: paragraphs separated by a blank
// line, list items with their marks, table rows one a line, code as it is.
func TextOf(nodes []*html.Node, o TextOptions) string {
	w := textWriter{bullet: cmp.Or(o.Bullet, "- "), link: o.Link}
	for _, n := range nodes {
		w.node(n)
	}
	return strings.TrimRight(w.b.String(), " \n")
}

// strippedText returns what stands between the tags of HTML.
func strippedText(source string) string {
	var b strings.Builder
	for z := html.NewTokenizer(strings.NewReader(source)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(b.String())
		case html.TextToken:
			b.Write(z.Text())
		}
	}
}

// textWriter writes text with line breaks between blocks.
type textWriter struct {
	b       strings.Builder
	bullet  string
	link    func(text, href string) string
	breaks  int    // line breaks due before the next text
	between string // due before the next text on the same line: a space, a column's border
	indent  string // at the beginning of lines
	marked  bool   // a list mark was just written: its item follows on the same line
	literal bool   // inside <pre>
	lists   []*int // of each open list the next number; nil without numbers
}

// gap asks for at least n line breaks before the next text.
func (w *textWriter) gap(n int) {
	if !w.marked {
		w.breaks = max(w.breaks, n)
	}
	w.between = ""
}

// spaced asks for a space before the next text unless more is due.
func (w *textWriter) spaced() {
	if w.between == "" {
		w.between = " "
	}
}

func (w *textWriter) write(s string) {
	if s == "" {
		return
	}
	if w.breaks > 0 && w.b.Len() > 0 {
		w.b.WriteString(strings.Repeat("\n", w.breaks) + w.indent)
	} else if w.b.Len() > 0 && !w.marked {
		w.b.WriteString(w.between)
	}
	w.breaks, w.between, w.marked = 0, "", false
	w.b.WriteString(s)
}

func (w *textWriter) text(s string) {
	if w.literal {
		s = strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n"+w.indent)
		w.write(strings.ReplaceAll(s, "\n"+w.indent+"\n", "\n\n"))
		return
	}
	words := strings.FieldsFunc(s, isHTMLSpace)
	if s != "" && isHTMLSpace(rune(s[0])) {
		w.spaced()
	}
	if len(words) == 0 {
		return
	}
	w.write(strings.Join(words, " "))
	if isHTMLSpace(rune(s[len(s)-1])) {
		w.spaced()
	}
}

// isHTMLSpace reports whether HTML folds r. A no-break space it keeps.
func isHTMLSpace(r rune) bool { return strings.ContainsRune(" \t\n\r\f", r) }

func (w *textWriter) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.node(c)
	}
}

func (w *textWriter) block(n *html.Node, gap int) {
	w.gap(gap)
	w.children(n)
	w.gap(gap)
}

func (w *textWriter) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		text := n.Data
		if isWayBack(n.NextSibling) {
			text = strings.TrimRight(text, "\u00a0")
		}
		w.text(text)
		return
	case html.ElementNode:
	default:
		return
	}
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Iframe, atom.Object, atom.Video, atom.Audio, atom.Svg, atom.Noscript:
	case atom.Br:
		w.gap(1)
	case atom.Pre:
		w.literal = true
		w.block(n, 2)
		w.literal = false
	case atom.Ul, atom.Ol:
		w.list(n)
	case atom.Li:
		w.item(n)
	case atom.Input:
		if attr(n, "type") == "checkbox" {
			mark := "[ ]"
			if hasAttr(n, "checked") {
				mark = "[x]"
			}
			w.write(mark)
			w.spaced()
		}
	case atom.Tr:
		w.block(n, 1)
	case atom.Td, atom.Th:
		w.between = ""
		if n.PrevSibling != nil {
			w.between = " | "
		}
		w.children(n)
	case atom.A:
		w.anchor(n)
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Figure, atom.Blockquote, atom.Hr,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Table, atom.Details, atom.Summary, atom.Dl, atom.Dt, atom.Dd:
		w.block(n, 2)
	default:
		w.children(n)
	}
}

func (w *textWriter) list(n *html.Node) {
	gap := 2
	if len(w.lists) > 0 {
		gap = 1
	}
	var number *int
	if n.DataAtom == atom.Ol {
		start, err := strconv.Atoi(attr(n, "start"))
		if err != nil {
			start = 1
		}
		number = &start
	}
	w.gap(gap)
	w.lists = append(w.lists, number)
	w.children(n)
	w.lists = w.lists[:len(w.lists)-1]
	w.gap(gap)
}

func (w *textWriter) item(n *html.Node) {
	mark := w.bullet
	if len(w.lists) > 0 && w.lists[len(w.lists)-1] != nil {
		number := w.lists[len(w.lists)-1]
		mark = strconv.Itoa(*number) + ". "
		*number++
	}
	w.breaks = min(max(w.breaks, 1), 2)
	w.write(mark)
	w.marked = true
	outer := w.indent
	w.indent += strings.Repeat(" ", utf8.RuneCountInString(mark))
	w.children(n)
	w.indent, w.marked = outer, false
	w.breaks, w.between = 1, "" // items stand close together, however they were written
}

// anchor writes the text of a link, a footnote's number in brackets, and nothing
// for the way back from a footnote.
func (w *textWriter) anchor(n *html.Node) {
	switch {
	case isWayBack(n):
	case attr(n, "class") == "footnote-ref":
		w.write("[")
		w.children(n)
		w.write("]")
	default:
		start := w.b.Len()
		w.children(n)
		if text := strings.TrimLeft(w.b.String()[start:], " \n"); w.link != nil && text != "" {
			w.b.WriteString(w.link(text, attr(n, "href")))
		}
	}
}

func isWayBack(n *html.Node) bool { return n != nil && attr(n, "class") == "footnote-backref" }

func hasAttr(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
