package dialect

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"herald/article"
)

func TestRichArticleRendersInEveryTheme(t *testing.T) {
	a := rich(t)
	for _, name := range Themes() {
		theme, err := NewTheme(name, "")
		if err != nil {
			t.Fatal(err)
		}
		out, err := WeChat(a, WeChatOptions{Theme: theme, Image: atExample, External: draw})
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "rich."+name+".html", out.HTML)
		wantEqual(t, "warnings", out.Warnings, []string{
			"HTML <iframe> is left out: platforms that take no free HTML have no such thing",
			`math-block stays as source: command: exit status 1: \int_0^1 x^2 \, dx - \frac{1}{3} = 0`,
		})
	}
}

func TestEveryItemOfAListAppearsOnceInOrderWithItsNumber(t *testing.T) { // B48
	for body, want := range map[string]string{
		"1. a\n2. b\n   - c\n     1. d\n     2. e\n   - f\n3. g": "1. a|2. b|• c|1. d|2. e|• f|3. g",
		"- a\n  - b\n    - c\n      - d":                         "• a|◦ b|▪ c|▪ d",
		"3. a\n4. b":                                             "3. a|4. b",
		"- a\n\n  b\n- c":                                        "• a|b|• c",
		"- - a":                                                  "•|◦ a",
		"- ```\n  x\n  ```\n- b":                                 "•|x|• b",
		"9. a\n10. b":                                            "9. a|10. b",
		"0. a\n1. b":                                             "0. a|1. b",
		"-\n- b":                                                 "•|• b",
		"- a\n  - b\n\n  c":                                      "• a|◦ b|c",
		"- [x] a\n- [ ] b\n- c":                                  "☑ a|☐ b|• c",
		"1. [x] a\n2. b":                                         "1. ☑ a|2. b",
		"<ul><li>a<p>b</p>c</li></ul>":                           "• a|b|c",
	} {
		out := weChat(t, body, WeChatOptions{}).HTML
		var lines []string
		for _, n := range find(parsed(t, out), atom.P, atom.Pre) {
			lines = append(lines, strings.TrimSpace(strings.ReplaceAll(textOf(n), "\u00a0", " ")))
		}
		wantEqual(t, body, strings.Join(lines, "|"), want)
	}
}

func TestCodeReadBackIsTheSource(t *testing.T) { // B47
	const source = "# fork()\n\nfunc main() {\n    if a {\n        if b {\n            if c {\n                d  =  \"中文 <&>\" // e\n\n\n    }\n}\n\tx\na\ty\n"
	want := strings.ReplaceAll(strings.ReplaceAll(source, "\tx", "    x"), "a\ty", "a   y")
	for _, language := range []string{"", "go", "Go{1,3}", "python", "bash", "c:main.c", "php", "makefile", "no-such", "{.yaml}", "<script>"} {
		for _, o := range []WeChatOptions{{}, {PlainCode: true}} {
			out := weChat(t, "```"+language+"\n"+source+"```\n", o).HTML
			if strings.ContainsAny(out, "\n\t") || strings.Contains(out, "  ") {
				t.Errorf("%s: code has white space that HTML folds: %q", language, out)
			}
			pre := find(parsed(t, out), atom.Pre)[0]
			wantEqual(t, language, strings.ReplaceAll(textOf(pre), "\u00a0", " ")+"\n", want)
		}
	}
}

func TestCodeIsColouredUnlessAskedNotTo(t *testing.T) {
	const body = "```go\nreturn 1 // one\n```\n"
	if out := weChat(t, body, WeChatOptions{}).HTML; strings.Count(out, `<span style="color:#`) != 3 {
		t.Errorf("no colours of keyword, number and comment in %s", out)
	}
	if out := weChat(t, body, WeChatOptions{PlainCode: true}).HTML; strings.Contains(out, "<span") {
		t.Errorf("colours in %s", out)
	}
}

