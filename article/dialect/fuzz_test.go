package dialect

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"herald/article"
)

// FuzzWeChat checks that no article makes WeChat or PlainText panic and that the
// HTML has nothing that WeChat would take out.
func FuzzWeChat(f *testing.F) {
	source, err := os.ReadFile("testdata/rich.md")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(source))
	for _, s := range []string{
		"<a href=javascript:x><svg onload=x><p style=\"a:url(x);color:red\">", "<b></b></p></section><li>x<ul><li>y",
		"$a$ $$b$$\n\n$$\nc\n$$", "> [!NOTE]\n> - [ ] a", "| a |\n|--|\n| <td> |", "[a](b) [a]: <c>", "<pre><img src=a><br></pre>",
		"<pre><code class=language-mermaid>a</code><code class=language-mermaid>b</code></pre>", "<pre><pre><img src=a>x</pre></pre>",
		"x[^1]\n\n[^1]: [^1]\n", "<table><td><table>", "<input type=checkbox checked><input>", "```html\n<a b='c'>\n", "~~~php\n<?php $a = <<<X\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if !utf8.ValidString(body) || strings.ContainsAny(body, "\r\x00") {
			t.Skip("Load gives no such body")
		}
		a := &article.Article{Body: body, Images: []article.Image{{Ref: "a"}, {Ref: "pic.png"}}}
		if text, _, err := PlainText(a, PlainOptions{}); err == nil && text != Clean(text) {
			t.Fatalf("plain text %q is not clean", text)
		}
		out, err := WeChat(a, WeChatOptions{External: draw})
		if err != nil {
			return
		}
		if out.HTML != Clean(out.HTML) {
			t.Fatalf("%q is not clean", out.HTML)
		}
		if bad := refused(t, out.HTML); bad != nil {
			t.Fatalf("HTML has %q: %s", bad, out.HTML)
		}
	})
}
