package article

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	chromahtml "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/yuin/goldmark"
	highlighting "github.com/yuin/goldmark-highlighting/v2"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// richMarkdown is the dialect with coloured code, plainMarkdown the same one
// without colours, for text.
var (
	richMarkdown = sync.OnceValue(func() goldmark.Markdown {
		return NewMarkdown(highlighting.NewHighlighting(
			highlighting.WithFormatOptions(chromahtml.WithClasses(true))))
	})
	plainMarkdown = sync.OnceValue(func() goldmark.Markdown { return NewMarkdown() })
)

// NewMarkdown builds herald's dialect: GitHub's with footnotes, East Asian line
// breaks and emphasis, and Obsidian's embedded images. It has no typographer:
// the text that comes out is the text that went in. HTML in the source is kept.
func NewMarkdown(more ...goldmark.Extender) goldmark.Markdown {
	extensions := []goldmark.Extender{
		extension.Linkify, extension.Table, extension.TaskList, extension.Footnote, extension.CJK,
	}
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(parser.DefaultBlockParsers()...),
			parser.WithInlineParsers(inlineParsers()...),
			parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
			parser.WithASTTransformers(util.Prioritized(finisher{}, 900)),
			parser.WithAutoHeadingID(),
		)),
		goldmark.WithExtensions(append(extensions, more...)...),
		goldmark.WithRendererOptions(
			html.WithUnsafe(), // the author's own HTML, on the author's own pages
			renderer.WithNodeRenderers(
				util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500),
				util.Prioritized(scrollRenderer{}, 500),
			),
		),
	)
}

// inlineParsers are the stock ones, with those of images and emphasis wrapped,
// and the parser of Obsidian's embeds before that of links.
func inlineParsers() []util.PrioritizedValue {
	parsers := []util.PrioritizedValue{
		util.Prioritized(embedParser{}, 150),
		util.Prioritized(emphasisParser{extension.NewStrikethroughParser()}, 500),
	}
	for _, p := range parser.DefaultInlineParsers() {
		switch p.Value {
		case parser.NewLinkParser():
			p.Value = imageParser{parser.NewLinkParser()}
		case parser.NewEmphasisParser():
			p.Value = emphasisParser{parser.NewEmphasisParser()}
		}
		parsers = append(parsers, p)
	}
	return parsers
}

// document is a parsed body.
type document struct {
	source     []byte
	root       ast.Node
	references []reference // images, in order of appearance
}

func parseMarkdown(body string) *document {
	d := &document{source: []byte(body)}
	pc := parser.NewContext(parser.WithIDs(&headingIDs{last: map[string]int{}}))
	d.root = plainMarkdown().Parser().Parse(text.NewReader(d.source), parser.WithContext(pc))
	d.references = d.collectReferences(pc)
	return d
}

// render returns a node of the document as plain HTML. The renderers' only
// errors are those of the writer, and this one takes everything.
func (d *document) render(n ast.Node) string {
	var b bytes.Buffer
	if err := plainMarkdown().Renderer().Render(&b, d.source, n); err != nil {
		return ""
	}
	return b.String()
}

// headingIDs makes the id of a heading from its text in any script; the stock
// ones drop everything that is not ASCII.
type headingIDs struct {
	last map[string]int // by id: the number that its last namesake got
}

func (h *headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	base := Slug(string(value))
	id := base
	for n, used := h.last[base]; used; _, used = h.last[id] {
		n++
		id = base + "-" + strconv.Itoa(n+1)
		h.last[base] = n
	}
	h.last[id] = 0
	return []byte(id)
}

func (h *headingIDs) Put(value []byte) { h.last[string(value)] = 0 }

// emphasisParser lets emphasis begin and end between a Chinese, Japanese or
// Korean character and a punctuation mark, where CommonMark, which relies on
// spaces between words, lets it do neither: **“注意”**请. The rule is that of
// https://github.com/tats-u/markdown-cjk-friendly.
type emphasisParser struct{ parser.InlineParser }

func (p emphasisParser) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	n := p.InlineParser.Parse(parent, block, pc)
	d, ok := n.(*parser.Delimiter)
	if !ok || d.Char == '_' {
		return n
	}
	after := rune(' ')
	if rest := block.Source()[d.Segment.Stop:]; len(rest) > 0 {
		after, _ = utf8.DecodeRune(rest)
	}
	if isWide(before) || isWide(after) {
		d.CanOpen = !util.IsSpaceRune(after)
		d.CanClose = !util.IsSpaceRune(before)
	}
	return n
}

func isWide(r rune) bool {
	switch util.EastAsianWidth(r) {
	case "W", "F", "H":
		return true
	default:
		return false
	}
}

