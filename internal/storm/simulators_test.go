package storm

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"herald/platforms/wechat/wechattest"
	"herald/platforms/weibo/weibotest"
	"herald/platforms/xiaohongshu/xiaohongshutest"
)

// simulator is a platform that cannot be had here, seen from the outside.
type simulator struct {
	configuration string
	titles        func(id string) []string
}

func serve(t testing.TB, h http.Handler) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func (s simulator) target() string                  { return s.configuration }
func (s simulator) posts(id string) []string        { return s.titles(id) }
func (s simulator) surplus(string, int, int) string { return "" }

func newWechat(t testing.TB, mode string) world {
	// A drill withdraws more posts than an account may on one day.
	s := wechattest.New(wechattest.Options{Daily: map[string]int{"freepublish/delete": 1000, "freepublish/batchget": 1000}})
	url := serve(t, s)
	return simulator{
		fmt.Sprintf("  - { name: wechat, type: wechat, app_id: wx0123456789abcdef, app_secret: secret, mode: %s, base_url: %q }\n", mode, url),
		func(id string) (titles []string) {
			var all []wechattest.Article
			for _, d := range s.Drafts() {
				all = append(all, d.Articles...)
			}
			for _, p := range s.Publications() {
				all = append(all, p.Articles...)
			}
			for _, a := range all {
				if isOf(id, a.Content) && !a.Deleted {
					titles = append(titles, a.Title)
				}
			}
			return titles
		},
	}
}

func newWeibo(t testing.TB) world {
	s := weibotest.New(weibotest.Options{})
	url := serve(t, s)
	return simulator{
		fmt.Sprintf("  - { name: weibo, type: weibo, access_token: 2.00token, link_domain: example.com, base_url: %q }\n", url),
		func(id string) (titles []string) {
			for _, p := range s.Posts() {
				if isOf(id, p.Text) {
					titles = append(titles, between(p.Text, "【", "】"))
				}
			}
			return titles
		},
	}
}

func newXiaohongshu(t testing.TB) world {
	s := xiaohongshutest.New(xiaohongshutest.Options{})
	url := serve(t, s)
	return simulator{
		fmt.Sprintf("  - { name: xiaohongshu, type: xiaohongshu, base_url: %q }\n", url),
		func(id string) (titles []string) {
			for _, n := range s.Notes() {
				if isOf(id, n.Content) {
					titles = append(titles, n.Title)
				}
			}
			return titles
		},
	}
}

// isOf reports whether a text is an article's own: see sources.
func isOf(id, text string) bool { return strings.Contains(text, "Text of "+id+".") }
