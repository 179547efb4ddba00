package git

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"herald/article"
	"herald/platforms"
	"herald/platforms/platformtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestPagesOfEachFlavor(t *testing.T) {
	for flavor := range flavors {
		t.Run(flavor, func(t *testing.T) {
			s := open(t, Config{Repo: "/x", Flavor: flavor, SiteURL: "https://example.com/blog/"})
			a := *platformtest.Samples(t).One
			a.Title = `"错误": yes # no`
			a.CanonicalURL = "https://example.org/errors"
			a.Date = time.Date(2024, 4, 18, 18, 50, 16, 0, china)
			a.Body += "\n{{< figure >}} {{ page.title }}\n"
			p, err := s.Render(&a)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.flavor.page(s.cfg, p, p.Date)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", flavor+".md")
			if *update {
				write(t, golden, string(got))
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("page (-golden +got):\n%s", diff)
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	date := time.Date(2024, 4, 8, 1, 2, 3, 0, china)
	tests := []struct {
		name   string
		cfg    Config
		page   string
		images string
		link   string // of an image
		url    string
	}{
		{"hugo, a bundle", Config{}, "content/posts/Go-模板/index.md", "content/posts/Go-模板", "", "/posts/go-%E6%A8%A1%E6%9D%BF/"},
		{"hugo, images elsewhere", Config{Images: "static/img"}, "content/posts/Go-模板.md", "static/img/Go-模板", "/blog/img/Go-模板/", "/posts/go-%E6%A8%A1%E6%9D%BF/"},
		{"hugo, other section", Config{ContentDir: "content/zh/notes/"}, "content/zh/notes/Go-模板/index.md", "content/zh/notes/Go-模板", "", "/zh/notes/go-%E6%A8%A1%E6%9D%BF/"},
		{"hexo", Config{Flavor: hexo}, "source/_posts/Go-模板.md", "source/images/Go-模板", "/images/Go-模板/", "/2024/04/08/Go-%E6%A8%A1%E6%9D%BF/"},
		{"jekyll", Config{Flavor: jekyll}, "_posts/2024-04-08-Go-模板.md", "assets/images/Go-模板", "/blog/assets/images/Go-模板/", "/2024/04/08/Go-%E6%A8%A1%E6%9D%BF.html"},
		{"an own address", Config{Flavor: jekyll, Permalink: "/:year/:slug"}, "_posts/2024-04-08-Go-模板.md", "assets/images/Go-模板", "/blog/assets/images/Go-模板/", "/2024/Go-%E6%A8%A1%E6%9D%BF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Repo, tt.cfg.SiteURL = "/x", "https://example.com/blog"
			s := open(t, tt.cfg)
			at := s.flavor.newPlace(s.cfg, "Go-模板", date)
			if at.page != tt.page || at.images != tt.images {
				t.Errorf("page %q, images %q; want %q, %q", at.page, at.images, tt.page, tt.images)
			}
			if got := s.flavor.imageLink(s.cfg, "Go-模板"); got != tt.link {
				t.Errorf("an image's link begins with %q, want %q", got, tt.link)
			}
			if got, want := at.link(s.cfg, date), "https://example.com/blog"+tt.url; got != want {
				t.Errorf("address %q, want %q", got, want)
			}
			again, err := s.flavor.placeOf(s.cfg, at.page)
			if err != nil || again != at {
				t.Errorf("from the page's name: %+v, %v; want %+v", again, err, at)
			}
		})
	}
}

func TestASiteWithoutAnAddressGivesNone(t *testing.T) {
	s := open(t, newRemote(t).config(hugo))
	s.cfg.SiteURL = ""
	if r := s.mustPublish(s.post("hello", "Hello", "text")); r.URL != "" {
		t.Errorf("address %q", r.URL)
	}
}

func TestShortcodesAreShownAsText(t *testing.T) {
	const gap = "\u200b"
	tests := []struct{ body, want string }{
		{"no { {x} {{x}}", "no { {x} {{x}}"},
		{`{{< figure src="x" >}}`, `{{</* figure src="x" */>}}`},
		{"{{% note\nx %}}", "{{%/* note\nx */%}}"},
		{"{{< a >}}{{% b %}}{{< /a >}}", "{{</* a */>}}{{%/* b */%}}{{</* /a */>}}"},
		{"{{</* done */>}}", "{{</* done */>}}"},
		{"{{< open", "{{" + gap + "< open"},
		{"{{% open %} {{< x >}}", "{{" + gap + "% open %} {{</* x */>}}"},
		{"{{< a */ b >}}", "{{" + gap + "< a */ b >}}"},
		{"{{<>}}", "{{</**/>}}"},
	}
	for _, tt := range tests {
		if got := escapeHugo(tt.body); got != tt.want {
			t.Errorf("%q is written %q, want %q", tt.body, got, tt.want)
		}
	}
}

func TestLiquidIsShownAsText(t *testing.T) {
	tests := []struct{ body, want string }{
		{"plain {x}\n", "plain {x}\n"},
		{"{{ x }}\n", "{% raw %}\n{{ x }}\n{% endraw %}\n"},
		{"{%- endraw -%}\n", "{% raw %}\n{% endraw %}{{ \"{\" }}%- endraw -%}{% raw %}\n{% endraw %}\n"},
	}
	for _, tt := range tests {
		if got := escapeJekyll(tt.body); got != tt.want {
			t.Errorf("%q is written %q, want %q", tt.body, got, tt.want)
		}
	}
}

func TestJekyllGetsAnExcerptWhenItsOwnWouldBreak(t *testing.T) {
	s := open(t, Config{Repo: "/x", Flavor: jekyll})
	for body, want := range map[string]string{"First {{ x }}\n\nSecond": "First {{ x }} Second", "First\n\nSecond": ""} {
		if p := s.post("hello", "Hello", body); p.Summary != want {
			t.Errorf("%q has the summary %q, want %q", body, p.Summary, want)
		}
	}
}

func TestRenderRefuses(t *testing.T) {
	s := open(t, Config{Repo: "/x"})
	large := article.Image{Ref: "large.png", Path: "/large.png", Size: maxFile + 1}
	for name, a := range map[string]*article.Article{
		"large.png": {ID: "x", Cover: &large},
		"at most":   {ID: "x", Body: strings.Repeat("x", maxFile)},
		"_index":    {ID: "_index"},
		".git":      {ID: ".git"},
		"../x":      {ID: "../x"},
	} {
		_, err := s.Render(a)
		if platforms.KindOf(err) != platforms.Rejected || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want Rejected", name, err)
		}
	}
}

func TestValidateNamesEachKey(t *testing.T) {
	tests := []struct {
		cfg  Config
		want []string // keys; empty: no fault
	}{
		{Config{Repo: "https://example.com/x.git", Token: "t"}, nil},
		{Config{Repo: "ssh://git@example.com/x.git", Branch: "feature/主"}, nil},
		{Config{Repo: "git@example.com:x.git"}, nil},
		{Config{Repo: "../site.git"}, nil},
		{Config{}, []string{"repo"}},
		{Config{Repo: "ext::sh -c true"}, []string{"repo"}},
		{Config{Repo: "--upload-pack=x"}, []string{"repo"}},
		{Config{Repo: "ftp://example.com/x"}, []string{"repo"}},
		{Config{Repo: "https://ghp_token@example.com/x"}, []string{"repo"}},
		{Config{Repo: "ssh://git:pw@example.com/x"}, []string{"repo"}},
		{Config{Repo: "https://ex ample.com/%zz"}, []string{"repo"}},
		{Config{Repo: "git@example.com:x.git", Token: "t"}, []string{"token"}},
		{
			Config{Repo: "x", Branch: "-f", Flavor: "wordpress", ContentDir: "/abs", Images: ".git/x", AuthorName: "<a>", AuthorEmail: "a\nb", SiteURL: "example.com", Permalink: "x"},
			[]string{"branch", "flavor", "content_dir", "images", "author_name", "author_email", "site_url", "permalink"},
		},
	}
	for _, tt := range tests {
		err := tt.cfg.Validate()
		var got []string
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				key, _, _ := strings.Cut(line, ":")
				got = append(got, key)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v: faulty keys (-want +got):\n%s%v", tt.cfg, diff, err)
		}
		if err != nil && (strings.Contains(err.Error(), "ghp_token") || strings.Contains(err.Error(), "pw")) {
			t.Errorf("a secret is in %q", err)
		}
	}
}

func TestBranchNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"": true, "main": true, "a/b": true, "gh-pages": true, "主": true,
		"-a": false, "a b": false, "a..b": false, "a~b": false, "a^": false, "a:b": false, "a?": false, "a*": false, "a[": false,
		"/a": false, "a/": false, "a//b": false, "a.": false, "a.lock": false, "@": false, "a@{b": false, ".a": false, "a/.b": false, "a\tb": false, `a\b`: false,
	} {
		if err := checkBranch(name); (err == nil) != ok {
			t.Errorf("%q: %v, want valid: %v", name, err, ok)
		}
	}
}
