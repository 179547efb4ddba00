package dialect

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"

	"herald/article"
)

// blocks are the five code blocks of the article that is measured.
var blocks = []string{
	"```go\nfunc Run(ctx context.Context, n int) error {\n\tfor i := range n {\n\t\tif err := publish(ctx, i); err != nil {\n" +
		"\t\t\treturn fmt.Errorf(\"第 %d 次: %w\", i, err)\n\t\t}\n\t}\n\treturn nil\n}\n```\n",
	"```yaml\ntargets:\n  - name: wechat\n    type: wechat\n    mode: draft # 草稿\n  - name: blog\n    type: site\n    dir: ./site\n```\n",
	"```bash\n#!/bin/sh\nset -e\nfor i in 1 2 3; do\n  herald status --json | grep -q success && exit 0\ndone\n```\n",
	"```python\ndef retry(call, times=3):\n    for i in range(times):\n        try:\n            return call()\n" +
		"        except OSError as e:\n            print(f\"第 {i} 次: {e}\")\n```\n",
	"```json\n{\"articles\": [{\"id\": \"error-handling\", \"state\": \"partial_success\", \"degraded\": false}]}\n```\n",
}

// long returns an article of 3,000 Chinese characters with five code blocks.
func long() *article.Article {
	var b strings.Builder
	for i, block := range blocks {
		fmt.Fprintf(&b, "## 小标题 %d\n\n", i)
		for range 6 {
			b.WriteString(strings.Repeat("错误处理是系统韧性的设计，**“失败”**有其含义，重试要有节制，", 4) + "见[文档](https://example.com/a)。\n\n")
		}
		b.WriteString("- 先看 `state`\n- 再看 `due`\n\n" + block + "\n")
	}
	return &article.Article{Title: "错误处理", Body: b.String()}
}

func TestMeasuredArticleHasItsSize(t *testing.T) {
	characters := 0
	for _, r := range long().Body {
		if unicode.Is(unicode.Han, r) {
			characters++
		}
	}
	if characters < 3000 || characters > 3300 {
		t.Errorf("%d Chinese characters, want 3,000", characters)
	}
}

// BenchmarkWeChat renders the article again and again. It may take ten times what
// BenchmarkGoldmark takes.
func BenchmarkWeChat(b *testing.B) {
	a := long()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := WeChat(a, WeChatOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWeChatFirstTime renders the article with code that was never seen
// before. It may take ten times what BenchmarkGoldmark takes, too.
func BenchmarkWeChatFirstTime(b *testing.B) {
	a := long()
	body, round := a.Body, 0
	b.ReportAllocs()
	for b.Loop() {
		round++
		a.Body = strings.ReplaceAll(body, "\n```\n", fmt.Sprintf(" %d\n```\n", round))
		if _, err := WeChat(a, WeChatOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGoldmark converts the same text as CommonMark to HTML and no more.
func BenchmarkGoldmark(b *testing.B) {
	source := []byte(long().Body)
	md := goldmark.New()
	b.ReportAllocs()
	for b.Loop() {
		var out bytes.Buffer
		if err := md.Convert(source, &out); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewTheme(b *testing.B) {
	for b.Loop() {
		if _, err := NewTheme(DefaultTheme, ""); err != nil {
			b.Fatal(err)
		}
	}
}
