package wechattest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// client speaks the platform's API by hand.
type client struct {
	t     testing.TB
	s     *Server
	token string
}

func newClient(t testing.TB, o Options) *client {
	c := &client{t: t, s: New(o)}
	c.token = c.stable(false)["access_token"].(string)
	return c
}

// do sends a request and returns the answer as JSON and as text.
func (c *client) do(method, path, kind string, body io.Reader) (map[string]any, string, http.Header) {
	c.t.Helper()
	req := httptest.NewRequest(method, "https://api.weixin.qq.com/cgi-bin/"+path, body)
	req.Header.Set("Content-Type", kind)
	rec := httptest.NewRecorder()
	c.s.ServeHTTP(rec, req)
	if rec.Code != http.StatusOK {
		c.t.Errorf("%s: status %d, want 200 for everything", path, rec.Code)
	}
	var out map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
		c.t.Fatalf("%s: %v in %s", path, err, rec.Body)
	}
	return out, rec.Body.String(), rec.Header()
}

func (c *client) post(op, body string) map[string]any {
	c.t.Helper()
	out, _, _ := c.do(http.MethodPost, op+"?access_token="+c.token, "application/json", strings.NewReader(body))
	return out
}

func (c *client) stable(force bool) map[string]any {
	c.t.Helper()
	out, _, _ := c.do(http.MethodPost, "stable_token", "application/json", strings.NewReader(fmt.Sprintf(
		`{"grant_type":"client_credential","appid":"wx0123456789abcdef","secret":"secret","force_refresh":%v}`, force)))
	return out
}

func (c *client) plain() map[string]any {
	c.t.Helper()
	out, _, _ := c.do(http.MethodGet, "token?grant_type=client_credential&appid=wx0123456789abcdef&secret=secret", "", http.NoBody)
	return out
}

func (c *client) upload(op, name string, data []byte) (map[string]any, http.Header) {
	c.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if part, err := w.CreateFormFile("media", name); err != nil {
		c.t.Fatal(err)
	} else if _, err := part.Write(data); err != nil {
		c.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		c.t.Fatal(err)
	}
	out, _, header := c.do(http.MethodPost, op+"access_token="+c.token, w.FormDataContentType(), &b)
	return out, header
}

func (c *client) cover() string {
	c.t.Helper()
	out, _ := c.upload("material/add_material?type=image&", "a.png", pngOf(c.t))
	return out["media_id"].(string)
}

