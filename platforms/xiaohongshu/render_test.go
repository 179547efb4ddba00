package xiaohongshu

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"herald/article"
	"herald/article/dialect"
	"herald/platforms"
	"herald/platforms/platformtest"
	"herald/platforms/xiaohongshu/xiaohongshutest"
)

func open(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg, platforms.Env{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestATitleIsCountedAsThePageCounts(t *testing.T) { // B39
	c := open(t, Config{})
	for title, units := range map[string]int{
		"Claude 4.6发布，AI助手又进化了": 15,
		strings.Repeat("一", 20): 20,
		strings.Repeat("一", 21): 21,
		strings.Repeat("a", 40): 20,
		strings.Repeat("a", 41): 21,
		strings.Repeat("😀", 10): 20,
		strings.Repeat("😀", 11): 22,
		"😀":                     2,
		"你好世界":                  4,
		"hello":                 3,
		"a":                     1,
		"OOTD穿搭分享":              6,
	} {
		if n := dialect.Units(title); n != units || xiaohongshutest.Units(title) != units {
			t.Errorf("%s has %d units, want %d", title, n, units)
		}
		_, err := c.Render(&article.Article{ID: "a", Title: title, Body: "文"})
		switch {
		case units <= maxTitle && err != nil:
			t.Errorf("%s: %v", title, err)
		case units > maxTitle && (platforms.KindOf(err) != platforms.Rejected || !strings.Contains(err.Error(), fmt.Sprintf("%d of 20", units))):
			t.Errorf("%s: %v, want a refusal with %d of 20", title, err, units)
		}
	}
}

func TestTagsAreCleanedAndCutToTen(t *testing.T) { // B40
	tags := []string{"#Go", "go", "云 原生", "＃架构"}
	for i := range 14 {
		tags = append(tags, fmt.Sprint("标签", i))
	}
	p, err := open(t, Config{}).Render(&article.Article{ID: "a", Title: "题", Body: "文", Tags: tags})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Tags) != 10 || !slices.Equal(p.Tags[:4], []string{"Go", "云原生", "架构", "标签0"}) {
		t.Errorf("tags %q", p.Tags)
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "标签13") {
		t.Errorf("warnings %q", p.Warnings)
	}
}

func TestABodyBecomesPlainTextWithItsLines(t *testing.T) { // B44
	a := &article.Article{ID: "a", Title: "题", Body: "第一**段**。\n\n第二段，见[文档](https://example.com/doc)。\n\n- 一\n- 二\n\n第三段。"}
	for noLinks, want := range map[bool]string{
		false: "第一段。\n\n第二段，见文档（https://example.com/doc）。\n\n• 一\n• 二\n\n第三段。",
		true:  "第一段。\n\n第二段，见文档。\n\n• 一\n• 二\n\n第三段。",
	} {
		p, err := open(t, Config{NoLinks: noLinks}).Render(a)
		if err != nil || p.Body != want {
			t.Errorf("no_links %v: body %q, %v; want %q", noLinks, p.Body, err, want)
		}
	}
}

func TestATextAndItsTagsFitIntoAThousandCharacters(t *testing.T) {
	c := open(t, Config{})
	for _, n := range []int{90, 99, 100, 101, 300} {
		a := &article.Article{ID: "a", Title: "题", Body: strings.Repeat("一二三四五六七八九。", n), Tags: []string{"架构", "Go"}}
		p, err := c.Render(a)
		if err != nil {
			t.Fatal(err)
		}
		if length := dialect.CodeUnits(p.Body + "#架构 #Go "); length > maxContent {
			t.Errorf("%d characters became %d", 10*n, length)
		}
		whole := 10*n <= maxContent-8
		if (p.Body == a.Body) != whole || (len(p.Warnings) == 0) != whole || !strings.HasSuffix(p.Body, "。") {
			t.Errorf("%d characters: whole %v, want %v; warnings %q", 10*n, p.Body == a.Body, whole, p.Warnings)
		}
	}
}

func TestPicturesAreTheCoverAndTheTextsAtMostEighteen(t *testing.T) { // B41
	c := open(t, Config{})
	images := func(n int) (all []article.Image) {
		for i := range n {
			all = append(all, article.Image{Ref: fmt.Sprint(i), SHA256: fmt.Sprint(i)})
		}
		return all
	}
	tests := []struct {
		name         string
		a            article.Article
		first        string
		count, warns int
	}{
		{"one", article.Article{Images: images(1)}, "0", 1, 0},
		{"eighteen", article.Article{Images: images(18)}, "0", 18, 0},
		{"nineteen", article.Article{Images: images(19)}, "0", 18, 1},
		{"a cover of its own", article.Article{Images: images(2), Cover: &article.Image{Ref: "c", SHA256: "c"}}, "c", 3, 0},
		{"a cover that is in the text", article.Article{Images: images(3), Cover: &images(3)[1]}, "1", 3, 0},
	}
	for _, tt := range tests {
		tt.a.ID, tt.a.Title, tt.a.Body = "a", "题", "文"
		p, err := c.Render(&tt.a)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Images) != tt.count || p.Images[0].Ref != tt.first || len(p.Warnings) != tt.warns {
			t.Errorf("%s: %d pictures, first %s, warnings %q", tt.name, len(p.Images), p.Images[0].Ref, p.Warnings)
		}
	}
}

