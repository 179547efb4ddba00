package wechat

import (
	"strings"
	"testing"

	"herald/article"
	"herald/platforms"
	"herald/platforms/platformtest"
	"herald/platforms/wechat/wechattest"
)

const (
	testAppID  = "wx0123456789abcdef"
	testSecret = "open sesame/42"
)

// testConfig is an account on the simulator.
func testConfig(mode string) Config {
	return Config{AppID: testAppID, AppSecret: testSecret, BaseURL: []string{"http://wechat.test"}, Mode: mode}
}

// cannotUpdate hides Update, which published articles do not have.
type cannotUpdate struct {
	platforms.Platform
	platforms.Finder
	platforms.Reviewer
	platforms.Withdrawer
	platforms.Prober
	platforms.Accounter
}

func suite(mode string, o wechattest.Options) platformtest.Case {
	o.Secret = testSecret
	ends := mode // what a post ends as
	if o.NoPublish {
		ends = modeDraft
	}
	return platformtest.Case{
		Type:     platform,
		TooLong:  &article.Article{ID: "long", Title: strings.Repeat("长", maxTitle+1), Body: "文"},
		Unlisted: "49999",
		Secrets:  []string{testSecret, wechattest.TokenText(1), wechattest.TokenText(2)},
		New: func(testing.TB) *platformtest.World {
			s := wechattest.New(o)
			return &platformtest.World{
				Transport: s.Transport(),
				Open: func(env platforms.Env) (platforms.Platform, error) {
					c, err := New(testConfig(mode), env)
					if err != nil || ends == modeDraft {
						return c, err
					}
					return cannotUpdate{c, c, c, c, c, c}, nil
				},
				Posts:   func() []string { return texts(s, ends) },
				Answer:  func(code string) { s.Script("", 0, s.Answer(number(code))) },
				Uploads: s.Uploads,
			}
		},
	}
}

// texts is what readers, or in mode draft the editor, see of each post.
func texts(s *wechattest.Server, mode string) []string {
	var all []string
	for _, p := range s.Publications() {
		all = append(all, p.Articles[0].Title+"\n"+p.Articles[0].Content)
	}
	if mode == modeDraft {
		for _, d := range s.Drafts() {
			all = append(all, d.Articles[0].Title+"\n"+d.Articles[0].Content)
		}
	}
	return all
}

func TestDraftsKeepTheSuitesPromises(t *testing.T) {
	c := suite(modeDraft, wechattest.Options{})
	c.Codes = codes // in one mode: they are met before the modes part
	platformtest.Run(t, c)
}

func TestPublicationsKeepTheSuitesPromises(t *testing.T) {
	platformtest.Run(t, suite(modePublish, wechattest.Options{Statuses: []int{1, 0}, NumericIDs: true, OldestFirst: true}))
}

func TestAnAccountThatMayNotPublishKeepsTheSuitesPromises(t *testing.T) {
	platformtest.Run(t, suite(modePublish, wechattest.Options{NoPublish: true, DeletedTwice: 40007}))
}

func number(code string) int {
	n := 0
	for _, r := range strings.TrimPrefix(code, "-") {
		n = 10*n + int(r-'0')
	}
	if strings.HasPrefix(code, "-") {
		return -n
	}
	return n
}