func pngOf(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// code is the errcode of an answer; 0 without one.
func code(out map[string]any) int {
	n, _ := out["errcode"].(float64)
	return int(n)
}

func (c *client) want(what string, out map[string]any, want int) {
	c.t.Helper()
	if got := code(out); got != want {
		c.t.Errorf("%s: errcode %d (%v), want %d", what, got, out["errmsg"], want)
	}
}

func draftOf(cover, more string) string {
	return fmt.Sprintf(`{"articles":[{"title":"标题","content":"<p>文</p>","thumb_media_id":%q%s}]}`, cover, more)
}

func (c *client) draft() string {
	c.t.Helper()
	out := c.post("draft/add", draftOf(c.cover(), ""))
	c.want("draft/add", out, 0)
	return out["media_id"].(string)
}

func TestErrorsComeWithStatus200AndARequestID(t *testing.T) {
	c := newClient(t, Options{})
	rid := regexp.MustCompile(` rid: [0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}$`)
	for want, out := range map[int]map[string]any{
		41001: first(c.do(http.MethodGet, "draft/count", "", http.NoBody)),
		40014: first(c.do(http.MethodGet, "draft/count?access_token=short", "", http.NoBody)),
		40001: first(c.do(http.MethodGet, "draft/count?access_token="+TokenText(99), "", http.NoBody)),
		43001: first(c.do(http.MethodPost, "draft/count", "", http.NoBody)),
		43002: first(c.do(http.MethodGet, "draft/add", "", http.NoBody)),
		40066: first(c.do(http.MethodGet, "no/such", "", http.NoBody)),
		44002: c.post("draft/get", ""),
		47001: c.post("draft/get", "{"),
		40007: c.post("draft/get", `{"media_id":"x"}`),
		53502: nil,
	} {
		if out == nil {
			out = c.post("freepublish/get", `{"publish_id":"1"}`)
		}
		c.want("a faulty call", out, want)
		if !rid.MatchString(out["errmsg"].(string)) {
			t.Errorf("%v has no request id", out)
		}
	}
}

func first(out map[string]any, _ string, _ http.Header) map[string]any { return out }

func TestTheTwoFamiliesOfTokensLeaveEachOtherAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, Options{})
		stable := c.token
		works := func(token string) int {
			return code(first(c.do(http.MethodGet, "draft/count?access_token="+token, "", http.NoBody)))
		}
		old := c.plain()["access_token"].(string)
		next := c.plain()["access_token"].(string)
		if old == next || works(old) != 0 || works(next) != 0 || works(stable) != 0 {
			t.Error("a new token of the plain family ended another one at once")
		}
		time.Sleep(overlap)
		if works(old) != 42001 || works(next) != 0 || works(stable) != 0 {
			t.Error("after five minutes the token before the last one is still good, or others are not")
		}
		if again := c.stable(false); again["access_token"] != stable || again["expires_in"].(float64) != 6900 {
			t.Errorf("stable_token gives %v, want the same token with 6900 s left", again)
		}
		time.Sleep(6900*time.Second - overlap)
		if again := c.stable(false)["access_token"]; again == stable || works(stable) != 0 {
			t.Error("five minutes before its end there is no successor beside the token")
		}
		forced := c.stable(true)["access_token"].(string)
		if c.stable(true)["access_token"] != forced {
			t.Error("a token was forced twice within half a minute")
		}
		for range forcedPerDay - 1 {
			time.Sleep(forcedApart)
			forced = c.stable(true)["access_token"].(string)
		}
		time.Sleep(forcedApart)
		c.want("one more", c.stable(true), 45009)
		if works(forced) != 0 {
			t.Error("the last forced token is not good")
		}
	})
}

func TestACredentialIsChecked(t *testing.T) {
	c := newClient(t, Options{})
	for body, want := range map[string]int{
		`{"grant_type":"x","appid":"wx0123456789abcdef","secret":"secret"}`:                 40002,
		`{"grant_type":"client_credential","appid":"other","secret":"secret"}`:              40013,
		`{"grant_type":"client_credential","appid":"wx0123456789abcdef","secret":"wrong"}`:  40125,
		`{"grant_type":"client_credential","secret":"secret"}`:                              41002,
		`{"grant_type":"client_credential","appid":"wx0123456789abcdef"}`:                   41004,
		`{"grant_type":"client_credential","appid":"wx0123456789abcdef","secret":"secret"}`: 0,
	} {
		c.want(body, first(c.do(http.MethodPost, "stable_token", "application/json", strings.NewReader(body))), want)
	}
	c.s.Configure(func(o *Options) { o.RefusedIP = "1.2.3.4" })
	out := c.stable(false)
	c.want("from elsewhere", out, 40164)
	if !strings.HasPrefix(out["errmsg"].(string), "invalid ip 1.2.3.4 ipv6 ::ffff:1.2.3.4, not in whitelist rid: ") {
		t.Errorf("it says %q", out["errmsg"])
	}
}

