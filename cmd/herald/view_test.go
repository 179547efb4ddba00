package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"herald/compensate"
	"herald/platforms"
	"herald/state"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file below testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// noon is the fixed now of the pictures.
var noon = time.Date(2026, 6, 17, 12, 0, 0, 0, shanghai())

func shanghai() *time.Location {
	zone, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		panic(err)
	}
	return zone
}

func at(d time.Duration) *time.Time {
	t := noon.Add(d).UTC()
	return &t
}

// sampleArticles shows every state that a person can meet.
func sampleArticles() []state.Report {
	score := 0.82
	fault := func(kind platforms.Kind, code, message string) *state.ErrorReport {
		return &state.ErrorReport{Kind: kind, Class: kind.Class(), Code: code, Message: message}
	}
	published := func(target string, ago time.Duration, url string) state.DeliveryReport {
		return state.DeliveryReport{Target: target, State: state.Published, Attempts: 1, PublishedAt: at(-ago), URL: url, RemoteID: "1"}
	}
	return []state.Report{
		{
			ID: "error-handling", Title: "错误处理是系统韧性的设计：从一次凌晨三点的事故说起，谈重试、熔断与补偿", Revision: 2,
			State: state.ArticlePartial, AcceptedAt: *at(-3 * time.Hour), PublishAt: at(-3 * time.Hour), Late: "12m30s", Degraded: true,
			Quality: &state.Quality{By: "basic", Pass: true, Degraded: true, Details: "the AI service did not answer within 30s"},
			Deliveries: []state.DeliveryReport{
				published("blog", 3*time.Hour, "https://blog.example.com/posts/error-handling/"),
				{
					Target: "weibo", State: state.Queued, Attempts: 2, Due: at(8 * time.Minute),
					Error: fault(platforms.RateLimited, "10023", "User requests out of rate limit!"),
					Hint:  "target weibo is held by its rate limit; it goes on by itself",
				},
				{
					Target: "wechat", State: state.Queued, Attempts: 1, Due: at(27 * time.Minute),
					Error: fault(platforms.Unauthorized, "40164", "调用接口的 IP 地址 203.0.113.7 不在公众号后台的白名单中，请登录 mp.weixin.qq.com，在“设置与开发 - 基本配置”里把它加进去"),
					Hint:  "target wechat is held: mend its credential or permission, then `herald retry --target wechat`; it is also probed by itself",
				},
				{
					Target: "xiaohongshu", State: state.Uncertain, Attempts: 1,
					Error: fault(platforms.Uncertain, "no_id", "accepted, but no id came back"),
					Hint:  "look on the platform for \"错误处理是系统韧性的设计\", sent at 2026-06-17T01:12:30Z; then `herald resolve error-handling xiaohongshu --published URL` or `--missing`",
				},
			},
		},
		{
			ID: "架构演进-从单体到微服务再回来", Title: "架构演进：从单体到微服务，再回来", Revision: 1, State: state.ArticleSuccess, AcceptedAt: *at(-26 * time.Hour),
			Quality: &state.Quality{By: "ai", Pass: true, Score: &score},
			Deliveries: []state.DeliveryReport{
				published("blog", 26*time.Hour, "https://blog.example.com/posts/%E6%9E%B6%E6%9E%84%E6%BC%94%E8%BF%9B-%E4%BB%8E%E5%8D%95%E4%BD%93/"),
				published("weibo", 25*time.Hour, ""),
			},
		},
		{
			ID: "notes", Title: "Notes 📝", Revision: 1, State: state.ArticleHeld, AcceptedAt: *at(-40 * time.Second),
			Hold: &state.ArticleHold{Reason: state.HeldDuplicate, Message: "same title and text as error-handling; allow_duplicate: true in the front matter lets it go"},
			Deliveries: []state.DeliveryReport{
				{Target: "blog", State: state.Queued, Hint: "held (duplicate): same title and text as error-handling; allow_duplicate: true in the front matter lets it go; `herald approve notes` releases it, `herald cancel notes` drops it"},
				{Target: "weibo", State: state.Queued, Hint: "held (duplicate): same title and text as error-handling; allow_duplicate: true in the front matter lets it go; `herald approve notes` releases it, `herald cancel notes` drops it"},
			},
		},
		{
			ID: "tomorrow", Title: "明天见", Revision: 1, State: state.ArticleScheduled, AcceptedAt: *at(-time.Hour), PublishAt: at(21 * time.Hour),
			Deliveries: []state.DeliveryReport{{Target: "blog", State: state.Queued, Due: at(21 * time.Hour)}},
		},
		{
			ID: "going", Title: "正在发布", Revision: 1, State: state.ArticlePublishing, AcceptedAt: *at(-5 * time.Second),
			Deliveries: []state.DeliveryReport{
				{Target: "blog", State: state.Sending, Attempts: 1, Due: at(time.Minute)},
				{Target: "wechat", State: state.Reviewing, Attempts: 1, Due: at(10 * time.Second)},
			},
		},
		{
			ID: "refused", Title: "不合规的标题", Revision: 1, State: state.ArticleFailed, AcceptedAt: *at(-400 * 24 * time.Hour),
			Deliveries: []state.DeliveryReport{
				{
					Target: "weibo", State: state.Rejected, Attempts: 1, Error: fault(platforms.Rejected, "20012", "input text too long, please input text less than 140 characters!"),
					Hint: "edit the article and drop it again, or `herald retry refused --target weibo`, or `herald cancel refused --target weibo`",
				},
				{Target: "blog", State: state.Canceled},
			},
		},
	}
}