func TestHTMLHasNothingThatWeChatRefuses(t *testing.T) { // B45
	for _, tc := range []struct{ body, want, warning string }{
		{"<iframe src=\"https://e.com\"></iframe>\n\na", "<p>a</p>", "HTML <iframe> is left out"},
		{"a <script>alert(1)</script>b", "<p>a b</p>", "HTML <script> is left out"},
		{"<style>p{color:red}</style>\n\na", "<p>a</p>", "HTML <style> is left out"},
		{"<form action=x><input name=q><button>Go</button></form>\n", "<p>Go</p>", "HTML <form> is left out"},
		{"- [ ] task", "<section><section><p><span>☐\u00a0</span>task</p></section></section>", ""},
		{"- [x] <b>a</b>", "<section><section><p><span>☑\u00a0</span><strong>a</strong></p></section></section>", ""},
		{"<b>a</b> $x^2$", "<p><strong>a</strong> <code>$x^2$</code></p>", "math stays as source"},
		{"<script>\nx\n</script><iframe>", "", "HTML <iframe> is left out"},
		{"<b onclick=\"x()\" id=i class=c>a</b>", "<p><strong>a</strong></p>", ""},
		{"<p align=center style=\"position:fixed;color:red\">a</p>", "<p>a</p>", ""},
		{
			"<div>a</div>\n\n<details><summary>s</summary>\n\nb\n\n</details>",
			"<section>a</section><section><section>s</section><p>b</p></section>", "",
		},
		{"<svg><path d=x /></svg>", "", "HTML <svg> is left out"},
		{"a<!-- b -->c", "<p>ac</p>", ""},
		{"| a | b |\n|---|--:|\n| 1 | 2 |", "<section><table><thead><tr><th>a</th><th>b</th></tr></thead>" +
			"<tbody><tr><td>1</td><td>2</td></tr></tbody></table></section>", ""},
		{"<table><tr><td colspan=2>a</td></tr></table>", `<section><table><tbody><tr><td colspan="2">a</td></tr></tbody></table></section>`, ""},
		{"a\nb  \nc", "<p>a b<br/>c</p>", ""},
		{"## h\n\n***", "<h2>h</h2><hr/>", ""},
		{"> a\n>\n> b", "<blockquote><p>a</p><p>b</p></blockquote>", ""},
		{
			"a **b** *c* ~~d~~ `e` <kbd>f</kbd> <ins>g</ins> H<sub>2</sub>O",
			"<p>a <strong>b</strong> <em>c</em> <del>d</del> <code>e</code> <span>f</span> <u>g</u> H<sub>2</sub>O</p>", "",
		},
	} {
		out := weChat(t, tc.body, WeChatOptions{})
		wantEqual(t, tc.body, bare(t, out.HTML), tc.want)
		if got := strings.Join(out.Warnings, "\n"); (tc.warning == "") != (got == "") || !strings.Contains(got, tc.warning) {
			t.Errorf("%s: warnings %q, want %q", tc.body, got, tc.warning)
		}
	}
}

func TestAuthorsOwnStyleIsKeptWhereItIsHarmless(t *testing.T) {
	out := weChat(t, "<p align=center style=\"position:fixed; color:red\">a</p>\n\n<td>", WeChatOptions{}).HTML
	if !strings.Contains(out, `<p style="margin:1em 0;text-align:center;color:red">`) {
		t.Errorf("own style is not behind the theme's in %s", out)
	}
	out = weChat(t, "| a |\n|:-:|\n| b |", WeChatOptions{}).HTML
	if strings.Count(out, "text-align:center") != 2 {
		t.Errorf("alignment of a column is lost in %s", out)
	}
}

