package weibo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-resty/resty/v2"

	"herald/internal/httpx"
	"herald/platforms"
)

// The calls, as the platform names them.
const (
	opShare     = "statuses/share"
	opTimeline  = "statuses/user_timeline"
	opShow      = "statuses/show"
	opTokenInfo = "oauth2/get_token_info"
)

// status is a post as the API shows it.
type status struct {
	CreatedAt string `json:"created_at"`
	ID        string `json:"idstr"`
	MID       string `json:"mid"`
	Text      string `json:"text"`
	User      struct {
		ID string `json:"idstr"`
	} `json:"user"`
}

// created is when the post was made; zero if that cannot be read.
func (s status) created() time.Time {
	t, err := time.Parse(time.RubyDate, s.CreatedAt)
	if err != nil {
		return time.Time{}
	}
	return t
}

func (s status) receipt() platforms.Receipt {
	r := platforms.Receipt{ID: cmp.Or(s.ID, s.MID)}
	if s.User.ID != "" {
		r.URL = "https://weibo.com/" + s.User.ID + "/" + base62(cmp.Or(s.MID, s.ID))
	}
	return r
}

// share makes a post. The token goes into the body, never into an address.
func (c *Client) share(ctx context.Context, text string, picture *upload) (status, error) {
	form := map[string]string{"access_token": c.cfg.AccessToken.Reveal(), "status": text, "rip": c.cfg.RIP}
	reply, err := c.http.Do(ctx, httpx.Write, opShare, http.MethodPost, "/2/statuses/share.json", func(r *resty.Request) {
		r.SetFormData(form)
		if picture != nil {
			r.SetMultipartField("pic", picture.name, picture.mediaType, bytes.NewReader(picture.data))
		}
	})
	if err != nil {
		return status{}, err
	}
	if err := failure(httpx.Write, reply); err != nil {
		return status{}, err
	}
	var s status
	if err := reply.JSON(&s); err != nil {
		return status{}, err
	}
	if s.CreatedAt == "" || s.receipt().ID == "" {
		return status{}, reply.Fail(platforms.Uncertain, platforms.CodeNoID, "accepted, but the answer holds no post")
	}
	return s, nil
}

// timeline returns the account's newest posts that the app made, no more than five,
// and how far the platform's clock is ahead of ours.
func (c *Client) timeline(ctx context.Context) (list []status, ahead time.Duration, err error) {
	reply, err := c.get(ctx, opTimeline, "/2/statuses/user_timeline.json", url.Values{"base_app": {"1"}, "count": {"100"}})
	if err != nil {
		return nil, 0, err
	}
	if err := failure(httpx.Read, reply); err != nil {
		return nil, 0, err
	}
	var answer struct {
		Statuses []status `json:"statuses"`
	}
	if err := reply.JSON(&answer); err != nil {
		return nil, 0, err
	}
	if answer.Statuses == nil { // not an empty list, which would say that a post is absent
		return nil, 0, reply.Fail(platforms.Unavailable, "", "the answer holds no list of posts")
	}
	if date, err := http.ParseTime(reply.Header.Get("Date")); err == nil {
		ahead = time.Until(date)
	}
	return answer.Statuses, ahead, nil
}

// exists asks whether a post is still there.
func (c *Client) exists(ctx context.Context, id string) (bool, error) {
	reply, err := c.get(ctx, opShow, "/2/statuses/show.json", url.Values{"id": {id}})
	if err != nil {
		return false, err
	}
	if complaint := readComplaint(reply); complaint.code() == codeGone {
		return false, nil
	}
	if err := failure(httpx.Read, reply); err != nil {
		return false, err
	}
	var s status
	if err := reply.JSON(&s); err != nil {
		return false, err
	}
	if s.receipt().ID == "" {
		return false, reply.Fail(platforms.Unavailable, "", "the answer holds no post")
	}
	return true, nil
}

