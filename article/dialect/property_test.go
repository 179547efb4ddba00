package dialect

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html/atom"
	"pgregory.net/rapid"

	"herald/article"
)

// visible returns the text of WeChat's HTML as [article.Article.Text] writes it,
// without white space, the list of links and the numbers that lead to it.
func visible(t rapid.TB, source string) string {
	root := parsed(t, source)
	for _, p := range find(root, atom.P) {
		if textOf(p) == "引用链接" {
			replace(p.Parent)
		}
	}
	for _, n := range find(root, atom.Sup) {
		replace(n)
	}
	return squeezed(marks.Replace(textOf(root)))
}

// marks turns the marks of items back. A box is the mark of its item if a no-break
// space follows.
var marks = strings.NewReplacer("☑\u00a0", "-[x]", "☐\u00a0", "-[]", "☑", "[x]", "☐", "[]", "•", "-", "◦", "-", "▪", "-")

// squeezed returns s without white space and the borders of columns.
func squeezed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '|' {
			return -1
		}
		return r
	}, s)
}

// inlines and lines are what random articles are made of.
var (
	inlines = []string{
		"文字", "text", "**“注意”**请", "*a*", "~~旧~~", "`c_o  d`", "[链接](https://e.com/a)", "https://e.com", "\"a\" -- (c) ...",
		"a_b_c", "＂全角＂", "1\\. x", "&lt;b&gt;", "it's", "<kbd>k</kbd>", "“q”", "，", "。", "$5", "\\*", "![](a.png)", " ", " ",
	}
	prefixes = []string{"", "", "\n", "\n# ", "\n## ", "- ", "  - ", "    - ", "1. ", "7. ", "   1. ", "- [x] ", "- [ ] ", "> ", "> > ", "\n    ", "| "}
)

func TestTextOfTheOutputIsTheTextOfTheInput(t *testing.T) { // B58
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(1, 12).Draw(t, "lines") {
			b.WriteString(rapid.SampledFrom(prefixes).Draw(t, "prefix"))
			b.WriteString(strings.Join(rapid.SliceOfN(rapid.SampledFrom(inlines), 1, 6).Draw(t, "inlines"), ""))
			b.WriteString("\n")
		}
		if rapid.Bool().Draw(t, "code") {
			b.WriteString("\n```go\nfunc f() {\n\n\treturn \"中文\" // x\n}\n```\n")
		}
		a := &article.Article{Body: b.String(), Images: []article.Image{{Ref: "a.png"}}}
		out, err := WeChat(a, WeChatOptions{Image: func(article.Image) string { return "https://mmbiz.qpic.cn/x" }})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := visible(t, out.HTML), squeezed(a.Text()); got != want {
			t.Fatalf("text of\n%s\nis\n%s\nwant\n%s\nin\n%s", a.Body, got, want, out.HTML)
		}
	})
}