func TestLinksBecomeNotes(t *testing.T) {
	list := func(entries ...string) string {
		return "<section><p>引用链接</p><p>" + strings.Join(entries, "</span></p><p>") + "</span></p></section>"
	}
	for _, tc := range []struct{ body, want, warning string }{
		{
			"[a](https://e.com/?x=1&y) [b](https://e.com/b) [again](https://e.com/?x=1&y)",
			"<p>a<sup>[1]</sup> b<sup>[2]</sup> again<sup>[1]</sup></p>" +
				list("[1] a: <span>https://e.com/?x=1&amp;y", "[2] b: <span>https://e.com/b"), "",
		},
		{"[a](https://mp.weixin.qq.com/s/x \"t\")", `<p><a href="https://mp.weixin.qq.com/s/x">a</a></p>`, ""},
		{"[a](https://mp.weixin.qq.com/s?tempkey=x)", `<p><a href="https://mp.weixin.qq.com/s?tempkey=x">a</a></p>`, "temporary"},
		{"[a](https://mp.weixin.qq.com.evil.com/)", "<p>a<sup>[1]</sup></p>" + list("[1] a: <span>https://mp.weixin.qq.com.evil.com/"), ""},
		{"https://e.com/路径 www.e.com <x@e.com> [https://e.com](https://e.com/)", "<p>https://e.com/路径 www.e.com x@e.com https://e.com</p>", ""},
		{"[a](#x) <a name=y>b</a>", "<p>a b</p>", ""},
		{"[a](../b)", "<p>a</p>", "canonical_url"},
		{"[a](javascript:alert)", "<p>a</p>", "no address of the web"},
		{"[a](https://e.com:x/)", "<p>a</p>", "no address"},
		{"[**a** b](mailto:x@e.com)", "<p><strong>a</strong> b<sup>[1]</sup></p>" + list("[1] a b: <span>x@e.com"), ""},
		{
			"x[^n] [a](https://e.com/)\n\n[^n]: note [b](https://e.com/b)",
			"<p>x<sup>[1]</sup> a<sup>[2]</sup></p><section><hr/><section><section><p><span>[1]\u00a0</span>note b<sup>[3]</sup></p>" +
				"</section></section></section>" + list("[2] a: <span>https://e.com/", "[3] b: <span>https://e.com/b"), "",
		},
	} {
		out := weChat(t, tc.body, WeChatOptions{})
		wantEqual(t, tc.body, bare(t, out.HTML), tc.want)
		if got := strings.Join(out.Warnings, "\n"); (tc.warning == "") != (got == "") || !strings.Contains(got, tc.warning) {
			t.Errorf("%s: warnings %q, want %q", tc.body, got, tc.warning)
		}
	}
	out, err := WeChat(&article.Article{Body: "[a](../b)", CanonicalURL: "https://e.com/posts/x"}, WeChatOptions{})
	if err != nil || !strings.Contains(out.HTML, "https://e.com/b") || out.Warnings != nil {
		t.Errorf("relative link: %+v, %v", out, err)
	}
}

func TestHeadingThatSaysTheTitleAgainIsDropped(t *testing.T) {
	for body, want := range map[string]string{
		"# The *title*\n\na":  "<p>a</p>",
		"# Other\n\na":        "<h1>Other</h1><p>a</p>",
		"a\n\n# The title\n":  "<p>a</p><h1>The title</h1>",
		"## The title\n\na\n": "<h2>The title</h2><p>a</p>",
	} {
		out, err := WeChat(&article.Article{Title: "The  title", Body: body}, WeChatOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, body, bare(t, out.HTML), want)
	}
}