func TestQuotasEndAtMidnightInBeijing(t *testing.T) {
	now := time.Date(2026, 6, 17, 15, 59, 0, 0, time.UTC)
	c := newClient(t, Options{Now: func() time.Time { return now }, Daily: map[string]int{"draft/count": 2}, PerMinute: map[string]int{"draft/batchget": 1}})
	call := func() map[string]any {
		return first(c.do(http.MethodGet, "draft/count?access_token="+c.token, "", http.NoBody))
	}
	for _, want := range []int{0, 0, 45009} {
		c.want("draft/count", call(), want)
	}
	out := c.post("openapi/quota/get", `{"cgi_path":"/cgi-bin/draft/count"}`)
	if q := out["quota"].(map[string]any); q["daily_limit"] != 2.0 || q["used"] != 2.0 || q["remain"] != 0.0 {
		t.Errorf("quota %v, want 2 of 2", q)
	}
	c.want("quota of nothing", c.post("openapi/quota/get", `{"cgi_path":"/x"}`), 76021)
	list := `{"offset":0,"count":1}`
	c.want("draft/batchget", c.post("draft/batchget", list), 0)
	c.want("draft/batchget in the same minute", c.post("draft/batchget", list), 45011)
	now = now.Add(time.Minute)
	c.want("draft/count after midnight", call(), 0)
	c.want("draft/batchget in the next minute", c.post("draft/batchget", list), 0)
}

func TestEscapesAreRefusedOrShown(t *testing.T) {
	c := newClient(t, Options{})
	cover := c.cover()
	body := `{"articles":[{"title":"\u4f60","content":"<p>文</p>","thumb_media_id":"` + cover + `"}]}`
	c.want("an escape", c.post("draft/add", body), 47002)
	c.want("a backslash before u", c.post("draft/add", strings.Replace(body, `\u4f60`, `a\\u4f60`, 1)), 0)
	c.s.Configure(func(o *Options) { o.LetEscapesIn = true })
	c.want("an escape", c.post("draft/add", body), 0)
	if got := c.s.Drafts()[1].Articles[0].Title; got != `\u4f60` {
		t.Errorf("readers see %q, want the escape itself", got)
	}
}

func TestPicturesAreJudgedByContent(t *testing.T) {
	c := newClient(t, Options{Library: 1})
	small := pngOf(t)
	tests := []struct {
		op, name string
		data     []byte
		want     int
	}{
		{"media/uploadimg?", "a.gif", small, 0}, // the name says nothing
		{"media/uploadimg?", "a.png", []byte("GIF89a…"), 40005},
		{"media/uploadimg?", "a.png", nil, 40009},
		{"media/uploadimg?", "a.png", append(bytes.Clone(small), make([]byte, 1<<20)...), 40009},
		{"media/uploadimg?", "a.png", small[:20], 40137},
		{"media/uploadimg?", "", small, 41005},
		{"material/add_material?type=image&", "a.png", append(bytes.Clone(small), make([]byte, 1<<20)...), 0},
		{"material/add_material?type=image&", "a.png", small, 45034},
		{"material/add_material?type=film&", "a.png", small, 40004},
	}
	for _, tt := range tests {
		out, header := c.upload(tt.op, tt.name, tt.data)
		c.want(tt.op+tt.name, out, tt.want)
		if plain := strings.HasPrefix(header.Get("Content-Type"), "text/plain"); tt.want == 0 && plain != strings.HasPrefix(tt.op, "media/") {
			t.Errorf("%s answers as %s", tt.op, header.Get("Content-Type"))
		}
	}
}

func TestADraftIsChecked(t *testing.T) {
	c := newClient(t, Options{NoComments: true})
	cover := c.cover()
	long := func(n int) string { return strings.Repeat("汉", n) }
	article := func(title, content, more string) string {
		return fmt.Sprintf(`{"articles":[{"title":%q,"content":%q,"thumb_media_id":%q%s}]}`, title, content, cover, more)
	}
	for body, want := range map[string]int{
		article(long(64), "文", `,"author":"`+long(16)+`","digest":"`+long(128)+`"`): 0,
		article(long(65), "文", ""):                               45003,
		article("题", "文", `,"digest":"`+long(129)+`"`):           45004,
		article("题", "文", `,"author":"`+long(17)+`"`):            45110,
		article("题", long(20_000), ""):                           45002,
		article("题", "", ""):                                     44004,
		article("", "文", ""):                                     40227,
		article("题", "<iframe></iframe>", ""):                    45166,
		article("题", "文", `,"content_source_url":"example.com"`): 41039,
		article("题", "文", `,"need_open_comment":1`):              88000,
		draftOf("unknown", ""):                                   40007,
		`{"articles":[]}`:                                        44003,
		`{"articles":{"title":"题"}}`:                             44003,
		article("题", "文", `,"article_type":"newspic"`):           41026,
		article("题", "文", `,"article_type":"newspic","image_info":{"image_list":[{"image_media_id":"x"}]}`): 40007,
	} {
		c.want(body[:min(len(body), 80)], c.post("draft/add", body), want)
	}
	c.want("draft/update with a list", c.post("draft/update", `{"media_id":"`+c.s.Drafts()[0].MediaID+`","articles":[]}`), 44003)
	c.want("draft/update beyond the draft", c.post("draft/update", `{"media_id":"`+c.s.Drafts()[0].MediaID+`","index":1,"articles":{}}`), 40114)
	for list, want := range map[string]int{`{"offset":0,"count":20}`: 0, `{"offset":0,"count":21}`: 40097, `{"offset":0,"count":0}`: 40097} {
		c.want("draft/batchget "+list, c.post("draft/batchget", list), want)
	}
}

