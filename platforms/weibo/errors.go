package weibo

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"herald/internal/httpx"
	"herald/platforms"
)

// Codes is what the platform's error_code means for statuses/share, by the tables
// of open.weibo.com/wiki/Error_code. Codes about comments, messages, lists and the
// like are not here: if one came, nobody would know what it says about a post.
var Codes = platforms.Codes{
	// The platform may have posted before it failed.
	"10001": platforms.Uncertain,
	"10003": platforms.Uncertain,
	"10010": platforms.Uncertain,
	"10011": platforms.Uncertain,
	"10025": platforms.Uncertain,

	// Refused for now.
	"10002": platforms.Unavailable,
	"10009": platforms.Unavailable,
	"20014": platforms.Unavailable,
	"20023": platforms.Unavailable,
	"21331": platforms.Unavailable,

	// Too fast, or the quota is used up.
	"10022": platforms.RateLimited,
	"10023": platforms.RateLimited,
	"10024": platforms.RateLimited,
	"20016": platforms.RateLimited,
	"21303": platforms.RateLimited,

	// App, account or token: a person must act.
	"10004": platforms.Unauthorized,
	"10005": platforms.Unauthorized,
	"10006": platforms.Unauthorized,
	"10013": platforms.Unauthorized,
	"10014": platforms.Unauthorized,
	"20003": platforms.Unauthorized,
	"20015": platforms.Unauthorized,
	"20022": platforms.Unauthorized,
	"20031": platforms.Unauthorized,
	"20033": platforms.Unauthorized,
	"20102": platforms.Unauthorized,
	"20112": platforms.Unauthorized,
	"20122": platforms.Unauthorized,
	"21301": platforms.Unauthorized,
	"21302": platforms.Unauthorized,
	"21311": platforms.Unauthorized,
	"21312": platforms.Unauthorized,
	"21313": platforms.Unauthorized,
	"21314": platforms.Unauthorized,
	"21315": platforms.Unauthorized,
	"21316": platforms.Unauthorized,
	"21317": platforms.Unauthorized,
	"21318": platforms.Unauthorized,
	"21319": platforms.Unauthorized,
	"21321": platforms.Unauthorized,
	"21322": platforms.Unauthorized,
	"21324": platforms.Unauthorized,
	"21325": platforms.Unauthorized,
	"21326": platforms.Unauthorized,
	"21327": platforms.Unauthorized,
	"21330": platforms.Unauthorized,
	"21332": platforms.Unauthorized,
	"21337": platforms.Unauthorized,

	// This content can never pass.
	"10018": platforms.Rejected,
	"20005": platforms.Rejected,
	"20006": platforms.Rejected,
	"20008": platforms.Rejected,
	"20012": platforms.Rejected,
	"20013": platforms.Rejected,
	"20018": platforms.Rejected,
	"20020": platforms.Rejected,
	"20021": platforms.Rejected,
	"20104": platforms.Rejected,
	"21602": platforms.Rejected,

	// We sent nonsense. 10017 is about a parameter's value; what its two known texts
	// mean is in parameterTexts.
	"10007": platforms.Invalid,
	"10008": platforms.Invalid,
	"10012": platforms.Invalid,
	"10016": platforms.Invalid,
	"10017": platforms.Invalid,
	"10020": platforms.Invalid,
	"10021": platforms.Invalid,
	"20001": platforms.Invalid,
	"20002": platforms.Invalid,
	"20007": platforms.Invalid,
	"20009": platforms.Invalid,
	"20109": platforms.Invalid,
	"20121": platforms.Invalid,
	"21304": platforms.Invalid,
	"21305": platforms.Invalid,
	"21306": platforms.Invalid,
	"21307": platforms.Invalid,
	"21308": platforms.Invalid,
	"21309": platforms.Invalid,
	"21310": platforms.Invalid,
	"21320": platforms.Invalid,
	"21323": platforms.Invalid,
	"21328": platforms.Invalid,
	"21329": platforms.Invalid,
	"21335": platforms.Invalid,
	"21503": platforms.Invalid,

	// Posted just now, most likely by us.
	"20017": platforms.Exists,
	"20019": platforms.Exists,
	"20111": platforms.Exists,
}