func TestPicturesStandAloneWithTheirDescription(t *testing.T) {
	const img = `<img src="https://mmbiz.qpic.cn/a.png" alt="`
	for _, tc := range []struct{ body, want, warning string }{
		{"![图](a.png)", "<section>" + img + `图"/><section>图</section></section>`, ""},
		{"![](a.png)", `<section><img src="https://mmbiz.qpic.cn/a.png"/></section>`, ""},
		{"![a.png](a.png)", "<section>" + img + `a.png"/></section>`, ""},
		{"x ![图](a.png) y", "<p>x " + img + `图"/> y</p>`, ""},
		{"![图](a.png)\n![二](a.png)", "<section>" + img + `图"/><section>图</section></section>` +
			"<section>" + img + `二"/><section>二</section></section>`, ""},
		{"![[a.png|图]]", "<section>" + img + `图"/><section>图</section></section>`, ""},
		{"<p align=center><img src='a.png' alt=图 width=10></p>", "<section>" + img + `图"/><section>图</section></section>`, ""},
		{
			"<figure><img src=a.png><figcaption>b</figcaption></figure>",
			`<section><img src="https://mmbiz.qpic.cn/a.png"/><section>b</section></section>`, "",
		},
		{"<img src=b.png>\n\nx", "<p>x</p>", "image b.png is left out"},
		{"![图](data:image/png;base64,AAAA)", "", "image data:image/png;base64,AAAA is left out"},
		{"<img src=herald-image-7 alt=x>", "", "image herald-image-7 is left out"},
		{"<pre>x<img src=a.png></pre>", `<pre><code>x</code></pre><section><img src="https://mmbiz.qpic.cn/a.png"/></section>`, ""},
	} {
		a := &article.Article{Body: tc.body, Images: []article.Image{{Ref: "a.png", Name: "a.png"}}}
		out, err := WeChat(a, WeChatOptions{Image: atExample})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, tc.body, bare(t, out.HTML), tc.want)
		if got := strings.Join(out.Warnings, "\n"); (tc.warning == "") != (got == "") || !strings.Contains(got, tc.warning) {
			t.Errorf("%s: warnings %q, want %q", tc.body, got, tc.warning)
		}
	}
	out, err := WeChat(&article.Article{Body: "<img src=a.png width=50%>", Images: []article.Image{{Ref: "a.png"}}}, WeChatOptions{})
	if err != nil || !strings.Contains(out.HTML, `src="a.png"`) || !strings.Contains(out.HTML, "width:50%") {
		t.Errorf("own reference or width is lost in %s, %v", out.HTML, err)
	}
}

func TestFormulasAndDiagramsAreDrawnOrStayReadable(t *testing.T) {
	var asked []string
	external := func(kind, source string) (article.Image, error) {
		asked = append(asked, kind+" "+source)
		return draw(kind, source)
	}
	body := "a $x^2$ b $x^2$\n\n$$\ny\n$$\n\n```mermaid\ngraph\n```\n\n```math\nz\n```\n"
	a := &article.Article{Body: body, Images: []article.Image{{Ref: "a.png", Name: "a.png"}}}
	out, err := WeChat(a, WeChatOptions{Image: atExample, External: external})
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "asked for", asked, []string{"math x^2", "math-block y", "mermaid graph", "math-block z"})
	const math = `<img src="https://mmbiz.qpic.cn/math.png" alt="x^2"/>`
	wantEqual(t, "drawn", bare(t, out.HTML), "<p>a "+math+" b "+math+"</p>"+
		`<section><img src="https://mmbiz.qpic.cn/math-block.png" alt="y"/></section>`+
		`<section><img src="https://mmbiz.qpic.cn/mermaid.png" alt="graph"/></section>`+
		`<section><img src="https://mmbiz.qpic.cn/math-block.png" alt="z"/></section>`)
	if len(out.Images) != 4 || out.Images[2].Path != "/tmp/mermaid.png" || out.Warnings != nil {
		t.Errorf("images %+v and warnings %q, want the four drawn ones and no warning", out.Images, out.Warnings)
	}

	const source = "<p>a <code>$x^2$</code> b <code>$x^2$</code></p><pre><code>$$<br/>y<br/>$$</code></pre>" +
		"<pre><code>graph</code></pre><pre><code>z</code></pre>"
	out = weChat(t, body, WeChatOptions{})
	wantEqual(t, "without a command", bare(t, out.HTML), source)
	wantEqual(t, "warnings", out.Warnings, []string{
		"math stays as source: no command is configured that draws it",
		"math-block stays as source: no command is configured that draws it",
		"mermaid stays as source: no command is configured that draws it",
	})
	out = weChat(t, body, WeChatOptions{External: func(string, string) (article.Image, error) {
		return article.Image{}, errors.New("exit status 1")
	}})
	wantEqual(t, "command fails", bare(t, out.HTML), source)
	if len(out.Warnings) != 4 || out.Warnings[0] != "math stays as source: exit status 1: x^2" {
		t.Errorf("warnings %q, want one a source", out.Warnings)
	}
}