// tokenInfo returns how long the token is still good for.
func (c *Client) tokenInfo(ctx context.Context) (time.Duration, error) {
	reply, err := c.http.Do(ctx, httpx.Read, opTokenInfo, http.MethodPost, "/oauth2/get_token_info", func(r *resty.Request) {
		r.SetFormData(map[string]string{"access_token": c.cfg.AccessToken.Reveal()})
	})
	if err != nil {
		return 0, err
	}
	if err := failure(httpx.Read, reply); err != nil {
		return 0, err
	}
	var answer struct {
		ExpireIn *int64 `json:"expire_in"` // seconds
	}
	if err := reply.JSON(&answer); err != nil {
		return 0, err
	}
	if answer.ExpireIn == nil {
		return 0, reply.Fail(platforms.Unavailable, "", "the answer does not say when the token expires")
	}
	return time.Duration(*answer.ExpireIn) * time.Second, nil
}

func (c *Client) get(ctx context.Context, op, path string, query url.Values) (*httpx.Reply, error) {
	return c.http.Do(ctx, httpx.Read, op, http.MethodGet, path, func(r *resty.Request) {
		r.SetHeader("Authorization", "OAuth2 "+c.cfg.AccessToken.Reveal()).SetQueryParamsFromValues(query)
	})
}

// savedReceipt returns the receipt that the Memo holds.
func savedReceipt(m platforms.Memo) (r platforms.Receipt, ok bool) {
	saved, ok := m.Get(receiptKey)
	if !ok || json.Unmarshal([]byte(saved), &r) != nil {
		return platforms.Receipt{}, false
	}
	return r, r.ID != ""
}

func saveReceipt(m platforms.Memo, r platforms.Receipt) error {
	saved, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return m.Set(receiptKey, string(saved))
}

var (
	anyLink = regexp.MustCompile(`https?://[!-~]+`)
	// cutOff is how a list ends a long text.
	cutOff = regexp.MustCompile(`(\.\.\.|…)\s*全文.*$`)
)

const (
	// longEnough is how many characters of a cut text must agree.
	longEnough = 20
	// aLink stands for any link.
	aLink = "\ufffc"
)

// sameText reports whether a post shows the text that was sent. Links come back
// shortened, characters escaped, and long texts cut. The words before the last
// link decide: that link may be hidden, and others, as of a picture, follow it.
func sameText(sent, shown string) bool {
	sent = bare(sent)
	words := strings.TrimSpace(strings.TrimSuffix(sent, aLink))
	if rest, ok := strings.CutPrefix(bare(shown), words); ok && words != "" && strings.Trim(rest, aLink+" ") == "" {
		return true
	}
	if at := cutOff.FindStringIndex(shown); at != nil {
		shown = bare(shown[:at[0]])
		return utf8.RuneCountInString(shown) >= longEnough && strings.HasPrefix(sent, shown)
	}
	return false
}

// bare is what sending and showing leaves of a text.
func bare(text string) string {
	text = strings.ReplaceAll(html.UnescapeString(text), "\u200b", "")
	return strings.Join(strings.Fields(anyLink.ReplaceAllString(text, aLink)), " ")
}

const (
	digits62  = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	groupFrom = 7 // decimal digits of a group
	groupTo   = 4 // digits to base 62 that it becomes
)

// base62 is a post's id as its address writes it: in groups of seven digits from
// the right, each to base 62. What is no number stays as it is.
func base62(mid string) string {
	if mid == "" || strings.Trim(mid, "0123456789") != "" {
		return mid
	}
	var out string
	for mid != "" {
		from := max(0, len(mid)-groupFrom)
		n := 0
		for _, d := range mid[from:] {
			n = 10*n + int(d-'0')
		}
		group := ""
		for ; n > 0; n /= 62 {
			group = digits62[n%62:n%62+1] + group
		}
		if mid = mid[:from]; mid != "" {
			group = strings.Repeat("0", groupTo-len(group)) + group
		}
		out = group + out
	}
	return out
}