// finisher wraps tables for small screens, lets browsers load images late and joins
// the lines of Chinese text.
type finisher struct{}

func (finisher) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	var tables []ast.Node
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch {
		case !entering:
		case n.Kind() == ast.KindImage:
			n.SetAttributeString("loading", []byte("lazy"))
		case n.Kind() == ast.KindText:
			joinLines(n.(*ast.Text), reader.Source())
		case n.Kind() == extast.KindTable:
			tables = append(tables, n)
		}
		return ast.WalkContinue, nil
	})
	for _, table := range tables {
		box := &scroll{}
		table.Parent().ReplaceChild(table.Parent(), table, box)
		box.AppendChild(box, table)
	}
}

// joinLines takes the line break between two wide characters out, from which a
// browser would make a space. Goldmark's own rules do so between two Chinese
// characters but not beside their punctuation, or else beside any punctuation.
func joinLines(t *ast.Text, source []byte) {
	if !t.SoftLineBreak() {
		return
	}
	next := t.NextSibling()
	for next != nil && next.FirstChild() != nil {
		next = next.FirstChild()
	}
	following, ok := next.(*ast.Text)
	if !ok {
		return
	}
	before, _ := utf8.DecodeLastRune(t.Segment.Value(source))
	after, _ := utf8.DecodeRune(following.Segment.Value(source))
	if isWide(before) && (isWide(after) || isQuote(after)) || isQuote(before) && isWide(after) {
		t.SetSoftLineBreak(false)
	}
}

// isQuote reports whether r is punctuation that Chinese shares with other scripts.
func isQuote(r rune) bool { return strings.ContainsRune("“”‘’…—", r) }

// scroll is a box around a table that may be wider than the page.
type scroll struct{ ast.BaseBlock }

var kindScroll = ast.NewNodeKind("Scroll")

func (*scroll) Kind() ast.NodeKind { return kindScroll }

func (s *scroll) Dump(source []byte, level int) { ast.DumpHelper(s, source, level, nil, nil) }

type scrollRenderer struct{}

func (scrollRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(kindScroll, func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		tag := "</div>\n"
		if entering {
			tag = "<div class=\"table\">\n"
		}
		_, err := w.WriteString(tag)
		return ast.WalkContinue, err
	})
}

// takeTitle finds the first level-one heading. If it says title, or title is
// empty, it returns what the heading says and the body without it; the lines of
// the rest keep their numbers.
func (d *document) takeTitle(title string) (found, body string, ok bool) {
	for n := d.root.FirstChild(); n != nil; n = n.NextSibling() {
		h, isHeading := n.(*ast.Heading)
		if !isHeading || h.Level != 1 {
			continue
		}
		found = oneLine(plainText(d.render(h)))
		if found == "" {
			continue
		}
		if title != "" && found != title {
			return "", "", false
		}
		start, stop := d.headingLines(h)
		blank := strings.Repeat("\n", bytes.Count(d.source[start:stop], []byte("\n")))
		return found, string(d.source[:start]) + blank + string(d.source[stop:]), true
	}
	return "", "", false
}

// headingLines returns where the lines of a heading that has text begin and
// end, with the underline of one that is written with an underline.
func (d *document) headingLines(h *ast.Heading) (start, stop int) {
	lines := h.Lines()
	start = bytes.LastIndexByte(d.source[:lines.At(0).Start], '\n') + 1
	stop = d.endOfLine(max(lines.At(lines.Len()-1).Stop-1, start))
	if mark := bytes.TrimLeft(d.source[start:lines.At(0).Start], " \t"); len(mark) == 0 || mark[0] != '#' {
		stop = d.endOfLine(stop)
	}
	return start, stop
}

// endOfLine returns the offset behind the line that offset is in.
func (d *document) endOfLine(offset int) int {
	if i := bytes.IndexByte(d.source[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(d.source)
}

// unclosedFences returns where fenced code blocks without an end begin.
func (d *document) unclosedFences() []int {
	var open []int
	_ = ast.Walk(d.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		code, ok := n.(*ast.FencedCodeBlock)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		start := max(code.Pos(), 0)
		end := d.endOfLine(start)
		if lines := code.Lines(); lines.Len() > 0 {
			end = lines.At(lines.Len() - 1).Stop
		}
		last := bytes.TrimLeft(d.source[end:d.endOfLine(end)], "> \t")
		if !bytes.HasPrefix(last, []byte("```")) && !bytes.HasPrefix(last, []byte("~~~")) {
			open = append(open, start)
		}
		return ast.WalkContinue, nil
	})
	return open
}
