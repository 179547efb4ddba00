package dialect

import (
	"strings"
	"testing"

	"herald/article"
)

func plain(t testing.TB, body string, o PlainOptions) string {
	t.Helper()
	text, _, err := PlainText(&article.Article{Body: body}, o)
	if err != nil {
		t.Fatalf("PlainText(%q): %v", body, err)
	}
	return text
}

func TestRichArticleRendersAsPlainText(t *testing.T) {
	text, warnings, err := PlainText(rich(t), PlainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "rich.txt", text+"\n")
	if len(warnings) != 1 || !strings.Contains(warnings[0], "<iframe>") {
		t.Errorf("warnings %q, want one about the <iframe>", warnings)
	}
}

func TestPlainTextKeepsLinesAndLosesMarkUp(t *testing.T) { // B44
	for body, want := range map[string]string{
		"一\n\n二\n\n三":                                      "一\n\n二\n\n三",
		"- a\n- b\n  - c\n\n3. d\n4. e":                    "• a\n• b\n  • c\n\n3. d\n4. e",
		"- [x] a\n- [ ] b":                                 "• ☑ a\n• ☐ b",
		"**a** *b* ~~c~~ `d`":                              "a b c d",
		"[文字](https://e.com/?a=1&b)":                       "文字（https://e.com/?a=1&b）",
		"https://e.com/路径 <x@e.com>":                       "https://e.com/路径 x@e.com",
		"[写信](mailto:x@e.com)":                             "写信（x@e.com）",
		"[章](#x) ![图](a.png) [![图](a.png)](#y)":            "章",
		"| a | b |\n|---|---|\n| 1 | [2](https://e.com) |": "a | b\n1 | 2（https://e.com）",
		"```go\nfunc f() {\n\n\treturn\n}\n```":            "func f() {\n\n\treturn\n}",
		"a\\*\\*b":                                         "a**b",
		"$a_1*b*c$":                                        "$a_1*b*c$",
		"> [!TIP]\n> 正文":                                   "提示\n\n正文",
		"a<br>b  \nc":                                      "a\nb\nc",
		"x[^1]\n\n[^1]: note":                              "x[1]\n\n1. note",
	} {
		wantEqual(t, body, plain(t, body, PlainOptions{}), want)
	}
	text, warnings, err := PlainText(&article.Article{Body: "[a](b)", CanonicalURL: "https://e.com/x/"}, PlainOptions{})
	if text != "a（https://e.com/x/b）" || warnings != nil || err != nil {
		t.Errorf("relative link: %q, %q, %v", text, warnings, err)
	}
	wantEqual(t, "no addresses", plain(t, "[文字](https://e.com/) https://e.com/", PlainOptions{NoAddresses: true}), "文字 https://e.com/")
}
