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

// simulators are the platforms that cannot be had here. What they can do differs,
// so they are drilled in publishing alone.
var simulators = []struct {
	name string
	make func(t testing.TB) world
	step int
}{
	{"wechat draft", func(t testing.TB) world { return newWechat(t, "draft") }, 4},
	{"wechat publish", func(t testing.TB) world { return newWechat(t, "publish") }, 6},
	{"weibo", newWeibo, 4},
	{"xiaohongshu", newXiaohongshu, 4},
}

func TestKilledWhilePublishingToASimulatorThereIsOneCopy(t *testing.T) {
	for _, w := range simulators {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			eachFailpoint(t, w.step, func(t *testing.T, failpoint string) bool {
				d := newDrill(t, w.make)
				d.p.drop("a", title(1))
				killed := d.through(failpoint, "a", published(1))
				d.has("a", 1, 1, title(1))
				return killed
			})
		})
	}
}

// simulator is one of them, seen from the outside.
type simulator struct {
	configuration string
	titles        func() []string
}

func serve(t testing.TB, h http.Handler) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func (s simulator) target() string                  { return s.configuration }
func (s simulator) posts(string) []string           { return s.titles() }
func (s simulator) surplus(string, int, int) string { return "" }

func newWechat(t testing.TB, mode string) world {
	s := wechattest.New(wechattest.Options{})
	url := serve(t, s)
	return simulator{
		fmt.Sprintf("  - { name: wechat, type: wechat, app_id: wx0123456789abcdef, app_secret: secret, mode: %s, base_url: %q }\n", mode, url),
		func() (titles []string) {
			for _, d := range s.Drafts() {
				titles = append(titles, d.Articles[0].Title)
			}
			for _, p := range s.Publications() {
				titles = append(titles, p.Articles[0].Title)
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
		func() (titles []string) {
			for _, p := range s.Posts() {
				if strings.Contains(p.Text, title(1)) {
					titles = append(titles, title(1))
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
		func() (titles []string) {
			for _, n := range s.Notes() {
				titles = append(titles, n.Title)
			}
			return titles
		},
	}
}
