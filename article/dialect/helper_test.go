package dialect

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"pgregory.net/rapid"

	"herald/article"
)

var update = flag.Bool("update", false, "write the golden files anew")

// rich is the article that shows everything.
func rich(t testing.TB) *article.Article {
	t.Helper()
	a, err := article.Load("testdata/rich.md", article.Options{Root: "testdata"})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, file, got, string(want))
}

func wantEqual(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// weChat renders Markdown.
func weChat(t testing.TB, body string, o WeChatOptions) WeChatHTML {
	t.Helper()
	out, err := WeChat(&article.Article{Body: body}, o)
	if err != nil {
		t.Fatalf("WeChat(%q): %v", body, err)
	}
	return out
}

// bare takes the style attributes out of HTML, which are the theme's.
func bare(t testing.TB, source string) string {
	t.Helper()
	root := parsed(t, source)
	for n := range root.Descendants() {
		n.Attr = without(n.Attr, "style")
	}
	var b strings.Builder
	for c := range root.ChildNodes() {
		if err := html.Render(&b, c); err != nil {
			t.Fatal(err)
		}
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), "<section>"), "</section>")
}

// without returns attributes but for those of a name.
func without(attrs []html.Attribute, name string) []html.Attribute {
	var kept []html.Attribute
	for _, a := range attrs {
		if a.Key != name {
			kept = append(kept, a)
		}
	}
	return kept
}

func parsed(t rapid.TB, source string) *html.Node {
	t.Helper()
	root := element("body", "")
	nodes, err := html.ParseFragment(strings.NewReader(source), &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		root.AppendChild(n)
	}
	return root
}

// draw stands for an external command that draws Mermaid and no formula that has
// a fraction.
func draw(kind, source string) (article.Image, error) {
	if strings.Contains(source, `\frac`) {
		return article.Image{}, errors.New("command: exit status 1")
	}
	return article.Image{Ref: kind + ".png", Name: kind + ".png", Path: "/tmp/" + kind + ".png", Alt: source}, nil
}

func atExample(im article.Image) string { return "https://mmbiz.qpic.cn/" + im.Name }
