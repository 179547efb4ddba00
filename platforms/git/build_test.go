package git

import (
	"html"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"herald/platforms/platformtest"
)

// nasty is text that each generator would take for its own language.
const nasty = "---\ntitle: \"模板: 'a' & <b>\"\nid: 模板-Go\ntags: [go, 架构]\nsummary: 讲模板\n" +
	"cover: figure.png\ndate: 2024-04-18 00:30\ncanonical_url: https://example.org/x\n---\n\n" +
	"First `{{< figure src=\"x\" >}}` and `{{% note %}}` and `{{ site.title }}`.\n\n" +
	"```text\n{% raw %}{{ x }}{%- endraw -%}\n{% endraw %} {# no comment #} {{< /* odd */ x >}}\n{{</* escaped */>}}\n```\n\n" +
	"![示意图](figure.png)\n"

// shown is what a reader must find on the page.
var shown = []string{
	`{{< figure src="x" >}}`, `{{% note %}}`, `{{ site.title }}`, `{% raw %}{{ x }}{%- endraw -%}`,
	`{% endraw %} {# no comment #} `, "模板: 'a' & <b>",
}

// built publishes the nasty article into a site with the given files, builds it
// and returns the folder of the result.
func built(t *testing.T, flavor string, files map[string]string, command ...string) (address, out string) {
	t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Skipf("%s is not installed", command[0])
	}
	r := newRemote(t)
	for name, content := range files {
		r.commit(name, content, name)
	}
	dir := filepath.Join(t.TempDir(), "article")
	write(t, filepath.Join(dir, "index.md"), nasty)
	picture, err := os.ReadFile(platformtest.Samples(t).One.Images[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "figure.png"), string(picture))
	s := open(t, r.config(flavor))
	p, err := s.Render(platformtest.Load(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	p.Key, p.Revision = testKey, 1
	address = s.mustPublish(p).URL

	work := filepath.Join(t.TempDir(), "work")
	run(t, "", "clone", "--quiet", r.dir, work)
	out = filepath.Join(t.TempDir(), "public")
	cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], out)...)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "TZ=America/New_York", "LANG=C.UTF-8") // not the article's zone
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command[0], err, text)
	}
	return strings.TrimPrefix(address, "https://example.com/blog/"), out
}

// lookAt reads the page at its address and fails unless it shows all of it, and
// its picture is there.
func lookAt(t *testing.T, out, address string) string {
	t.Helper()
	unescaped, err := url.PathUnescape(address)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(out, unescaped)
	if strings.HasSuffix(address, "/") {
		file = filepath.Join(file, "index.html")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("the receipt's address: %v\n%s", err, tree(out))
	}
	page := html.UnescapeString(string(text))
	for _, want := range shown {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not show %q:\n%s", want, page)
		}
	}
	src := regexp.MustCompile(`<img[^>]* src="([^"]+)"`).FindStringSubmatch(page)
	if src == nil {
		t.Fatalf("no picture:\n%s", page)
	}
	source, err := url.PathUnescape(src[1])
	if err != nil {
		t.Fatal(err)
	}
	picture := filepath.Join(filepath.Dir(file), source)
	if rest, ok := strings.CutPrefix(source, "/blog/"); ok {
		picture = filepath.Join(out, rest)
	}
	if _, err := os.Stat(picture); err != nil {
		t.Errorf("picture: %v\n%s", err, tree(out))
	}
	return page
}

func tree(dir string) string {
	var names []string
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error { // for a message only
		names = append(names, path)
		return err
	})
	return strings.Join(names, "\n")
}

func TestHugoBuildsThePage(t *testing.T) {
	const single = "<title>{{ .Title }}</title>{{ .Date.Format \"2006-01-02T15:04:05-07:00\" }}\n{{ .Summary }}|{{ .Description }}|" +
		"{{ range .Params.tags }}{{ . }},{{ end }}|{{ .Params.params.canonicalURL }}|{{ .Params.params.cover }}|{{ index .Params.images 0 }}\n{{ .Content }}"
	address, out := built(t, hugo, map[string]string{
		"config.toml":                  "baseURL = \"https://example.com/blog/\"\n",
		"layouts/_default/single.html": single,
		"layouts/_default/list.html":   "{{ range .Pages }}{{ .Permalink }}{{ end }}",
	}, "hugo", "--quiet", "--destination")
	page := lookAt(t, out, address)
	for _, want := range []string{"2024-04-18T00:30:00+08:00", "讲模板|讲模板|go,架构,|https://example.org/x|figure-", "{{< escaped >}}", "< /* odd */ x >}}"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
}

func TestJekyllBuildsThePage(t *testing.T) {
	const post = "<title>{{ page.title | escape }}</title>{{ page.excerpt }}|{{ page.tags | join: ',' }}|{{ page.canonical_url }}|{{ page.image }}\n{{ content }}"
	address, out := built(t, jekyll, map[string]string{
		"_config.yml":        "baseurl: /blog\ntimezone: Asia/Shanghai\nmarkdown: kramdown\nkramdown: {input: GFM}\n",
		"_layouts/post.html": post,
	}, "jekyll", "build", "--quiet", "--destination")
	page := lookAt(t, out, address)
	for _, want := range []string{"讲模板|go,架构|https://example.org/x|/blog/assets/images/", "{{</* escaped */>}}"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
}

func TestHexoBuildsThePage(t *testing.T) {
	const layout = "<title><%= page.title %></title><%- page.excerpt %>|<%= page.tags.map(t => t.name).join(',') %>|<%= page.canonical_url %>|<%= page.cover %>\n<%- page.content %>"
	modules := os.Getenv("HERALD_TEST_HEXO") // a node_modules folder with hexo, hexo-renderer-ejs and hexo-renderer-marked
	if modules == "" {
		t.Skip("HERALD_TEST_HEXO names no node_modules folder with hexo")
	}
	address, out := built(t, hexo, map[string]string{
		"_config.yml":               "url: https://example.com/blog\nroot: /blog/\ntheme: t\ntimezone: Asia/Shanghai\npermalink: :year/:month/:day/:title/\n",
		"package.json":              `{"name":"site","private":true,"hexo":{"version":"8"},"dependencies":{"hexo":"*","hexo-renderer-ejs":"*","hexo-renderer-marked":"*"}}`,
		"themes/t/layout/post.ejs":  layout,
		"themes/t/layout/index.ejs": "index",
	}, "sh", "-ec", `ln -s `+modules+` node_modules; TZ=Asia/Shanghai node_modules/.bin/hexo generate; mv public "$0"`)
	page := lookAt(t, out, address)
	for _, want := range []string{"讲模板|", "|https://example.org/x|/images/", "{{</* escaped */>}}"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
}
