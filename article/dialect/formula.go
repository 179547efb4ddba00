package dialect

import (
	"bytes"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// formulas is the extension of goldmark that keeps TeX as it is written: $…$ in a
// line, $$…$$ in a line or as lines of its own. A sum of money is no formula: as in
// GitHub's Markdown the opening sign has no letter or digit before it and no space
// behind it, the closing one no space before it and no letter or digit behind it.
//
// The parser of Hugo's passthrough extension has no such rule, takes the "> " of a
// quotation for TeX, and loses a formula one of whose lines begins with a minus
// sign to a list.
type formulas struct{}

// Extend adds the parsers and the renderer.
func (formulas) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(
		parser.WithInlineParsers(util.Prioritized(formulaParser{}, 180)),
		parser.WithBlockParsers(util.Prioritized(formulaBlockParser{}, 650)),
	)
	m.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(formulaRenderer{}, 500)))
}

// formula is TeX with its dollar signs inside a line.
type formula struct {
	ast.BaseInline
	source []byte
}

var kindFormula = ast.NewNodeKind("Formula")

func (*formula) Kind() ast.NodeKind { return kindFormula }

func (f *formula) Dump(source []byte, level int) { ast.DumpHelper(f, source, level, nil, nil) }

// formulaBlock is TeX with its dollar signs on lines of its own.
type formulaBlock struct{ ast.BaseBlock }

var kindFormulaBlock = ast.NewNodeKind("FormulaBlock")

func (*formulaBlock) Kind() ast.NodeKind { return kindFormulaBlock }

func (f *formulaBlock) IsRaw() bool { return true }

func (f *formulaBlock) Dump(source []byte, level int) { ast.DumpHelper(f, source, level, nil, nil) }

type formulaParser struct{}

func (formulaParser) Trigger() []byte { return []byte{'$'} }

func (formulaParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	sign := line[:1]
	if bytes.HasPrefix(line, []byte("$$")) {
		sign = line[:2]
	} else if isWord(block.PrecendingCharacter()) {
		return nil
	}
	length := formulaLength(line, sign)
	if length == 0 {
		return nil
	}
	block.Advance(length)
	return &formula{source: bytes.Clone(line[:length])}
}

// formulaLength returns how many bytes of line, which begins with sign, are a
// formula; zero if none.
func formulaLength(line, sign []byte) int {
	single := len(sign) == 1
	for i := len(sign); i+len(sign) <= len(line); i++ {
		if line[i] == '\\' {
			i++
			continue
		}
		if !bytes.HasPrefix(line[i:], sign) {
			continue
		}
		inner, rest := line[len(sign):i], line[i+len(sign):]
		if single && bytes.HasPrefix(rest, sign) { // $$ closes no $
			i++
			continue
		}
		if len(bytes.TrimSpace(inner)) == 0 || single && util.IsSpace(inner[0]) {
			return 0
		}
		if single && (util.IsSpace(inner[len(inner)-1]) || len(rest) > 0 && isWord(rune(rest[0]))) {
			continue
		}
		return i + len(sign)
	}
	return 0
}

func isWord(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// formulaBlockParser reads a block from a line that begins with $$ to the next
// one that ends with $$. As in TeX itself there is no blank line between the two.
type formulaBlockParser struct{}

func (formulaBlockParser) Trigger() []byte { return []byte{'$'} }

func (formulaBlockParser) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	offset := pc.BlockOffset()
	if offset < 0 || !bytes.HasPrefix(line[offset:], []byte("$$")) {
		return nil, parser.NoChildren
	}
	first := bytes.TrimSpace(line[offset:])
	end := bytes.Index(first[len("$$"):], []byte("$$"))
	oneLine := end > 0 && end+2*len("$$") == len(first)
	if !oneLine && (end >= 0 || !formulaCloses(reader.Source()[segment.Stop:])) {
		return nil, parser.NoChildren
	}
	n := &formulaBlock{}
	n.Lines().Append(segment)
	reader.AdvanceToEOL()
	return n, parser.NoChildren
}

// formulaCloses reports whether a line of rest, before the first blank one, ends
// with $$.
func formulaCloses(rest []byte) bool {
	for line := range bytes.Lines(rest) {
		line = bytes.TrimSpace(line)
		if len(bytes.TrimLeft(line, "> \t")) == 0 {
			return false
		}
		if bytes.HasSuffix(line, []byte("$$")) {
			return true
		}
	}
	return false
}

func (formulaBlockParser) Continue(n ast.Node, reader text.Reader, _ parser.Context) parser.State {
	read := bytes.TrimSpace(n.Lines().Value(reader.Source()))
	if len(read) > len("$$") && bytes.HasSuffix(read, []byte("$$")) {
		return parser.Close
	}
	_, segment := reader.PeekLine()
	n.Lines().Append(segment)
	reader.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

func (formulaBlockParser) Close(ast.Node, text.Reader, parser.Context) {}

func (formulaBlockParser) CanInterruptParagraph() bool { return true }

func (formulaBlockParser) CanAcceptIndentedLine() bool { return false }

// formulaRenderer marks formulas as code of the class "formula", whose text is the
// source with its dollar signs.
type formulaRenderer struct{}

func (formulaRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(kindFormula, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		return ast.WalkContinue, writeParts(w, `<code class="formula">`, n.(*formula).source, `</code>`)
	})
	reg.Register(kindFormulaBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		tex := bytes.TrimSpace(n.Lines().Value(source))
		return ast.WalkContinue, writeParts(w, `<pre><code class="formula">`, tex, "\n</code></pre>\n")
	})
}

func writeParts(w util.BufWriter, before string, source []byte, after string) error {
	for _, part := range [][]byte{[]byte(before), util.EscapeHTML(source), []byte(after)} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}
