package dialect

import (
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// codeBlocks writes code so that no white space of it can get lost: each line
// break is a <br>, each space one that does not break. It is done when w.colouring
// is.
func (w *wechat) codeBlocks() {
	for _, pre := range find(w.root, atom.Pre) {
		language := ""
		if code := find(pre, atom.Code); len(code) > 0 && !w.options.PlainCode {
			language = languageOf(code[0])
		}
		for _, img := range find(pre, atom.Img) {
			img.Parent.RemoveChild(img)
			insertAfter(pre, img)
		}
		source := strings.TrimSuffix(Clean(textOf(pre)), "\n")
		for _, c := range children(pre) {
			pre.RemoveChild(c)
		}
		raw := &html.Node{Type: html.RawNode}
		pre.AppendChild(element("code", "", raw))
		w.colouring.Go(func() { raw.Data = w.options.Theme.highlight(language, source) })
	}
}

// languageOf returns the language in a fence's info string: go of "go",
// "go{1,3}" and "go:main.go".
func languageOf(code *html.Node) string {
	for class := range strings.FieldsSeq(attr(code, "class")) {
		if language, ok := strings.CutPrefix(class, "language-"); ok {
			language, _, _ = strings.Cut(strings.TrimLeft(language, "{."), "{")
			language, _, _ = strings.Cut(language, ":")
			return strings.TrimRight(language, "},")
		}
	}
	return ""
}

// highlight returns code as HTML, coloured if the language is known.
func (t *Theme) highlight(language, source string) string {
	if known, ok := t.coloured.Get(snippet{language, source}); ok {
		return known
	}
	var w codeWriter
	for _, token := range tokensOf(language, source) {
		w.write(t.code[token.Type], token.Value)
	}
	w.close()
	t.coloured.Add(snippet{language, source}, w.String())
	return w.String()
}

// tokensOf returns the tokens of source. Their text is the source: where a lexer
// changes it or panics, as some do on a fault of their own, there is one token
// without a colour.
func tokensOf(language, source string) (tokens []chroma.Token) {
	plain := []chroma.Token{{Type: chroma.Text, Value: source}}
	if language == "" {
		return plain
	}
	defer func() {
		if recover() != nil {
			tokens = plain
		}
	}()
	lexer := lexers.Get(language)
	if lexer == nil {
		return plain
	}
	it, err := lexer.Tokenise(nil, source)
	if err != nil {
		return plain
	}
	tokens = it.Tokens()
	var b strings.Builder
	for i, token := range tokens {
		b.WriteString(token.Value)
		if token.Type == chroma.Error { // what the lexer does not know is no mistake
			tokens[i].Type = chroma.Text
		}
	}
	if strings.TrimSuffix(b.String(), "\n") != strings.TrimSuffix(source, "\n") {
		return plain
	}
	return tokens
}

// codeWriter writes HTML with one <span> for each run of text in one style.
type codeWriter struct {
	strings.Builder
	style  string
	column int
}

func (w *codeWriter) write(style, text string) {
	if strings.TrimSpace(text) != "" && style != w.style { // white space has no colour
		w.close()
		if w.style = style; style != "" {
			w.WriteString(`<span style="` + style + `">`)
		}
	}
	for _, r := range text {
		w.column++
		switch r {
		case '\n':
			w.WriteString("<br>")
			w.column = 0
		case ' ':
			w.WriteRune(noBreakSpace)
		case '\t':
			w.tab()
		default:
			w.WriteString(escape(string(r)))
		}
	}
}

const (
	noBreakSpace = '\u00a0'
	tabWidth     = 4
)

// tab writes spaces to the next stop; the tab itself has been counted as one.
func (w *codeWriter) tab() {
	w.WriteRune(noBreakSpace)
	for ; w.column%tabWidth != 0; w.column++ {
		w.WriteRune(noBreakSpace)
	}
}

func (w *codeWriter) close() {
	if w.style != "" {
		w.WriteString("</span>")
		w.style = ""
	}
}