func TestReadersSeeOnlyThePlatformsPictures(t *testing.T) {
	c := newClient(t, Options{})
	out, _ := c.upload("media/uploadimg?", "a.png", pngOf(t))
	own := out["url"].(string)
	content := fmt.Sprintf(`<p class="x" id="y"><img src="%s"><img src="%s"><img src="https://example.com/b.png"><a href="https://example.com">a</a><a href="https://mp.weixin.qq.com/s/1">b</a></p>`,
		own, strings.Replace(own, "http:", "https:", 1))
	c.want("draft/add", c.post("draft/add", fmt.Sprintf(`{"articles":[{"title":"题","content":%q,"thumb_media_id":%q}]}`, content, c.cover())), 0)
	got := c.s.Drafts()[0].Articles[0].Content
	if strings.Count(got, "<img") != 2 || strings.Contains(got, "example.com") || strings.Contains(got, "class=") || !strings.Contains(got, `href="https://mp.weixin.qq.com/s/1"`) {
		t.Errorf("readers see %s", got)
	}
}

func TestAPublicationGoesItsWay(t *testing.T) {
	c := newClient(t, Options{Statuses: []int{1, 0, 5}})
	media := c.draft()
	out := c.post("freepublish/submit", `{"media_id":"`+media+`"}`)
	id, isText := out["publish_id"].(string)
	if !isText || len(c.s.Drafts()) != 0 || len(c.s.Publications()) != 1 {
		t.Fatalf("submitted: %v, %d drafts, %d publications; want a text as id, none and one", out, len(c.s.Drafts()), len(c.s.Publications()))
	}
	c.want("the same draft", c.post("freepublish/submit", `{"media_id":"`+media+`"}`), 40007)
	for i, want := range []float64{1, 0, 5, 5} {
		got := c.post("freepublish/get", `{"publish_id":"`+id+`"}`)
		if got["publish_status"] != want || (want == 0) != (got["article_id"] != nil) {
			t.Errorf("poll %d: %v, want status %v", i+1, got, want)
		}
	}
	if n := len(c.s.Publications()); n != 0 {
		t.Errorf("%d publications after the owner deleted it, want none", n)
	}

	c.s.Configure(func(o *Options) { o.Statuses, o.NumericIDs = []int{4}, true })
	media = c.draft()
	out = c.post("freepublish/submit", `{"media_id":"`+media+`"}`)
	number, isNumber := out["publish_id"].(float64)
	if got := c.post("freepublish/get", fmt.Sprintf(`{"publish_id":%.0f}`, number)); !isNumber || got["publish_status"] != 4.0 {
		t.Errorf("refused: %v, then %v; want a number as id, and status 4", out, got)
	}
	if len(c.s.Drafts()) != 1 || len(c.s.Publications()) != 0 {
		t.Error("a refused draft left the draft box, or readers see it")
	}
	c.s.Configure(func(o *Options) { o.NoPublish = true })
	for _, op := range []string{"submit", "get", "batchget", "delete"} {
		c.want("freepublish/"+op, c.post("freepublish/"+op, "{}"), 48001)
	}
}

