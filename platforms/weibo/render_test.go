package weibo

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"herald/article"
	"herald/article/dialect"
	"herald/platforms"
	"herald/platforms/platformtest"
)

func open(t *testing.T, change func(*Config)) *Client {
	t.Helper()
	cfg := config()
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg, platforms.Env{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestATextEndsWithALinkOnTheApprovedDomain(t *testing.T) { // B94
	when := time.Date(2026, 6, 7, 0, 0, 0, 0, time.UTC)
	pattern := func(c *Config) { c.LinkPattern = "https://blog.example.com/:year/:month/:day/:slug/" }
	tests := []struct {
		name   string
		change func(*Config)
		a      article.Article
		want   string
		warns  bool
	}{
		{"canonical_url on the domain", nil, article.Article{CanonicalURL: "https://example.com/a?b=1"}, "https://example.com/a?b=1", false},
		{"on one below it", nil, article.Article{CanonicalURL: "http://blog.example.com/a#part"}, "http://blog.example.com/a", false},
		{"on another that ends alike", nil, article.Article{CanonicalURL: "https://notexample.com/a"}, "https://example.com/", true},
		{"none, and no pattern", nil, article.Article{}, "https://example.com/", true},
		{"none, with a pattern", pattern, article.Article{Date: when}, "https://blog.example.com/2026/06/07/%E7%95%A5/", false},
		{"the time of publication for a date", pattern, article.Article{PublishAt: when}, "https://blog.example.com/2026/06/07/%E7%95%A5/", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.a.ID, tt.a.Title, tt.a.Body = "略", "题", "文"
			p, err := open(t, tt.change).Render(&tt.a)
			if err != nil {
				t.Fatal(err)
			}
			if want := "【题】文 " + tt.want; p.Body != want {
				t.Errorf("body %q, want %q", p.Body, want)
			}
			if warns := len(p.Warnings) > 0; warns != tt.warns {
				t.Errorf("warnings %q", p.Warnings)
			}
		})
	}
	if _, err := open(t, pattern).Render(&article.Article{ID: "a", Title: "题"}); platforms.KindOf(err) != platforms.Rejected {
		t.Errorf("a pattern with a date and an article without one: %v, want rejected", err)
	}
}

func TestATextIsCutToTheLimitWhereASentenceEnds(t *testing.T) {
	a := &article.Article{ID: "a", Title: "题", CanonicalURL: "https://example.com/a"}
	a.Summary = strings.Repeat("一二三四五六七八九。", 20)
	for _, limit := range []int{140, 80, 2000} {
		p, err := open(t, func(c *Config) { c.MaxLength = limit }).Render(a)
		if err != nil {
			t.Fatal(err)
		}
		if n := dialect.HalfWidth(p.Body); n > limit || n < limit/2 && limit != 2000 {
			t.Errorf("limit %d: %d characters", limit, n)
		}
		if !strings.HasSuffix(p.Body, "九。 https://example.com/a") {
			t.Errorf("limit %d: %q does not end with a sentence and the link", limit, p.Body)
		}
	}
}

func TestALimitIsCountedAsWeiboCounts(t *testing.T) {
	// Link and space have 22 ASCII characters, 11 of 140.
	c := open(t, nil)
	a := &article.Article{ID: "a", CanonicalURL: "https://example.com/a"}
	for summary, whole := range map[string]bool{
		strings.Repeat("字", 129): true,
		strings.Repeat("字", 130): false,
		strings.Repeat("a", 258): true,
		strings.Repeat("a", 259): false,
	} {
		a.Options = map[string]any{"text": summary}
		p, err := c.Render(a)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.HasPrefix(p.Body, summary+" "); got != whole || (len(p.Warnings) > 0) == whole {
			t.Errorf("%d characters: whole %v, want %v; warnings %q", len([]rune(summary)), got, whole, p.Warnings)
		}
	}
}

func TestATopicOfAnAppIsDefused(t *testing.T) {
	c := open(t, nil)
	for text, want := range map[string]string{
		"学 #Go# 吧":   "【题】学 ＃Go＃ 吧",
		"C# 与 F# 之别": "【题】C＃ 与 F＃ 之别",
		"只有 C#":      "【题】只有 C#",
	} {
		p, err := c.Render(&article.Article{ID: "a", Title: "题", Summary: text, CanonicalURL: "https://example.com/a"})
		if err != nil || p.Body != want+" https://example.com/a" {
			t.Errorf("%q: %q, %v", text, p.Body, err)
		}
	}
}

func TestALinkMakesNoTopicOfATextsMark(t *testing.T) {
	c := open(t, func(c *Config) { c.LinkPattern = "https://example.com/#/:slug" })
	for title, want := range map[string]string{"学 C# 吧": "【学 C＃ 吧】文", "学 Go 吧": "【学 Go 吧】文"} {
		p, err := c.Render(&article.Article{ID: "a", Title: title, Summary: "文"})
		if err != nil || p.Body != want+" https://example.com/#/a" {
			t.Errorf("%q: %q, %v", title, p.Body, err)
		}
		if warned := len(p.Warnings) > 0; warned != strings.Contains(title, "#") {
			t.Errorf("%q: warnings %q", title, p.Warnings)
		}
	}
}

func TestThePictureIsTheCoverElseTheFirst(t *testing.T) {
	c := open(t, nil)
	images := []article.Image{{Ref: "1.png"}, {Ref: "2.png"}}
	tests := []struct {
		name string
		a    article.Article
		want string
	}{
		{"a cover", article.Article{Cover: &article.Image{Ref: "c.png"}, Images: images}, "c.png"},
		{"none", article.Article{Images: images}, "1.png"},
		{"no pictures", article.Article{}, ""},
		{"none wanted", article.Article{Images: images, Options: map[string]any{"picture": false}}, ""},
	}
	for _, tt := range tests {
		tt.a.ID, tt.a.Title, tt.a.CanonicalURL = "a", "题", "https://example.com/"
		p, err := c.Render(&tt.a)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if p.Cover != nil {
			got = p.Cover.Ref
		}
		if got != tt.want {
			t.Errorf("%s: picture %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestAMisspeltOptionIsRefused(t *testing.T) {
	_, err := open(t, nil).Render(&article.Article{ID: "a", Title: "题", Options: map[string]any{"pictrue": false}})
	if platforms.KindOf(err) != platforms.Rejected || !strings.Contains(err.Error(), `did you mean "picture"?`) {
		t.Errorf("error %v", err)
	}
}

func TestFaultsOfTheConfigurationNameTheirKey(t *testing.T) {
	tests := []struct {
		change func(*Config)
		keys   []string
	}{
		{func(*Config) {}, nil},
		{func(c *Config) { *c = Config{} }, []string{"access_token", "link_domain"}},
		{func(c *Config) { c.LinkDomain = "https://example.com" }, []string{"link_domain"}},
		{func(c *Config) { c.LinkPattern = "https://example.org/:slug" }, []string{"link_pattern"}},
		{func(c *Config) { c.MaxLength, c.RIP = 10, "here" }, []string{"max_length", "rip"}},
		{func(c *Config) { c.BaseURL = []string{"https://api.weibo.com?x=" + token} }, []string{"base_url"}},
	}
	for _, tt := range tests {
		cfg := config()
		tt.change(&cfg)
		var keys []string
		err := cfg.Validate()
		if joined, ok := errors.AsType[interface {
			error
			Unwrap() []error
		}](err); ok {
			for _, e := range joined.Unwrap() {
				key, _, _ := strings.Cut(e.Error(), ":")
				keys = append(keys, key)
			}
		}
		if !slices.Equal(keys, tt.keys) || err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("faults %v, want of %v", err, tt.keys)
		}
	}
}

func TestATextIsRecognisedAsItIsShown(t *testing.T) {
	long := strings.Repeat("很长的一段话，", 10)
	tests := []struct {
		name, sent, shown string
		want              bool
	}{
		{"the link shortened", "【题】文 https://example.com/a", "【题】文 http://t.cn/A1 ", true},
		{"characters escaped", "a < b & c https://example.com/a", "a &lt; b &amp; c http://t.cn/A1", true},
		{"a mark without width", "文 https://example.com/a", "文 http://t.cn/A1 \u200b", true},
		{"another text", "文 https://example.com/a", "文章 http://t.cn/A1", false},
		{"the link hidden", "文 https://example.com/a", "文", true},
		{"a link of the picture after it", "文 https://example.com/a", "文 http://t.cn/A1 http://t.cn/A2", true},
		{"a text that begins alike", "文 https://example.com/a", "文 章 http://t.cn/A1", false},
		{"a text that goes on behind the link", "文 https://example.com/a", "文 http://t.cn/A1 章 http://t.cn/A2", false},
		{"a list's own words in the text", "详见…全文 https://example.com/a", "详见…全文 http://t.cn/A1", true},
		{"cut by the list", long + " https://example.com/a", long[:90] + "...全文： http://m.weibo.cn/1", true},
		{"cut too short to tell", long + " https://example.com/a", "很长的一段话...全文： http://m.weibo.cn/1", false},
	}
	for _, tt := range tests {
		if got := sameText(tt.sent, tt.shown); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

var update = flag.Bool("update", false, "renew the golden files")

func TestAnArticleIsRenderedAsBefore(t *testing.T) {
	p, err := open(t, nil).Render(platformtest.Load(t, "testdata/article.md"))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(p); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/post.json"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