func TestCallouts(t *testing.T) {
	const inside = "</p><p>正文</p></section>"
	for body, want := range map[string]string{
		"> [!NOTE]\n> 正文":             "<section><p>说明" + inside,
		"> [!tip] 自己的**标题**\n> 正文":    "<section><p>自己的<strong>标题</strong>" + inside,
		"> [!custom]- \n>\n> 正文":      "<section><p>custom" + inside,
		"> [!WARNING]\n>\n> 正文":       "<section><p>警告" + inside,
		"> [!NOTE] 只有标题":              "<section><p>只有标题</p></section>",
		"> [NOTE] 正文":                 "<blockquote><p>[NOTE] 正文</p></blockquote>",
		"> 正文\n>\n> [!NOTE]":          "<blockquote><p>正文</p><p>[!NOTE]</p></blockquote>",
		">\n":                         "<blockquote></blockquote>",
		"> [!NOTE]\n> 正文\n>\n> - 第一项": "<section><p>说明</p><p>正文</p><section><section><p><span>•\u00a0</span>第一项</p></section></section></section>",
	} {
		wantEqual(t, body, bare(t, weChat(t, body, WeChatOptions{}).HTML), want)
	}
}

func TestNoControlCharacterGetsThrough(t *testing.T) {
	const dirt = "a\u2028b\u2029c\u0001d\u007fe&#x2028;f&#1;g\u0085h"
	body := dirt + " `" + dirt + "` [" + dirt + "](https://mp.weixin.qq.com/s/" + "\u0001x) ![x" + dirt + "](a.png)\n\n```go\n" + dirt + "\n```\n"
	a := &article.Article{Body: body, Images: []article.Image{{Ref: "a.png"}}}
	out, err := WeChat(a, WeChatOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "HTML", out.HTML, Clean(out.HTML))
	wantEqual(t, "text", find(parsed(t, out.HTML), atom.P)[0].FirstChild.Data, "abcdefgh ")
	plain, _, err := PlainText(a, PlainOptions{})
	wantEqual(t, "plain text", plain, Clean(plain))
	if err != nil {
		t.Error(err)
	}
}

func TestNestingTooDeepIsAnError(t *testing.T) {
	a := &article.Article{Body: strings.Repeat("> ", 600) + "a"}
	if _, err := WeChat(a, WeChatOptions{}); err == nil || !strings.Contains(err.Error(), "parse HTML") {
		t.Errorf("error %v, want one of the parser", err)
	}
	if _, _, err := PlainText(a, PlainOptions{}); err == nil {
		t.Error("plain text has no error")
	}
}

// allowed are the elements and attributes that WeChat keeps.
var allowed = map[string]string{
	"section": "style", "p": "style", "span": "style", "strong": "style", "em": "style", "del": "style", "u": "style",
	"code": "style", "pre": "style", "br": "style", "hr": "style", "blockquote": "style", "sup": "style", "sub": "style",
	"h1": "style", "h2": "style", "h3": "style", "h4": "style", "h5": "style", "h6": "style",
	"a": "href style", "img": "src alt style",
	"table": "style", "thead": "style", "tbody": "style", "tfoot": "style", "tr": "style",
	"th": "colspan rowspan style", "td": "colspan rowspan style",
}

// refused returns what of HTML WeChat would not keep.
func refused(t testing.TB, source string) []string {
	t.Helper()
	var list []string
	for n := range parsed(t, source).Descendants() {
		if n.Type == html.TextNode {
			continue
		}
		attributes, ok := allowed[n.Data]
		if n.Type != html.ElementNode || !ok {
			list = append(list, "<"+n.Data+">")
		}
		for _, a := range n.Attr {
			if !strings.Contains(" "+attributes+" ", " "+a.Key+" ") {
				list = append(list, a.Key)
			}
			if a.Key == "href" && !strings.HasPrefix(a.Val, "https://mp.weixin.qq.com") && !strings.HasPrefix(a.Val, "http://mp.weixin.qq.com") {
				list = append(list, a.Val)
			}
		}
	}
	return list
}
