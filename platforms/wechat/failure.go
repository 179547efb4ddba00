package wechat

import (
	"context"
	"errors"
	"hash/fnv"
	"regexp"
	"slices"
	"time"

	"herald/internal/httpx"
	"herald/platforms"
)

// The codes that the adapter itself acts on.
const (
	codeMediaID    = "40007"
	codeIP         = "40164"
	codeDayQuota   = "45009"
	codeContent    = "45166"
	codeNoPublish  = "48001"
	codeBanned     = "53500" // from publishing; drafts work
	codePublishID  = "53502"
	codeArticleID  = "53600"
	codeNoComments = "88000"
	codeCommentsNo = "48015"
)

// refusedTokens are the codes that another token may help against. On the token's
// own endpoint they mean the secret.
var refusedTokens = []string{"40001", "40014", "42001"}

// hasCode reports whether err is the platform's answer with one of the codes.
func hasCode(err error, list ...string) bool {
	e, ok := errors.AsType[*platforms.Error](err)
	return ok && slices.Contains(list, e.Code)
}

// remedies say what a person can do, where the platform does not.
var remedies = map[string]string{
	"40001":        "check app_secret; if it is right, another program keeps renewing the token: share one by token_url",
	"40013":        "check app_id",
	"40125":        "check app_secret",
	"40243":        "the administrator has frozen the AppSecret: unfreeze it in the console (设置与开发 → 开发接口管理)",
	"45002":        "shorten the article, or set plain_code: true",
	"45034":        "delete pictures that are not needed in the console's library (素材库)",
	"45166":        "a link, a picture or mark-up of the article is not allowed; `herald preview` shows what was sent",
	codeNoPublish:  "the account may not call this; only verified accounts may publish, with mode: draft a person does it",
	"89503":        "the administrator has to confirm the address in WeChat",
	codeNoComments: "the account has no comments: set need_open_comment: false",
}

var refusedIP = regexp.MustCompile(`invalid ip\s+([0-9A-Fa-f:.]+)`)

// failure is what an errcode means. The text decides nothing; it only names the
// address that is not on the allow list.
func failure(reply *httpx.Reply, kind platforms.Kind, code, message string, jitter time.Duration) *platforms.Error {
	if m := refusedIP.FindStringSubmatch(message); code == codeIP && m != nil {
		message = "add " + m[1] + " to the IP whitelist of the account (公众号后台 → 设置与开发 → 开发接口管理 → IP白名单): " + message
	}
	if message == "" {
		message = "answered with code " + code
	}
	if remedy := remedies[code]; remedy != "" {
		message += "; " + remedy
	}
	e := reply.Fail(kind, code, message)
	if at := retryAt(code, time.Now(), jitter); at.After(e.RetryAt) {
		e.RetryAt = at
	}
	return e
}

// beijing is the zone of the platform's day.
var beijing = time.FixedZone("Asia/Shanghai", 8*60*60)

// waits are how long the platform wants to be left alone after a code, where it is
// not until the next day.
var waits = map[string]time.Duration{
	"45011": time.Minute,
	"45061": 10 * time.Minute,
	"53501": 10 * time.Minute,
	"45102": 2 * time.Hour,
	"45501": 2 * time.Hour,
	"89506": 24 * time.Hour,
	"89507": time.Hour,
}

// retryAt is when to come back after a code; zero if it does not say. Quotas of a
// day are taken to be full again at midnight in Beijing, those of a month on its
// first day. jitter keeps accounts from all coming back at once.
func retryAt(code string, now time.Time, jitter time.Duration) time.Time {
	year, month, day := now.In(beijing).Date()
	switch code {
	case codeDayQuota, "45101", "45104":
		return time.Date(year, month, day+1, 0, 0, 0, 0, beijing).Add(time.Minute + jitter)
	case "45040", "48006":
		return time.Date(year, month+1, 1, 0, 0, 0, 0, beijing).Add(time.Minute + jitter)
	}
	if wait, ok := waits[code]; ok {
		return now.Add(wait + jitter/60)
	}
	return time.Time{}
}

// jitterOf is a part of nine minutes that belongs to an account.
func jitterOf(appID string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(appID)) // a hash takes everything
	return time.Duration(h.Sum32()%540) * time.Second
}

// notSent is the failure of a call that its context has kept from being made.
func notSent(ctx context.Context, op string) *platforms.Error {
	cause := context.Cause(ctx)
	return &platforms.Error{Platform: platform, Op: op, Kind: platforms.Unavailable, Message: "not sent: " + cause.Error(), Err: cause}
}
