package dialect

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// element returns a new element with an optional class.
func element(tag, class string, children ...*html.Node) *html.Node {
	n := &html.Node{Type: html.ElementNode, Data: tag, DataAtom: atom.Lookup([]byte(tag))}
	if class != "" {
		setAttr(n, "class", class)
	}
	for _, c := range children {
		n.AppendChild(c)
	}
	return n
}

func textNode(s string) *html.Node { return &html.Node{Type: html.TextNode, Data: s} }

// find returns the elements below root with one of the tags, in order. The tree
// may be changed while they are gone through.
func find(root *html.Node, tags ...atom.Atom) []*html.Node {
	var found []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && slices.Contains(tags, n.DataAtom) {
			found = append(found, n)
		}
	}
	return found
}

// children returns the children of n, which may be moved while they are gone
// through.
func children(n *html.Node) []*html.Node { return slices.Collect(n.ChildNodes()) }

// replace puts others where n was.
func replace(n *html.Node, others ...*html.Node) {
	for _, o := range others {
		n.Parent.InsertBefore(o, n)
	}
	n.Parent.RemoveChild(n)
}

// unwrap puts the children of n where n was.
func unwrap(n *html.Node) {
	for _, c := range children(n) {
		n.RemoveChild(c)
		n.Parent.InsertBefore(c, n)
	}
	n.Parent.RemoveChild(n)
}

// insertAfter puts added behind n.
func insertAfter(n, added *html.Node) { n.Parent.InsertBefore(added, n.NextSibling) }

// prepend makes added the first child of n.
func prepend(n, added *html.Node) { n.InsertBefore(added, n.FirstChild) }

// move makes nodes, wherever they are, the last children of n.
func move(n *html.Node, nodes ...*html.Node) {
	for _, m := range nodes {
		m.Parent.RemoveChild(m)
		n.AppendChild(m)
	}
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasAttr(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func setAttr(n *html.Node, name, value string) {
	for i, a := range n.Attr {
		if a.Key == name {
			n.Attr[i].Val = value
			return
		}
	}
	n.Attr = append(n.Attr, html.Attribute{Key: name, Val: value})
}

func hasClass(n *html.Node, class string) bool {
	return slices.Contains(strings.Fields(attr(n, "class")), class)
}

func addClass(n *html.Node, class string) {
	setAttr(n, "class", strings.TrimSpace(attr(n, "class")+" "+class))
}

// textOf returns the characters below n as they are.
func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		switch {
		case c.Type == html.TextNode:
			b.WriteString(c.Data)
		case c.DataAtom == atom.Br:
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// isBlank reports whether n shows nothing: white space between blocks, a comment.
func isBlank(n *html.Node) bool {
	return n.Type == html.CommentNode || n.Type == html.TextNode && strings.Trim(n.Data, " \t\r\n\f") == ""
}

// isBlock reports whether n begins a new line of its own.
func isBlock(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	switch n.DataAtom {
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Figure, atom.Figcaption, atom.Center,
		atom.Blockquote, atom.Pre, atom.Hr, atom.Ul, atom.Ol, atom.Li, atom.Dl, atom.Dt, atom.Dd, atom.Details, atom.Summary,
		atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	default:
		return false
	}
}