// sampleArticle is one article with its history.
func sampleArticle() state.Report {
	r := sampleArticles()[0]
	r.Notes = []string{"front matter: weight is not known to herald and is ignored"}
	r.Deliveries[0].History = []state.Entry{
		{At: *at(-3 * time.Hour), Verb: state.Begin, State: state.Sending, Op: "publish"},
		{At: *at(-3*time.Hour + time.Second), Verb: state.Land, State: state.Published, Op: "publish", Took: 58 * time.Millisecond},
	}
	r.Deliveries[1].History = []state.Entry{
		{At: *at(-3 * time.Hour), Verb: state.Begin, State: state.Sending, Op: "publish"},
		{
			At: *at(-3*time.Hour + 2*time.Second), Verb: state.Delay, State: state.Queued, Op: "statuses/share", Took: 1204 * time.Millisecond,
			Kind: platforms.RateLimited, Code: "10023", Message: "User requests out of rate limit!",
		},
	}
	return r
}

func sampleTargets() []compensate.TargetReport {
	return []compensate.TargetReport{
		{Name: "blog", Type: "site", Breaker: "closed", LastSuccess: at(-3 * time.Hour)},
		{Name: "weibo", Type: "weibo", Breaker: "open", OpenSince: at(-2 * time.Minute), OpenUntil: at(57 * time.Second), Waiting: 3, LastSuccess: at(-26 * time.Hour)},
		{Name: "wechat", Type: "wechat", Breaker: "closed", Waiting: 1, Hold: &state.Hold{
			Kind: platforms.Unauthorized, Code: "40164", Message: "IP 地址 203.0.113.7 不在白名单中", Since: *at(-3 * time.Hour), Until: *at(27 * time.Minute), ForPerson: true,
		}},
		{Name: "mastodon", Type: "mastodon", Breaker: "half-open", Waiting: 2},
		{Name: "bluesky", Type: "bluesky", Breaker: "closed", Waiting: 1, Hold: &state.Hold{
			Kind: platforms.RateLimited, Code: "429", Message: "rate limit exceeded", Since: *at(-time.Minute), Until: *at(14 * time.Minute),
		}},
	}
}

func TestWhatPeopleSeeLooksLikeThis(t *testing.T) {
	article := sampleArticle()
	views := map[string]func(screen){
		"list":    func(s screen) { s.articles(sampleArticles()) },
		"article": func(s screen) { s.article(&article) },
		"targets": func(s screen) { s.targets(sampleTargets()) },
	}
	for name, print := range views {
		for _, width := range []int{0, 100, 60} {
			t.Run(fmt.Sprintf("%s at %d columns", name, width), func(t *testing.T) {
				var out bytes.Buffer
				print(screen{out: &out, width: width, zone: noon.Location(), now: noon})
				golden(t, fmt.Sprintf("%s-%d.txt", name, width), out.String())
				for line := range strings.Lines(out.String()) {
					line = strings.TrimSuffix(line, "\n")
					if strings.TrimRight(line, " ") != line {
						t.Errorf("%q ends in spaces", line)
					}
					if w := columns.StringWidth(line); width > 0 && w >= width && strings.Contains(line, " ") && !strings.Contains(line, "`") && !strings.Contains(line, "https:") {
						t.Errorf("%q takes %d columns", line, w)
					}
				}
			})
		}
	}
}

func TestColorIsOnlyOnATerminalThatWantsIt(t *testing.T) {
	var out bytes.Buffer
	screen{out: &out, width: 100, color: true, zone: noon.Location(), now: noon}.articles(sampleArticles())
	golden(t, "list-color.txt", out.String())

	var bare bytes.Buffer
	screen{out: &bare, width: 100, zone: noon.Location(), now: noon}.articles(sampleArticles())
	if strings.Contains(bare.String(), "\x1b") {
		t.Errorf("without colour there are escape sequences in %q", bare.String())
	}
	stripped := strings.NewReplacer("\x1b[0m", "", "\x1b[1m", "", "\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[36m", "", "\x1b[90m", "").Replace(out.String())
	if diff := cmp.Diff(bare.String(), stripped); diff != "" {
		t.Errorf("colour changes more than the colour (-without +with):\n%s", diff)
	}
}
