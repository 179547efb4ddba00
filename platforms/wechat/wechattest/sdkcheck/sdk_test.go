package sdkcheck

import (
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/silenceper/wechat/v2"
	"github.com/silenceper/wechat/v2/cache"
	"github.com/silenceper/wechat/v2/officialaccount"
	"github.com/silenceper/wechat/v2/officialaccount/config"
	"github.com/silenceper/wechat/v2/officialaccount/draft"
	"github.com/silenceper/wechat/v2/officialaccount/freepublish"
	"github.com/silenceper/wechat/v2/officialaccount/material"
	"github.com/silenceper/wechat/v2/util"

	"herald/platforms/wechat/wechattest"
)

const (
	appID  = "wx0123456789abcdef"
	secret = "secret"
)

// redirected is a network on which the platform's host is the simulator.
type redirected struct{ to *url.URL }

func (r redirected) RoundTrip(req *http.Request) (*http.Response, error) {
	again := req.Clone(req.Context())
	again.URL.Scheme, again.URL.Host = r.to.Scheme, r.to.Host
	return http.DefaultTransport.RoundTrip(again)
}

// account is the SDK on a fresh simulator.
func account(t *testing.T, stable bool) (*wechattest.Server, *officialaccount.OfficialAccount) {
	t.Helper()
	s := wechattest.New(wechattest.Options{NumericIDs: true}) // the SDK takes no others
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	to, err := url.Parse(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	before := util.DefaultHTTPClient
	util.DefaultHTTPClient = &http.Client{Transport: redirected{to}}
	t.Cleanup(func() { util.DefaultHTTPClient = before })
	return s, wechat.NewWechat().GetOfficialAccount(&config.Config{
		AppID: appID, AppSecret: secret, UseStableAK: stable, Cache: cache.NewMemory(),
	})
}

func picture(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.png")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTheSDKPublishesOnTheSimulator(t *testing.T) {
	for name, stable := range map[string]bool{"token": false, "stable_token": true} {
		t.Run(name, func(t *testing.T) {
			s, sdk := account(t, stable)
			token, err := sdk.GetAccessToken()
			if err != nil || token != wechattest.TokenText(1) || s.Calls(name) != 1 {
				t.Fatalf("token %q, %v, %d calls of %s", token, err, s.Calls(name), name)
			}
			address, err := sdk.GetMaterial().ImageUpload(picture(t))
			if err != nil || !strings.HasPrefix(address, "http://mmbiz.qpic.cn/") {
				t.Fatalf("uploadimg: %q, %v", address, err)
			}
			cover, _, err := sdk.GetMaterial().AddMaterial(material.MediaTypeImage, picture(t))
			if err != nil || cover == "" {
				t.Fatalf("add_material: %q, %v", cover, err)
			}
			mediaID := drafts(t, sdk, &draft.Article{
				Title: "标题 & <b>", Digest: "摘要", Content: `<p>文</p><img src="` + address + `">`, ThumbMediaID: cover,
			})
			publish(t, sdk, mediaID)
			if n := len(s.Publications()); n != 0 {
				t.Errorf("%d publications at the end, want none", n)
			}
		})
	}
}

// drafts adds, reads, changes and lists a draft.
func drafts(t *testing.T, sdk *officialaccount.OfficialAccount, a *draft.Article) string {
	t.Helper()
	box := sdk.GetDraft()
	mediaID, err := box.AddDraft([]*draft.Article{a})
	if err != nil {
		t.Fatalf("draft/add: %v", err)
	}
	got, err := box.GetDraft(mediaID)
	if err != nil || len(got) != 1 || got[0].Title != a.Title || got[0].Content != a.Content {
		t.Errorf("draft/get: %+v, %v", got, err)
	}
	a.Title = "另一个"
	if err := box.UpdateDraft(a, mediaID, 0); err != nil {
		t.Errorf("draft/update: %v", err)
	}
	list, err := box.PaginateDraft(0, 20, true)
	if err != nil || list.TotalCount != 1 || list.Item[0].MediaID != mediaID || list.Item[0].Content.NewsItem[0].Title != a.Title ||
		list.Item[0].Content.NewsItem[0].Content != "" {
		t.Errorf("draft/batchget: %+v, %v", list, err)
	}
	if n, err := box.CountDraft(); err != nil || n != 1 {
		t.Errorf("draft/count: %d, %v", n, err)
	}
	if _, err := box.GetDraft("unknown"); err == nil || !strings.Contains(err.Error(), "40007") {
		t.Errorf("draft/get of an unknown one: %v, want 40007", err)
	}
	return mediaID
}

// publish submits a draft, waits for the article and deletes it.
func publish(t *testing.T, sdk *officialaccount.OfficialAccount, mediaID string) {
	t.Helper()
	api := sdk.GetFreePublish()
	id, err := api.Publish(mediaID)
	if err != nil {
		t.Fatalf("freepublish/submit: %v", err)
	}
	status, err := api.SelectStatus(id)
	if err != nil || status.PublishStatus != freepublish.PublishStatusSuccess || status.ArticleID == "" {
		t.Fatalf("freepublish/get: %+v, %v", status, err)
	}
	list, err := api.Paginate(0, 20, true)
	if err != nil || list.TotalCount != 1 || list.Item[0].ArticleID != status.ArticleID {
		t.Errorf("freepublish/batchget: %+v, %v", list, err)
	}
	if err := api.Delete(status.ArticleID, 0); err != nil {
		t.Errorf("freepublish/delete: %v", err)
	}
}
