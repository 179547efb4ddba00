package article

import (
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkLoadAndHTML reads and renders a Chinese article of 3,000 characters
// with code, a table and an image.
func BenchmarkLoadAndHTML(b *testing.B) {
	text := "---\ntitle: 错误处理是系统韧性的设计\ntags: [go, 架构]\n---\n\n" +
		strings.Repeat("错误处理是系统韧性的设计，**“失败”**有其含义，重试要有节制。\n", 90) +
		"\n![图](a.png)\n\n| 名 | 值 |\n|---|---|\n| a | b |\n\n```go\nfunc main() {\n\treturn\n}\n```\n"
	root := tree(b, map[string]string{"a.md": text, "a.png": picture(b, 1)})
	path := filepath.Join(root, "a.md")
	b.ReportAllocs()
	for b.Loop() {
		a := mustLoad(b, path, Options{Root: root})
		if _, err := a.HTML(HTMLOptions{Image: inFolder}); err != nil {
			b.Fatal(err)
		}
	}
}
