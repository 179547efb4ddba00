package wechat

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"herald/article"
	"herald/platforms"
	"herald/platforms/platformtest"
	"herald/platforms/wechat/wechattest"
)

// withPicture is an article whose front matter ends in front.
func withPicture(t testing.TB, front, body string) *article.Article {
	t.Helper()
	return write(t, "---\n"+front+"\n---\n"+body+"\n\n![图](a.png)\n", map[string][]byte{"a.png": pngOf(t, 8, 8)})
}

func TestLimitsAreCountedInCharacters(t *testing.T) { // B52
	han := func(n int) string { return strings.Repeat("汉", n-1) + "🚀" }
	tests := []struct {
		name, title, digest, author string
		kind                        platforms.Kind
		warnings                    int
	}{
		{"a title of 32", han(32), "", "", "", 0},
		{"a title of 33", han(33), "", "", "", 1},
		{"a title of 64", han(64), "", "", "", 1},
		{"a title of 65", han(65), "", "", platforms.Rejected, 0},
		{"a digest of 120", "题", han(120), "", "", 0},
		{"a digest of 128", "题", han(128), "", "", 1},
		{"a digest of 129", "题", han(129), "", "", 1},
		{"an author of 16", "题", "", han(16), "", 0},
		{"an author of 17", "题", "", han(17), "", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := wechattest.New(wechattest.Options{})
			c := open(t, s)
			a := withPicture(t, "title: "+tt.title+"\nsummary: "+tt.digest+"\nauthor: "+tt.author, "文")
			p, err := c.Render(a)
			if tt.kind != "" {
				if e := failureOf(t, err, tt.kind); !strings.Contains(e.Message, "65") || !strings.Contains(e.Message, "64") {
					t.Errorf("error %v does not name the limit", e)
				}
				return
			}
			if err != nil || len(p.Warnings) != tt.warnings {
				t.Fatalf("warnings %q (%v), want %d", p.Warnings, err, tt.warnings)
			}
			if n := utf8.RuneCountInString(p.Summary); n > maxDigest || !utf8.ValidString(p.Summary) {
				t.Errorf("digest %q of %d characters", p.Summary, n)
			}
			mustPublish(t, c, p, platformtest.NewMemo())
		})
	}
}

func TestAnEmptyArticleIsRefused(t *testing.T) { // B54
	c := open(t, wechattest.New(wechattest.Options{}), func(c *Config) { c.Cover = "cover.png" })
	for _, body := range []string{"", "<!-- later -->\n", "\n  \n"} {
		a := &article.Article{ID: "a", Title: "标题", Body: body}
		_, err := c.Render(a)
		failureOf(t, err, platforms.Rejected)
	}
}

