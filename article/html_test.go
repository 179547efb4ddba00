package article

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// full is the article that shows everything.
func full(t testing.TB) *Article {
	t.Helper()
	text, err := os.ReadFile("testdata/full.md")
	if err != nil {
		t.Fatal(err)
	}
	root := tree(t, map[string]string{"full.md": string(text), "pic.png": picture(t, 1)})
	return mustLoad(t, filepath.Join(root, "full.md"), Options{Root: root})
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

func inFolder(im Image) string {
	if im.URL != "" {
		return im.URL
	}
	return "/img/" + im.Name
}

func TestArticleRendersAsHTML(t *testing.T) {
	got, err := full(t).HTML(HTMLOptions{Image: inFolder})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "full.html", got)
}

func TestArticleRendersAsMarkdownWithNewDestinations(t *testing.T) {
	golden(t, "full.out.md", full(t).Markdown(inFolder))
}

func TestArticleRendersAsText(t *testing.T) { // B58
	golden(t, "full.txt", full(t).Text())
}

func TestMarkdownIsRewrittenWhereImagesAreNamedAndNowhereElse(t *testing.T) {
	for body, want := range map[string]string{
		"![a](x.png)":                                        "![a](NEW)",
		"![a]( <x.png> \"t\" )":                              "![a]( <NEW> \"t\" )",
		"![a](\nx.png\n't')":                                 "![a](\nNEW\n't')",
		"> ![a](\n> x.png)":                                  "> ![a](\n> NEW)",
		"![x.png](x.png) x.png [x.png](x.png)":               "![x.png](NEW) x.png [x.png](x.png)",
		"![a][l] [a][l]\n\n[l]: x.png":                       "![a](NEW) [a][l]\n\n[l]: x.png",
		"![l][] ![l]\n\n[l]: <x.png> 't\"t'":                 "![l](NEW 't\"t') ![l](NEW 't\"t')\n\n[l]: <x.png> 't\"t'",
		"![l]\n\n[l]: x.png (\"a' b)":                        "![l](NEW (\"a' b))\n\n[l]: x.png (\"a' b)",
		"![[x.png]]![[x.png|a]b]]":                           "![](NEW)![[x.png|a]b]]",
		"![[x.png|a_b]]":                                     "![a_b](NEW)",
		"![[x.png]](x.png)":                                  "![[x.png]](NEW)",
		"`![](x.png)`":                                       "`![](x.png)`",
		"![![](x.png)](x.png)":                               "![![](NEW)](NEW)",
		"[![](x.png)](x.png)":                                "[![](NEW)](x.png)",
		"a <img src=x.png> <img src='x.png'/>":               "a <img src=\"NEW\"> <img src=\"NEW\"/>",
		"<!-- <img src=x.png> -->":                           "<!-- <img src=x.png> -->",
		"<pre>\n<IMG alt='src=x.png' SRC=\"x.png\">\n</pre>": "<pre>\n<IMG alt='src=x.png' SRC=\"NEW\">\n</pre>",
		"<script>\n'<img src=x.png>'\n</script>":             "<script>\n'<img src=x.png>'\n</script>",
		"- a\n\n\t![](x.png)\n":                              "- a\n\n\t![](NEW)\n",
		"| a |\n|-|\n| ![](x.png) |":                         "| a |\n|-|\n| ![](NEW) |",
		"![](y.png)":                                         "![](y.png)",
		"\\![](x.png)":                                       "\\![](x.png)",
	} {
		a := &Article{Body: body, Images: []Image{{Ref: "x.png"}}}
		wantEqual(t, body, a.Markdown(func(Image) string { return "NEW" }), want)
		if !strings.Contains(body, "![[") {
			wantEqual(t, body, a.Markdown(nil), body)
		}
	}
	a := &Article{Body: "![](a) <img src=a> ![[a|b`]]", Images: []Image{{Ref: "a"}}}
	wantEqual(t, "awkward destinations", a.Markdown(func(Image) string { return "图 (1)|<\"&'>.png" }),
		"![](图%20%281%29%7C%3C%22&'%3E.png) <img src=\"图 (1)|&lt;&#34;&amp;&#39;&gt;.png\"> ![b\\`](图%20%281%29%7C%3C%22&'%3E.png)")
}

func TestEmphasisWorksBesideChinesePunctuation(t *testing.T) {
	for body, want := range map[string]string{
		"**“注意”**请":        "<strong>“注意”</strong>请",
		"请**（注意）**请":       "请<strong>（注意）</strong>请",
		"请*“注意”*，":         "请<em>“注意”</em>，",
		"中**`a`**中":        "中<strong><code>a</code></strong>中",
		"~~（旧）~~新":         "<del>（旧）</del>新",
		"中** 不是 **中":       "中** 不是 **中",
		"中　**是**　中":        "中　<strong>是</strong>　中",
		"a**\"b\"**c":      `a**&quot;b&quot;**c`,
		"snake_case_名_x":   "snake_case_名_x",
		"5 * 3 * 2，2*3*4是": "5 * 3 * 2，2<em>3</em>4是",
	} {
		got, err := (&Article{Body: body}).HTML(HTMLOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, body, got, "<p>"+want+"</p>\n")
	}
}

func TestHeadingsHaveIDsInTheirScript(t *testing.T) {
	got, err := (&Article{Body: "## 标题 A\n\n## 标题 A\n\n## 标题-a-2\n\n## 🚀\n"}).HTML(HTMLOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{`"标题-a"`, `"标题-a-2"`, `"标题-a-2-2"`, `"article-`} {
		if strings.Count(got, "id="+id) != 1 {
			t.Errorf("no single id %s in\n%s", id, got)
		}
	}
}

func TestHighlightCSSHasBothModesInTheirOwnQuery(t *testing.T) {
	css, err := HighlightCSS("github", "github-dark")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, ok := strings.Cut(css, "@media (prefers-color-scheme: dark) {\n")
	if !ok || !strings.HasPrefix(light, "@media (prefers-color-scheme: light) {\n") {
		t.Fatalf("no two media queries in\n%s", css)
	}
	for _, part := range []string{light, dark} {
		if !strings.Contains(part, ".chroma .k") || strings.Count(part, "{") != strings.Count(part, "}")+strings.Count(light, "@media")-1 && part == light {
			t.Errorf("no complete style in\n%s", part)
		}
	}
	for _, styles := range [][2]string{{"github", "no-such"}, {"no-such", "github"}} {
		if _, err := HighlightCSS(styles[0], styles[1]); err == nil || !strings.Contains(err.Error(), `"no-such"`) {
			t.Errorf("HighlightCSS%q: %v, want an error that names the style", styles, err)
		}
	}
}