const (
	codeParameter  = "10017"
	codePostedLate = "20032" // posted, but in no list for a minute or two
	codeGone       = "20101" // statuses/show: there is no such post
	codeExpired    = "21327"
)

// parameterTexts tell the two cases of 10017 apart that share.json is known for,
// as [plain] writes them.
var parameterTexts = map[string]platforms.Kind{
	"text not find domain":   platforms.Rejected,
	"appkey not bind domain": platforms.Unauthorized,
}

// plain is an error's text without capitals and closing marks.
func plain(text string) string { return strings.ToLower(strings.TrimRight(text, ".! ")) }

const authoriseAgain = "authorise the app with this account again and replace access_token"

// hints are what a person can do.
var hints = map[string]string{
	"10004":                  "allow this machine's address in the app's settings, or set rip",
	"10014":                  "the app may not use statuses/share: it has to be approved at open.weibo.com",
	"20015":                  "Weibo has restricted the account, the app or this machine's address: log in at weibo.com with this account and see why",
	"20022":                  "Weibo distrusts this machine's address: post from another one, or wait some hours",
	"20031":                  "log in at weibo.com with this account and answer the captcha",
	"21314":                  authoriseAgain,
	"21315":                  authoriseAgain,
	"21316":                  authoriseAgain,
	"21317":                  authoriseAgain,
	"21319":                  authoriseAgain,
	"21321":                  "add the account to the app's test users, or have the app audited",
	codeExpired:              authoriseAgain,
	"21332":                  authoriseAgain,
	"appkey not bind domain": "enter the security domain in the app's settings, and the same as link_domain",
	"text not find domain":   "link_domain is not the security domain of the app's settings",
}

// hourly are the limits that end with the hour.
var hourly = map[string]bool{"10022": true, "10023": true, "10024": true}

// complaint is what the platform answers instead of a result. The number is a
// string in the documentation.
type complaint struct {
	Error     string      `json:"error"`
	ErrorCode json.Number `json:"error_code"`
}

func (c complaint) code() string {
	if c.ErrorCode == "0" {
		return ""
	}
	return c.ErrorCode.String()
}

// readComplaint decodes the error of a reply; without one it is empty.
func readComplaint(r *httpx.Reply) complaint {
	var c complaint
	if json.Unmarshal(r.Body, &c) != nil {
		return complaint{}
	}
	return c
}

// failure is what a reply complains of: by the platform's code whatever its status,
// and by the status where there is no code. Nil for a success.
func failure(call httpx.Call, r *httpx.Reply) error {
	c := readComplaint(r)
	c.Error = strings.TrimSpace(c.Error)
	code := c.code()
	if code == "" {
		return r.Err()
	}
	kind, hint := Codes.Kind(code), hints[code]
	switch {
	case code == codePostedLate && call == httpx.Write:
		return r.Fail(platforms.Uncertain, platforms.CodeNoID, code+": posted, but it will be visible only in a minute or two")
	case code == codeParameter && parameterTexts[plain(c.Error)] != "":
		kind, hint = parameterTexts[plain(c.Error)], hints[plain(c.Error)]
	case kind == platforms.Uncertain && call != httpx.Write:
		kind = platforms.Unavailable
	}
	message := cmp.Or(c.Error, http.StatusText(r.Status), "error "+code)
	if hint != "" {
		message = strings.TrimRight(message, ".!") + ": " + hint
	}
	e := r.Fail(kind, code, message)
	if hourly[code] && e.RetryAt.IsZero() {
		e.RetryAt = time.Now().Truncate(time.Hour).Add(time.Hour)
	}
	return e
}