func TestTheCoverIsWhatTheArticleOrTheConfigurationSays(t *testing.T) { // B57
	inBody, own := pngOf(t, 8, 8), pngOf(t, 9, 9)
	remote := pngOf(t, 10, 10)
	tests := []struct {
		name, front, body string
		configured        bool
		size              int // of the cover on the platform; 0: refused
	}{
		{"a local one", "cover: own.png", "文 ![](a.png)", false, len(own)},
		{"a remote one", "cover: http://pics.example.com/c.png?key=1", "文 ![](a.png)", false, len(remote)},
		{"the first picture", "", "文 ![](a.png) ![](own.png)", true, len(inBody)},
		{"the configured one", "", "文", true, len(own)},
		{"none", "", "文", false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := wechattest.New(wechattest.Options{Secret: testSecret})
			network := roundTrip(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host != "pics.example.com" {
					return s.Transport().RoundTrip(r)
				}
				rec := httptest.NewRecorder()
				_, _ = rec.Write(remote)
				resp := rec.Result()
				resp.Request = r
				return resp, nil
			})
			cfg := testConfig(modeDraft)
			env := testEnv(t, network)
			if tt.configured {
				cfg.Cover = "own.png"
				if err := os.WriteFile(filepath.Join(env.Base, "own.png"), own, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c, err := New(cfg, env)
			if err != nil {
				t.Fatal(err)
			}
			a := write(t, "---\ntitle: 标题\n"+tt.front+"\n---\n"+tt.body+"\n", map[string][]byte{"a.png": inBody, "own.png": own})
			p, err := c.Render(a)
			if tt.size == 0 {
				if e := failureOf(t, err, platforms.Rejected); !strings.Contains(e.Message, "cover") {
					t.Errorf("error = %v", e)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			mustPublish(t, c, p, platformtest.NewMemo())
			if m := s.Material(); len(m) != 1 || m[0].Size != tt.size || s.Drafts()[0].Articles[0].ThumbMediaID != m[0].MediaID {
				t.Errorf("material %+v, want one of %d bytes as the cover", m, tt.size)
			}
		})
	}
}

func TestAPictureOfAnotherHostIsUploaded(t *testing.T) {
	s := wechattest.New(wechattest.Options{Secret: testSecret})
	status := http.StatusOK
	var referer atomic.Value
	network := roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Host != "img.example.com" {
			return s.Transport().RoundTrip(r)
		}
		referer.Store(r.Header.Get("Referer"))
		rec := httptest.NewRecorder()
		rec.WriteHeader(status)
		_, _ = rec.Write(pngOf(t, 8, 8))
		resp := rec.Result()
		resp.Request = r
		return resp, nil
	})
	cfg := testConfig(modeDraft)
	cfg.ImageReferers = []string{"example.com=https://example.com/blog"}
	c, err := New(cfg, testEnv(t, network))
	if err != nil {
		t.Fatal(err)
	}
	p := render(t, c, write(t, "# 标题\n\n文 ![](https://img.example.com/a.png?a=1&b=2)\n", nil))
	status = http.StatusNotFound
	_, err = c.Publish(t.Context(), p, platformtest.NewMemo())
	if e := failureOf(t, err, platforms.Rejected); !strings.Contains(e.Message, "img.example.com/a.png") || strings.Contains(e.Message, "a=1") {
		t.Errorf("error = %v, want the address without its query", e)
	}
	status = http.StatusOK
	mustPublish(t, c, p, platformtest.NewMemo())
	if got := s.Drafts()[0].Articles[0].Content; !strings.Contains(got, s.Images()[0].URL) || strings.Contains(got, "img.example.com") {
		t.Errorf("readers see %s, want the picture on the platform", got)
	}
	if got := referer.Load(); got != "https://example.com/blog" {
		t.Errorf("referer %q", got)
	}
}

func TestWhatWeChatRefusesIsCleanedBeforeItIsSent(t *testing.T) { // B45
	s := wechattest.New(wechattest.Options{})
	c := open(t, s)
	a := withPicture(t, "title: 标题", strings.Join([]string{
		`<iframe src="https://example.com"></iframe>`, `<script>alert(1)</script>`, `<form><input></form>`,
		"- [ ] 待办", "- [x] 完成", "", "[链接](https://example.com)", "", "> [!NOTE]\n> 提示", "",
		`<div class="c" onclick="x()">文</div>`,
	}, "\n"))
	p := render(t, c, a)
	mustPublish(t, c, p, platformtest.NewMemo())
	got := s.Drafts()[0].Articles[0].Content
	for _, gone := range []string{"<iframe", "<script", "<form", "<input", "alert", "class=", "onclick", `href="https://example.com`} {
		if strings.Contains(p.Body, gone) {
			t.Errorf("sent with %q: %s", gone, p.Body)
		}
	}
	for _, there := range []string{"待办", "完成", "链接", "提示", "https://example.com", "文"} {
		if !strings.Contains(got, there) {
			t.Errorf("%q is lost: %s", there, got)
		}
	}
	if len(p.Warnings) == 0 {
		t.Error("no warning says what was left out")
	}
}

