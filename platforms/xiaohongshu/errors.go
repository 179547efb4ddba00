package xiaohongshu

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"herald/internal/httpx"
	"herald/platforms"
)

// Codes is what the codes of the interface mean. Its codes name the call that
// failed and seldom say why: what PUBLISH_FAILED means is in publishTexts.
var Codes = platforms.Codes{
	"UNAUTHORIZED":           platforms.Unauthorized, // our token
	"INVALID_REQUEST":        platforms.Invalid,
	"INTERNAL_ERROR":         platforms.Uncertain, // a panic: of a publication it may come after the click
	"STATUS_CHECK_FAILED":    platforms.Dependency,
	"GET_MY_PROFILE_FAILED":  platforms.Dependency,
	"GET_FEED_DETAIL_FAILED": platforms.Dependency,
}

const (
	codePublishFailed = "PUBLISH_FAILED"
	codeDetailFailed  = "GET_FEED_DETAIL_FAILED"
)

// text is what a part of a message means.
type text struct {
	part string
	kind platforms.Kind
}

// publishTexts is what the details of a failure mean, which carries no code of its
// own; the first part that occurs decides. The texts are those of
// xpzouying/xiaohongshu-mcp and of the pages of Xiaohongshu that it shows.
var publishTexts = []text{
	// The button was pressed, or may have been, and what came of it is not known. Such
	// a note is looked for; after a press it is never sent a second time by itself.
	{textUnconfirmed, platforms.Uncertain},
	{"context canceled", platforms.Uncertain},

	// Too fast.
	{"操作频繁", platforms.RateLimited},
	{"请求太频繁", platforms.RateLimited},
	{"访问频次异常", platforms.RateLimited},
	{"300013", platforms.RateLimited},

	// A person must act: the session, a captcha, the network, the account.
	{"登录已过期", platforms.Unauthorized},
	{"httpStatus=461", platforms.Unauthorized},
	{"httpStatus=471", platforms.Unauthorized},
	{"IP存在风险", platforms.Unauthorized},
	{"300011", platforms.Unauthorized},
	{"300012", platforms.Unauthorized},
	{"未找到可见范围选项", platforms.Unauthorized},
	{"设置原创声明失败", platforms.Unauthorized},
	{"绑定商品失败", platforms.Unauthorized},
	{"未找到添加商品按钮", platforms.Unauthorized},

	// This content can never pass.
	{"标题长度超过限制", platforms.Rejected},
	{"当前输入长度为", platforms.Rejected},
	{"长度超过限制", platforms.Rejected},
	{"不支持的可见范围", platforms.Rejected},
	{"必须至少在1小时后", platforms.Invalid},
	{"不能超过14天", platforms.Rejected},
	{"定时发布时间格式错误", platforms.Rejected},
	{"图片不能为空", platforms.Rejected},
	{"no valid images found", platforms.Rejected},
	{"downloaded file is not a valid image", platforms.Rejected},
	{"download failed with status 4", platforms.Rejected},

	// Before the click, and likely to pass another time.
	{"下载图片失败", platforms.Unavailable},
	{"小红书上传图片失败", platforms.Unavailable},
	{"图片上传超时", platforms.Unavailable},
	{"上传超时", platforms.Unavailable},

	// Before the click, and the page is not what the interface knows: it was changed,
	// or shows the log-in.
	{"导航到发布页面失败", platforms.Dependency},
	{"没有找到发布 TAB", platforms.Dependency},
	{"发布 TAB", platforms.Dependency},
	{"查找标题输入框失败", platforms.Dependency},
	{"查找正文输入框失败", platforms.Dependency},
	{"回点标题输入框失败", platforms.Dependency},
	{"等待发布按钮可点击超时", platforms.Dependency},
	{"页面没有文件上传输入框", platforms.Dependency},
	{"300015", platforms.Dependency},
	{"context deadline exceeded", platforms.Dependency},
}

// textUnconfirmed says that the button was pressed and the page did not go away.
const textUnconfirmed = "发布未确认成功"

// goneTexts say of a note that it is deleted, banned or hidden.
var goneTexts = []string{
	"当前笔记暂时无法浏览", "该内容因违规已被删除", "该笔记已被删除", "内容不存在", "笔记不存在", "已失效", "私密笔记",
	"仅作者可见", "因用户设置，你无法查看", "因违规无法查看",
}

// hints are what a person can do, by kind.
var hints = map[platforms.Kind]string{
	platforms.Dependency: "the page of Xiaohongshu was changed, or the interface does not see the pictures: update it, and check image_mount",
	platforms.Uncertain:  "look at the account: it may lack a telephone number or be under control; then `herald resolve`",
}

// complaint is what the interface answers instead of a result.
type complaint struct {
	Error   string          `json:"error"`
	Code    string          `json:"code"`
	Details json.RawMessage `json:"details"`
}

// words are what a complaint says to people.
func (c complaint) words() string {
	var details string
	if json.Unmarshal(c.Details, &details) != nil { // an object, of a panic
		details = strings.Trim(string(c.Details), "{}")
	}
	if details == "" {
		return c.Error
	}
	return c.Error + ": " + details
}

// failure is what a reply complains of; nil for a success.
func failure(call httpx.Call, r *httpx.Reply) error {
	c := readComplaint(r)
	if c.Code == "" {
		return r.Err()
	}
	kind, code, words := Codes.Kind(c.Code), c.Code, c.words()
	if means, ok := meaning(words); ok && (c.Code == codePublishFailed || kind == platforms.Dependency) {
		kind = means
	}
	switch {
	case call != httpx.Write && kind == platforms.Uncertain:
		kind = platforms.Dependency
	case strings.Contains(words, textUnconfirmed):
		code = platforms.CodeNoID
		words += "; " + hints[kind]
	case c.Code == codePublishFailed && kind == platforms.Dependency:
		words += "; " + hints[kind]
	}
	return r.Fail(kind, code, words)
}

func readComplaint(r *httpx.Reply) complaint {
	var c complaint
	if json.Unmarshal(r.Body, &c) != nil {
		return complaint{}
	}
	return c
}

// meaning finds what a text means.
func meaning(words string) (platforms.Kind, bool) {
	for _, t := range publishTexts {
		if strings.Contains(words, t.part) {
			return t.kind, true
		}
	}
	return "", false
}

// isGone reports whether a complaint says that a note is not to be seen any more.
func (c complaint) isGone() bool {
	if c.Code != codeDetailFailed {
		return false
	}
	for _, t := range goneTexts {
		if strings.Contains(c.words(), t) {
			return true
		}
	}
	return false
}

// broken makes a Dependency of an interface that cannot be reached: it stands
// between herald and the platform. A call that its own context ended says nothing
// about it.
func broken(ctx context.Context, err error) error {
	e, ok := errors.AsType[*platforms.Error](err)
	if !ok || e.Kind != platforms.Unavailable || ctx.Err() != nil {
		return err
	}
	e.Kind = platforms.Dependency
	return e
}
