package article

import (
	"bytes"
	stdhtml "html"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	"golang.org/x/net/html"
)

// form is how a reference is written.
type form int

const (
	formInline form = iota // ![alt](ref)
	formLabel              // ![alt][label], ![label]
	formEmbed              // ![[ref|alt]]
	formHTML               // <img src="ref" alt="alt">
)

// reference is one mention of an image.
type reference struct {
	ref  string // as written
	alt  string
	form form
	// start and stop bound what names the image in the body: for formInline the
	// bare destination, for formLabel what stands behind the description, for
	// formEmbed all of it, for formHTML the attribute's value with its quotes.
	start, stop int
	title       string // of formLabel
}

// mention is a reference while its document is being parsed.
type mention struct {
	reference
	image *ast.Image
}

var mentionsKey = parser.NewContextKey()

func addMention(pc parser.Context, m mention) {
	list, _ := pc.Get(mentionsKey).([]mention)
	pc.Set(mentionsKey, append(list, m))
}

// imageParser is the stock parser of links, which does not tell where in the
// source the destination of an image stands.
type imageParser struct{ parser.InlineParser }

func (p imageParser) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if c, ok := p.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
}

func (p imageParser) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, bracket := block.Position()
	n := p.InlineParser.Parse(parent, block, pc)
	image, ok := n.(*ast.Image)
	if !ok {
		return n
	}
	m := mention{image: image, reference: reference{ref: string(image.Destination)}}
	endLine, end := block.Position()
	if image.Reference != nil {
		m.form, m.title = formLabel, string(image.Title)
		m.start, m.stop = bracket.Start+1, end.Start
	} else {
		block.SetPosition(line, bracket)
		block.Advance(len("]("))
		block.SkipSpaces()
		_, at := block.PeekLine()
		m.start = at.Start
		if block.Peek() == '<' {
			m.start++
		}
		m.stop = m.start + len(image.Destination)
		block.SetPosition(endLine, end)
	}
	addMention(pc, m)
	return n
}

// embedParser reads Obsidian's embedded files: ![[a.png]], ![[a.png|300]].
type embedParser struct{}

func (embedParser) Trigger() []byte { return []byte{'!'} }

var embedPattern = regexp.MustCompile(`^!\[\[([^\[\]\n]+)\]\](?:[^(\[]|$)`)

func (embedParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, at := block.PeekLine()
	found := embedPattern.FindSubmatch(line)
	if found == nil {
		return nil
	}
	length := len("![[") + len(found[1]) + len("]]")
	ref, alt := splitEmbed(string(found[1]))
	block.Advance(length)
	image := ast.NewImage(ast.NewLink())
	image.Destination = []byte(ref)
	image.AppendChild(image, ast.NewString([]byte(alt)))
	addMention(pc, mention{reference: reference{
		ref: ref, alt: alt, form: formEmbed, start: at.Start, stop: at.Start + length,
	}})
	return image
}

var embedSize = regexp.MustCompile(`^\d+(x\d+)?$`)

// splitEmbed takes apart what stands in the brackets of an embed. Behind the
// bar is a description or a width; in a table the bar is written `\|`.
func splitEmbed(inner string) (ref, alt string) {
	ref, alt, _ = strings.Cut(inner, "|")
	ref = strings.TrimSpace(strings.TrimSuffix(ref, `\`))
	if alt = strings.TrimSpace(alt); embedSize.MatchString(alt) {
		alt = ""
	}
	return ref, alt
}

// collectReferences returns the references found while parsing and those in raw
// HTML, in order of appearance.
func (d *document) collectReferences(pc parser.Context) []reference {
	var refs []reference
	mentions, _ := pc.Get(mentionsKey).([]mention)
	for _, m := range mentions {
		if m.image != nil {
			m.alt = oneLine(d.textOf(m.image))
		}
		refs = append(refs, m.reference)
	}
	_ = ast.Walk(d.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			switch n := n.(type) {
			case *ast.RawHTML:
				refs = append(refs, d.imagesInHTML(n.Segments)...)
			case *ast.HTMLBlock:
				lines := text.NewSegments()
				lines.AppendAll(n.Lines().Sliced(0, n.Lines().Len()))
				if n.HasClosure() {
					lines.Append(n.ClosureLine)
				}
				refs = append(refs, d.imagesInHTML(lines)...)
			}
		}
		return ast.WalkContinue, nil
	})
	slices.SortStableFunc(refs, func(a, b reference) int { return a.start - b.start })
	return refs
}

// textOf returns the plain text of an inline node.
func (d *document) textOf(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			value := n.Segment.Value(d.source)
			if n.IsRaw() {
				b.Write(value)
			} else {
				b.WriteString(unescape(string(value)))
			}
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// unescape resolves the backslashes and entities of Markdown.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations([]byte(s)))))
}

// attribute matches one attribute of an HTML tag: name, value with quotes.
var attribute = regexp.MustCompile(`([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?`)

// imagesInHTML finds the <img> tags of raw HTML. Comments, scripts and the like
// hold none.
func (d *document) imagesInHTML(lines *text.Segments) []reference {
	var raw []byte
	var offsets []int // of each byte of raw in the source
	for i := range lines.Len() {
		for at := lines.At(i).Start; at < lines.At(i).Stop; at++ {
			raw, offsets = append(raw, d.source[at]), append(offsets, at)
		}
	}
	var refs []reference
	z := html.NewTokenizer(bytes.NewReader(raw))
	for begin := 0; ; {
		kind := z.Next()
		tag := z.Raw()
		if kind == html.ErrorToken {
			return refs
		}
		if name, _ := z.TagName(); (kind == html.StartTagToken || kind == html.SelfClosingTagToken) && string(name) == "img" {
			if ref, ok := imageTag(raw[begin : begin+len(tag)]); ok {
				last := offsets[begin+ref.stop-1]
				ref.start = offsets[begin+ref.start]
				ref.stop = last + 1
				refs = append(refs, ref)
			}
		}
		begin += len(tag)
	}
}

// imageTag reads an <img> tag; the bounds are offsets in tag.
func imageTag(tag []byte) (reference, bool) {
	ref := reference{form: formHTML, start: -1}
	const name = len("<img")
	for _, m := range attribute.FindAllSubmatchIndex(tag[name:], -1) {
		if m[4] < 0 {
			continue
		}
		start, stop := name+m[4], name+m[5]
		value := string(tag[start:stop])
		if value[0] == '"' || value[0] == '\'' {
			value = value[1 : len(value)-1]
		}
		switch strings.ToLower(string(tag[name+m[2] : name+m[3]])) {
		case "src":
			if ref.start < 0 {
				ref.ref, ref.start, ref.stop = strings.TrimSpace(value), start, stop
			}
		case "alt":
			ref.alt = oneLine(stdhtml.UnescapeString(value))
		}
	}
	return ref, ref.start >= 0 && !strings.Contains(ref.ref, "\n")
}