func TestAnArticlesOwnSettingsAreChecked(t *testing.T) {
	tests := []struct {
		front string
		says  string // by a refusal; empty: accepted
		want  map[string]string
	}{
		{"{}", "", map[string]string{optMode: modeDraft, optType: typeNews, optComments: "0", optFans: "0"}},
		{"{ mode: publish, need_open_comment: true, only_fans_can_comment: 1 }", "", map[string]string{optMode: modePublish, optType: typeNews, optComments: "1", optFans: "1"}},
		{"{ title: 另一个, digest: 自己的, article_type: newspic }", "", map[string]string{optMode: modeDraft, optType: typeImages, optComments: "0", optFans: "0"}},
		{"{ mode: live }", "mode: live", nil},
		{"{ need_open_comment: maybe }", "true or false", nil},
		{"{ digest: [1] }", "a text", nil},
		{"{ need_open_coment: true }", "did you mean need_open_comment?", nil},
		{"{ colour: red }", "possible are", nil},
	}
	for _, tt := range tests {
		t.Run(tt.front, func(t *testing.T) {
			c := open(t, wechattest.New(wechattest.Options{}))
			p, err := c.Render(withPicture(t, "title: 标题\nwechat: "+tt.front, "文"))
			if tt.says != "" {
				if e := failureOf(t, err, platforms.Rejected); !strings.Contains(e.Message, tt.says) {
					t.Errorf("error = %v, want it to say %q", e, tt.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, p.Options); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
			if strings.Contains(tt.front, "digest") && (p.Title != "另一个" || p.Summary != "自己的") {
				t.Errorf("title %q, digest %q", p.Title, p.Summary)
			}
		})
	}
}

func TestFormulasAreDrawnOnceByACommand(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f.png"), pngOf(t, 8, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`echo "$HERALD_KIND $(cat)" >> %[1]s/log; cat %[1]s/f.png`, dir)
	s := wechattest.New(wechattest.Options{})
	c := open(t, s, func(c *Config) {
		c.MathCommand = []string{"sh", "-c", script}
		c.MermaidCommand = []string{"sh", "-c", "echo no diagram today >&2; exit 1"}
	})
	a := withPicture(t, "title: 标题", "质能 $E=mc^2$。\n\n```mermaid\ngraph TD\n```\n")
	first, second := render(t, c, a), render(t, c, a)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("rendered again it differs:\n%s", diff)
	}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil || string(log) != "math E=mc^2\n" {
		t.Errorf("the command was given %q (%v), want the formula once", log, err)
	}
	if len(first.Images) != 2 || !slices.ContainsFunc(first.Warnings, func(w string) bool { return strings.Contains(w, "no diagram today") }) {
		t.Errorf("images %+v, warnings %q; want the formula's picture and what the other command said", first.Images, first.Warnings)
	}
	mustPublish(t, c, first, platformtest.NewMemo())
	if got := s.Drafts()[0].Articles[0].Content; strings.Count(got, "<img") != 2 || !strings.Contains(got, "graph") {
		t.Errorf("readers see %s, want two pictures and the diagram's source", got)
	}
}

func TestTheOperatorsCSSIsUsed(t *testing.T) {
	c := open(t, wechattest.New(wechattest.Options{}), func(c *Config) { c.CSSFile = "own.css" })
	a := withPicture(t, "title: 标题", "文")
	_, err := c.Render(a)
	failureOf(t, err, platforms.Dependency)
	if err := os.WriteFile(c.cfg.CSSFile, []byte("p { color: #123456 }"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := render(t, c, a); !strings.Contains(p.Body, "#123456") {
		t.Errorf("body %s has not the colour", p.Body)
	}
}

// style is the look of an element, which is the theme's business.
var style = regexp.MustCompile(` style="[^"]*"`)

func TestAnArticleAsItIsSent(t *testing.T) {
	c := open(t, wechattest.New(wechattest.Options{}))
	a := withPicture(t, "title: 错误处理\nauthor: 编辑部\nsummary: 摘要\ncanonical_url: https://example.com/e",
		"第一段，**重点**。\n\n## 小节\n\n1. 一\n2. 二\n\n```go\nif err != nil {\n\treturn err\n}\n```\n\n见[文档](https://example.com/docs)。")
	p := render(t, c, a)
	got := fmt.Sprintf("title: %s\nauthor: %s\ndigest: %s\nsource: %s\noptions: %v\nwarnings: %q\n\n%s\n",
		p.Title, p.Author, p.Summary, p.CanonicalURL, p.Options, p.Warnings, style.ReplaceAllString(p.Body, ""))
	golden := filepath.Join("testdata", "article.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("rendered otherwise (-want +got); look at it, then -update:\n%s", diff)
	}
}