func TestCardsHaveTheSummaryAndAllOfWhatTheNoteHasNoRoomFor(t *testing.T) {
	c := open(t, Config{})
	long := strings.Repeat("一二三四五六七八九。", 150)
	tests := []struct{ name, summary, body, want string }{
		{"a summary", "摘要。", "文。", "摘要。"},
		{"none", "", "文。", "文。"},
		{"a long text", "摘要。", long, long},
	}
	for _, tt := range tests {
		p, err := c.Render(&article.Article{ID: "a", Title: "题", Summary: tt.summary, Body: tt.body})
		if err != nil || p.Summary != tt.want {
			t.Errorf("%s: text of the cards %.40q, %v", tt.name, p.Summary, err)
		}
	}
	p, err := c.Render(&article.Article{ID: "a", Title: "题🎉", Body: strings.Repeat(long, 6)})
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(p.Warnings, "\n"); !strings.Contains(all, "18 cards") || !strings.Contains(all, "🎉") {
		t.Errorf("warnings %q, want of what is left out", p.Warnings)
	}
}

func TestOptionsAreCheckedAndSent(t *testing.T) {
	w := newWorld(t, xiaohongshutest.Options{})
	a := &article.Article{
		ID: "a", Title: "题", Body: "文", Images: []article.Image{dot(t, w.dir)},
		Options: map[string]any{"visibility": "friends", "original": true},
	}
	p, err := w.Render(a)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Publish(t.Context(), p, platformtest.NewMemo()) // it cannot be recognised
	if n := w.Notes()[0]; n.Visibility != "仅互关好友可见" || !n.Original {
		t.Errorf("note %+v", n)
	}
	for key, value := range map[string]any{"visibilty": "public", "visibility": "everybody", "original": "yes"} {
		a.Options = map[string]any{key: value}
		if _, err := w.Render(a); platforms.KindOf(err) != platforms.Rejected || !strings.Contains(err.Error(), "visibility") && key != "original" {
			t.Errorf("%s: %v: %v, want rejected", key, value, err)
		}
	}
}

func TestAFontThatIsNotThereIsToldWithItsRemedy(t *testing.T) {
	c := open(t, Config{Font: "/nowhere/font.ttf"})
	_, err := c.Render(&article.Article{ID: "a", Title: "题", Body: "文"})
	if platforms.KindOf(err) != platforms.Dependency || !strings.Contains(err.Error(), "/nowhere/font.ttf") || !strings.Contains(err.Error(), "correct font") {
		t.Errorf("error %v", err)
	}
	if _, err := c.Render(&article.Article{ID: "a", Title: "题", Body: "文", Images: []article.Image{{Ref: "a.png"}}}); err != nil {
		t.Errorf("an article with a picture needs no font: %v", err)
	}
}

// network sends what is not for the interface to another host.
type network struct {
	http.RoundTripper
	other http.RoundTripper
}

func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Hostname() != "localhost" {
		return n.other.RoundTrip(r)
	}
	return n.RoundTripper.RoundTrip(r)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestARemotePictureIsFetchedByUsWithinItsTime(t *testing.T) { // B41
	figure, err := os.ReadFile(platformtest.Samples(t).One.Images[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	pictures := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(figure) })
	stalls := roundTrip(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	synctest.Test(t, func(t *testing.T) {
		s := xiaohongshutest.New(xiaohongshutest.Options{})
		for _, other := range []http.RoundTripper{stalls, platformtest.HandlerTransport(pictures)} {
			c, err := New(Config{BaseURL: []string{"http://localhost:18060"}}, platforms.Env{Dir: t.TempDir(), Transport: network{s.Transport(), other}})
			if err != nil {
				t.Fatal(err)
			}
			p, err := c.Render(&article.Article{ID: "a", Title: "题", Body: "文", Images: []article.Image{{Ref: "https://img.example.com/a.png", URL: "https://img.example.com/a.png"}}})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_, err = c.Publish(t.Context(), p, platformtest.NewMemo())
			if _, ok := other.(roundTrip); ok {
				if platforms.KindOf(err) != platforms.Unavailable || time.Since(start) != fetchTimeout || len(s.Notes()) != 0 {
					t.Errorf("a picture that stalls: %v after %v", err, time.Since(start))
				}
				continue
			}
			if err != nil || len(s.Notes()) != 1 || len(s.Notes()[0].Images) != 1 || len(s.Notes()[0].Images[0]) == 0 {
				t.Errorf("%v, %d notes", err, len(s.Notes()))
			}
		}
	})
}

func TestTheFilesOfANoteAreNumberedInOrder(t *testing.T) {
	w := newWorld(t, xiaohongshutest.Options{})
	var seen []string
	w.Configure(func(o *xiaohongshutest.Options) {
		o.ReadFile = func(path string) ([]byte, error) {
			seen = append(seen, filepath.Base(path))
			return os.ReadFile(path)
		}
	})
	p, err := w.Render(platformtest.Samples(t).One)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Publish(t.Context(), p, platformtest.NewMemo()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"01.png", "02.png"}; !slices.Equal(seen, want) {
		t.Errorf("files %q, want %q", seen, want)
	}
}

var update = flag.Bool("update", false, "renew the golden files")

func TestAnArticleIsRenderedAsBefore(t *testing.T) {
	p, err := open(t, Config{}).Render(platformtest.Load(t, "testdata/article.md"))
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
