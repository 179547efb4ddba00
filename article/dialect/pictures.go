package dialect

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// drawings has formulas and diagrams drawn, or leaves their source where it is.
func (w *wechat) drawings() {
	known := map[string]*html.Node{}
	for _, code := range find(w.root, atom.Code) {
		block := isAlone(code)
		kind, source := drawing(code, block)
		if kind == "" {
			continue
		}
		img, ok := known[kind+source]
		if !ok {
			img = w.draw(kind, source)
			known[kind+source] = img
		}
		switch {
		case img == nil:
		case block:
			replace(code.Parent, element("figure", "", clone(img)))
		default:
			replace(code, clone(img))
		}
	}
}

// clone returns a copy of an element without its children.
func clone(n *html.Node) *html.Node {
	c := element(n.Data, "")
	c.Attr = slices.Clone(n.Attr)
	return c
}

// isAlone reports whether code is all of a <pre>.
func isAlone(code *html.Node) bool {
	return code.Parent.DataAtom == atom.Pre && code.PrevSibling == nil && code.NextSibling == nil
}

// drawing returns what is to be drawn in place of code; no kind if nothing.
func drawing(code *html.Node, block bool) (kind, source string) {
	switch {
	case hasClass(code, "formula"):
		kind, source = KindMath, strings.Trim(textOf(code), "$ \n")
		if block {
			kind = KindMathBlock
		}
	case block && hasClass(code, "language-math"):
		kind, source = KindMathBlock, textOf(code)
	case block && hasClass(code, "language-mermaid"):
		kind, source = KindMermaid, textOf(code)
	}
	return kind, strings.TrimSpace(source)
}

// draw returns an image of the source, nil if there is none.
func (w *wechat) draw(kind, source string) *html.Node {
	if w.options.External == nil {
		w.warn("%s stays as source: no command is configured that draws it", kind)
		return nil
	}
	im, err := w.options.External(kind, source)
	if err != nil {
		w.warn("%s stays as source: %v: %s", kind, err, Cut(words(source), 40, Characters))
		return nil
	}
	w.drawn = append(w.drawn, im)
	n := element("img", kind)
	setAttr(n, "src", w.src(im))
	setAttr(n, "alt", source)
	return n
}

// pictures gives the images of the article their src, leaves out all others, which
// WeChat filters, and makes figures of those that stand alone.
func (w *wechat) pictures() {
	for _, img := range find(w.root, atom.Img) {
		if isDrawing(img) {
			continue
		}
		index, ok := strings.CutPrefix(attr(img, "src"), imageMark)
		i, err := strconv.Atoi(index)
		if !ok || err != nil || i < 0 || i >= len(w.article.Images) {
			w.warn("image %s is left out: it is none of the article's", Cut(attr(img, "src"), 80, Characters))
			replace(img)
			continue
		}
		setAttr(img, "src", w.src(w.article.Images[i]))
		if width := attr(img, "width"); htmlLength.MatchString(width) {
			setAttr(img, "style", strings.TrimPrefix(attr(img, "style")+";", ";")+"width:"+cssLength(width))
		}
	}
	for _, n := range find(w.root, atom.P, atom.Div, atom.Section, atom.Center) {
		if isGallery(n) {
			figures(n)
		}
	}
}

var htmlLength = regexp.MustCompile(`^\d{1,4}(%|px)?$`)

func cssLength(width string) string {
	if strings.HasSuffix(width, "%") || strings.HasSuffix(width, "px") {
		return width
	}
	return width + "px"
}

// isGallery reports whether n shows images and nothing else.
func isGallery(n *html.Node) bool {
	some := false
	for c := range n.ChildNodes() {
		switch {
		case c.DataAtom == atom.Img:
			some = true
		case c.DataAtom == atom.A:
			if !isGallery(c) {
				return false
			}
			some = true
		case c.DataAtom != atom.Br && !isBlank(c):
			return false
		}
	}
	return some
}

// figures puts a figure with its caption in place of each image of a gallery.
func figures(n *html.Node) {
	for _, c := range children(n) {
		if isBlank(c) || c.DataAtom == atom.Br {
			continue
		}
		n.RemoveChild(c)
		figure := element("figure", "", c)
		img := c
		if c.DataAtom == atom.A {
			img = find(c, atom.Img)[0]
		}
		if alt := strings.TrimSpace(attr(img, "alt")); alt != "" && !fileName.MatchString(alt) && !isDrawing(img) {
			figure.AppendChild(element("figcaption", "", textNode(alt)))
		}
		n.Parent.InsertBefore(figure, n)
	}
	n.Parent.RemoveChild(n)
}

// fileName matches the description that editors give a pasted picture.
var fileName = regexp.MustCompile(`(?i)^\S+\.(png|jpe?g|gif|webp|bmp|svg)$`)

func isDrawing(img *html.Node) bool {
	return hasClass(img, KindMath) || hasClass(img, KindMathBlock) || hasClass(img, KindMermaid)
}