func TestADeletedDraftMayBeDeletedAgain(t *testing.T) {
	for _, want := range []int{0, 40007} {
		c := newClient(t, Options{DeletedTwice: want})
		media := c.draft()
		c.want("draft/delete", c.post("draft/delete", `{"media_id":"`+media+`"}`), 0)
		c.want("draft/delete again", c.post("draft/delete", `{"media_id":"`+media+`"}`), want)
	}
}

func TestANewCoverIsUnknownForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, Options{MediaDelay: 3 * time.Second})
		cover := c.cover()
		c.want("at once", c.post("draft/add", draftOf(cover, "")), 40007)
		time.Sleep(3 * time.Second)
		c.want("later", c.post("draft/add", draftOf(cover, "")), 0)
	})
}

func TestSlashesComeEscaped(t *testing.T) {
	c := newClient(t, Options{})
	media := c.draft()
	_, text, _ := c.do(http.MethodPost, "draft/get?access_token="+c.token, "application/json", strings.NewReader(`{"media_id":"`+media+`"}`))
	if !strings.Contains(text, `<p>文<\/p>`) || !strings.Contains(text, `http:\/\/mp.weixin.qq.com\/s`) {
		t.Errorf("got %s, want raw characters and escaped slashes", text)
	}
}

func TestAScriptedFaultDoesWhatItsNameSays(t *testing.T) {
	tests := []struct {
		name    string
		fault   func(s *Server) Fault
		wantErr bool
		drafts  int
	}{
		{"answer", func(s *Server) Fault { return s.Answer(45009) }, false, 0},
		{"status", func(*Server) Fault { return AnswerStatus(502) }, false, 0},
		{"refuse", func(*Server) Fault { return Refuse() }, true, 0},
		{"lose the reply", func(*Server) Fault { return LoseReply() }, true, 1},
		{"delay", func(*Server) Fault { return Delay(time.Millisecond) }, false, 1},
		{"delay until the client goes", func(*Server) Fault { return Delay(time.Hour) }, true, 0},
		{"hang", func(*Server) Fault { return Hang() }, true, 0},
		{"without a body", func(*Server) Fault { return WithoutBody() }, false, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, sockets := range []bool{true, false} {
				c := newClient(t, Options{})
				body := draftOf(c.cover(), "")
				address, transport := "http://wechat.test", c.s.Transport()
				if sockets {
					web := httptest.NewServer(c.s)
					defer web.Close()
					address, transport = web.URL, http.DefaultTransport
				}
				c.s.Script("draft/add", 2, tt.fault(c.s))
				for call := 1; call <= 2; call++ {
					patience := time.Minute
					if strings.Contains(tt.name, "hang") || strings.Contains(tt.name, "goes") {
						patience = 100 * time.Millisecond
					}
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					req, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/cgi-bin/draft/add?access_token="+c.token, strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					resp, err := transport.RoundTrip(req)
					if err == nil {
						_, err = io.Copy(io.Discard, resp.Body)
						_ = resp.Body.Close()
					}
					cancel()
					if (err != nil) != (tt.wantErr && call == 2) {
						t.Errorf("sockets %v, call %d: %v", sockets, call, err)
					}
					if call == 2 && strings.Contains(tt.name, "hang") && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("sockets %v: %v, want the deadline", sockets, err)
					}
				}
				if n := len(c.s.Drafts()); n != 1+tt.drafts {
					t.Errorf("sockets %v: %d drafts, want %d", sockets, n, 1+tt.drafts)
				}
				c.s.Script("", 0, c.s.Answer(-1))
				c.s.Unscript()
				c.want("draft/count", first(c.do(http.MethodGet, "draft/count?access_token="+c.token, "", http.NoBody)), 0)
				if n := c.s.Calls("draft/add"); n != 2 {
					t.Errorf("%d calls counted, want 2", n)
				}
			}
		})
	}
}
