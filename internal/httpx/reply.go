package httpx

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-resty/resty/v2"

	"herald/platforms"
)

// Reply is an answer, read to its end.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte

	x        *exchange
	received time.Time
	location string // where a redirect wanted to go, without its query
}

func newReply(x *exchange, resp *resty.Response) *Reply {
	r := &Reply{
		Status: resp.StatusCode(), Header: resp.Header(), Body: resp.Body(),
		x: x, received: resp.ReceivedAt(),
	}
	if to, err := resp.RawResponse.Location(); err == nil {
		r.location = place(to.String())
	}
	return r
}

// Err is nil for a 2xx, else what the status means by [StatusKind], with the
// reason that the body gives. An adapter looks for its platform's own code first.
func (r *Reply) Err() error {
	kind := StatusKind(r.x.call, r.Status, r.Header)
	if kind == "" {
		return nil
	}
	return r.Fail(kind, strconv.Itoa(r.Status), "")
}

// Fail is a failure that this reply tells of, with the waiting time its headers
// ask for. The message may quote the body: secrets are taken out of it. An empty
// one becomes the reason that the body gives.
func (r *Reply) Fail(kind platforms.Kind, code, message string) *platforms.Error {
	e := &platforms.Error{
		Platform: r.x.c.o.Platform, Op: r.x.op, Kind: kind,
		Code: code, Message: shorten(r.x.c.Redact(cmp.Or(message, r.reason()))),
	}
	// The reset of a quota that is not used up is no reason to wait.
	if kind == platforms.RateLimited {
		e.RetryAt, _ = RetryAfter(r.Header, r.received)
	} else if wait := retryAfter(r.Header, serverTime(r.Header, r.received)); wait > 0 {
		e.RetryAt = r.received.Add(wait)
	}
	return e
}

// JSON decodes the body of a success into v. A success that is not JSON, such as
// a login page or a challenge, leaves a write Uncertain; a read is Unavailable.
func (r *Reply) JSON(v any) error {
	body := bytes.TrimPrefix(r.Body, []byte("\ufeff"))
	err := json.Unmarshal(body, v)
	if err == nil {
		return nil
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	e := r.Fail(lost(r.x.call), strconv.Itoa(r.Status),
		fmt.Sprintf("answered %d, but not with the JSON expected (%s): %s", r.Status, kind, r.reason()))
	e.Err = err
	return e
}

// reason is what a reply says in words, for people only.
func (r *Reply) reason() string {
	if r.location != "" {
		return fmt.Sprintf("%s: redirected to %s; correct base_url", http.StatusText(r.Status), r.location)
	}
	if text := shorten(bodyText(r.Body)); text != "" {
		return text
	}
	return http.StatusText(r.Status)
}

var (
	htmlTitle  = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
	reasonKeys = []string{"message", "msg", "errmsg", "error_description", "detail", "error", "errors", "title"}
)

func bodyText(body []byte) string {
	var v any
	if json.Unmarshal(body, &v) == nil {
		return jsonReason(v)
	}
	body = body[:min(len(body), 64<<10)]
	if m := htmlTitle.FindSubmatch(body); m != nil {
		return html.UnescapeString(string(m[1]))
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		return ""
	}
	return string(body)
}

// jsonReason finds the first text under one of the usual names.
func jsonReason(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		if len(v) > 0 {
			return jsonReason(v[0])
		}
	case map[string]any:
		for _, key := range reasonKeys {
			if s := jsonReason(v[key]); s != "" {
				return s
			}
		}
	}
	return ""
}

// shorten makes one line of at most 300 characters, without what a terminal
// would obey.
func shorten(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > 300 {
		return string(runes[:299]) + "…"
	}
	return s
}
