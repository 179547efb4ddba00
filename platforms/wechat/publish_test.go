package wechat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/platforms"
	"herald/platforms/platformtest"
	"herald/platforms/wechat/wechattest"
)

func TestASubmissionThatFailedGoesOnWithTheSameDraft(t *testing.T) { // B16
	s := wechattest.New(wechattest.Options{})
	c := open(t, s, publishing)
	p, m := simple(t, c), platformtest.NewMemo()
	s.Script("freepublish/submit", 1, wechattest.AnswerStatus(http.StatusInternalServerError))
	_, err := c.Publish(t.Context(), p, m)
	failureOf(t, err, platforms.Uncertain)
	found, err := c.Find(t.Context(), p, time.Now().Add(-time.Minute), m)
	if err != nil || found.Outcome != platforms.Absent {
		t.Errorf("found %+v, %v; want Absent: readers do not have it", found, err)
	}
	r := mustPublish(t, c, p, m)
	if !r.Pending || s.Calls("draft/add") != 1 || len(s.Publications()) != 1 {
		t.Errorf("receipt %+v, %d drafts made, %d publications; want one of each", r, s.Calls("draft/add"), len(s.Publications()))
	}
}

func TestAnAccountThatMayNotPublishKeepsTheDraft(t *testing.T) { // B26
	s := wechattest.New(wechattest.Options{NoPublish: true})
	c := open(t, s, publishing)
	p, m := simple(t, c), platformtest.NewMemo()
	r := mustPublish(t, c, p, m)
	drafts := s.Drafts()
	if len(drafts) != 1 || r.ID != drafts[0].MediaID || r.Pending || !strings.HasPrefix(r.Note, "draft: ") || !strings.Contains(r.Note, "48001") {
		t.Errorf("receipt %+v for drafts %+v, want the draft and why", r, drafts)
	}
	if n := s.Calls("stable_token"); n != 1 {
		t.Errorf("%d calls for a token, want 1", n)
	}
	again := mustPublish(t, c, p, m)
	if again != r || s.Calls("freepublish/submit") != 1 {
		t.Errorf("again: %+v after %d submissions, want the same and no other", again, s.Calls("freepublish/submit"))
	}
	found, err := c.Find(t.Context(), p, time.Now().Add(-time.Minute), m)
	if err != nil || found.Receipt.ID != r.ID || found.Receipt.Note != r.Note {
		t.Errorf("found %+v, %v; want the receipt", found, err)
	}
}

func TestADayQuotaHoldsUntilMidnightInBeijing(t *testing.T) { // B30
	s := wechattest.New(wechattest.Options{Daily: map[string]int{"draft/add": 2}})
	c := open(t, s)
	for range 2 {
		mustPublish(t, c, simple(t, c), platformtest.NewMemo())
	}
	_, err := c.Publish(t.Context(), simple(t, c), platformtest.NewMemo())
	e := failureOf(t, err, platforms.RateLimited)
	next := midnight(time.Now())
	if e.Code != "45009" || e.RetryAt.Before(next) || e.RetryAt.After(next.Add(10*time.Minute)) {
		t.Errorf("code %s, again at %s; want 45009 and within ten minutes of %s", e.Code, e.RetryAt, next)
	}
	if !strings.Contains(e.Message, "2 of 2 calls") || s.Calls("openapi/quota/get") != 1 {
		t.Errorf("message %q after %d questions, want how much is used, asked once", e.Message, s.Calls("openapi/quota/get"))
	}
}

func TestAMinuteQuotaHoldsForAMinute(t *testing.T) {
	s := wechattest.New(wechattest.Options{})
	c := open(t, s)
	s.Script("draft/add", 1, s.Answer(45011))
	_, err := c.Publish(t.Context(), simple(t, c), platformtest.NewMemo())
	e := failureOf(t, err, platforms.RateLimited)
	if wait := time.Until(e.RetryAt); wait < 50*time.Second || wait > 2*time.Minute {
		t.Errorf("wait %s, want a minute", wait)
	}
	if s.Calls("openapi/quota/get") != 0 {
		t.Error("a quota of a minute was asked for")
	}
}

func TestCharactersAreSentAsTheyAre(t *testing.T) { // B51
	s := wechattest.New(wechattest.Options{})
	s.Configure(func(o *wechattest.Options) { o.Secret = testSecret })
	network := &recorder{next: s.Transport()}
	c, err := New(testConfig(modeDraft), testEnv(t, network))
	if err != nil {
		t.Fatal(err)
	}
	const title = "你好 & <Go> 🚀"
	text := "---\ntitle: \"" + title + "\u2028\"\nsummary: \"a<b\\u0001 & c\"\n---\n正文 & <b>粗</b>\u2029 🚀\n\n```go\nx := \"\\u4f60\"\n```\n\n![](a.png)\n"
	mustPublish(t, c, render(t, c, write(t, text, map[string][]byte{"a.png": pngOf(t, 8, 8)})), platformtest.NewMemo())
	body := string(network.sent[slices.Index(network.urls, "/cgi-bin/draft/add")])
	if !strings.Contains(body, `"title":"`+title+`"`) || strings.Contains(body, `\u`) {
		t.Errorf("sent %s, want raw characters and no escape", body)
	}
	if d := s.Drafts()[0].Articles[0]; d.Title != title || d.Digest != "a<b & c" || !strings.Contains(d.Content, "🚀") {
		t.Errorf("the draft has %q, %q, %q", d.Title, d.Digest, d.Content)
	}
}

func TestAnUploadHasNameTypeAndLength(t *testing.T) { // B56
	s := wechattest.New(wechattest.Options{})
	s.Configure(func(o *wechattest.Options) { o.Secret = testSecret })
	var header *multipart.FileHeader
	var length int64
	network := roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != "/cgi-bin/media/uploadimg" {
			return s.Transport().RoundTrip(r)
		}
		var b bytes.Buffer
		if _, err := b.ReadFrom(r.Body); err != nil {
			return nil, err
		}
		length = r.ContentLength
		_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil {
			return nil, err
		}
		form, err := multipart.NewReader(bytes.NewReader(b.Bytes()), params["boundary"]).ReadForm(1 << 20)
		if err != nil {
			return nil, err
		}
		header = form.File["media"][0]
		again := r.Clone(r.Context())
		again.Body = readCloser{bytes.NewReader(b.Bytes())}
		return s.Transport().RoundTrip(again)
	})
	c, err := New(testConfig(modeDraft), testEnv(t, network))
	if err != nil {
		t.Fatal(err)
	}
	mustPublish(t, c, render(t, c, write(t, "# 标题\n\n![](图片.png)\n", map[string][]byte{"图片.png": pngOf(t, 8, 8)})), platformtest.NewMemo())
	if header == nil || header.Filename != "image.png" || header.Header.Get("Content-Type") != "image/png" || header.Size == 0 || length <= header.Size {
		t.Errorf("part %+v of %d bytes, want an ASCII name, the type and a length", header, length)
	}
}

func TestPicturesAreMadeToFit(t *testing.T) { // B64
	huge := pngOf(t, 700, 700) // 1.5 MB
	heic := []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00heicmif1")
	tests := []struct {
		name, file string
		content    []byte
		kind       platforms.Kind
		endpoint   string // where it goes
		wantType   string
	}{
		{"a small PNG as it is", "a.png", pngOf(t, 8, 8), "", "media/uploadimg", "image/png"},
		{"a large PNG smaller", "a.png", huge, "", "media/uploadimg", ""},
		{"a large JPEG smaller", "a.jpg", jpegOf(t, 1000, 1000), "", "media/uploadimg", "image/jpeg"},
		{"a GIF with its animation", "a.gif", gifOf(t), "", "material/add_material", "image/gif"},
		{"HEIC not at all", "a.heic", heic, platforms.Rejected, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := wechattest.New(wechattest.Options{})
			c := open(t, s)
			a := write(t, "---\ntitle: 标题\ncover: cover.png\n---\n文 ![]("+tt.file+")\n", map[string][]byte{tt.file: tt.content, "cover.png": pngOf(t, 9, 9)})
			_, err := c.Publish(t.Context(), render(t, c, a), platformtest.NewMemo())
			if tt.kind != "" {
				if e := failureOf(t, err, tt.kind); !strings.Contains(e.Message, tt.file) {
					t.Errorf("error %v does not name %s", e, tt.file)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := s.Images()
			if tt.endpoint == "material/add_material" {
				got = slices.DeleteFunc(s.Material(), func(im wechattest.Image) bool { return im.Type != tt.wantType })
			}
			if len(got) != 1 || tt.wantType != "" && got[0].Type != tt.wantType || got[0].Size >= 1<<20 {
				t.Fatalf("uploaded %+v, want one of type %s below 1 MB", got, tt.wantType)
			}
			if content := s.Drafts()[0].Articles[0].Content; !strings.Contains(content, got[0].URL) {
				t.Errorf("readers see %q, want the picture %s", content, got[0].URL)
			}
		})
	}
}

func TestAPictureThatIsNeverAnsweredIsNamedAndTheOthersGoOn(t *testing.T) { // B65, B18
	synctest.Test(t, func(t *testing.T) {
		s := wechattest.New(wechattest.Options{})
		c := open(t, s)
		p := render(t, c, write(t, "# 标题\n\n![](a.png) ![](b.png) ![](c.png) ![](d.png) ![](e.png)\n", fivePictures(t)))
		s.Script("media/uploadimg", 3, wechattest.Hang())
		m := platformtest.NewMemo()
		began := time.Now()
		_, err := c.Publish(t.Context(), p, m)
		e := failureOf(t, err, platforms.Unavailable)
		named := slices.DeleteFunc([]string{"a.png", "b.png", "c.png", "d.png", "e.png"}, func(f string) bool { return !strings.Contains(e.Message, f) })
		if len(named) != 1 || time.Since(began) != imageTimeout {
			t.Errorf("after %s: %v, want one picture named after %s", time.Since(began), e, imageTimeout)
		}
		if n := len(s.Images()); n != 4 {
			t.Errorf("%d pictures uploaded, want the 4 others", n)
		}
		mustPublish(t, c, p, m)
		if n := len(s.Images()); n != 5 {
			t.Errorf("%d pictures uploaded, want each once", n)
		}

		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		s.Script("material/add_material", 1, func(w http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
			cancel(stopped)
			wechattest.Hang()(w, r, usual)
		})
		began = time.Now()
		if _, err := c.Publish(ctx, p, platformtest.NewMemo()); !errors.Is(err, stopped) || time.Since(began) != 0 {
			t.Errorf("after %s: %v, want the stop at once", time.Since(began), err)
		}
	})
}

func TestAPictureThatFailsDoesNotSendTheOthersAgain(t *testing.T) { // B67
	s := wechattest.New(wechattest.Options{})
	c := open(t, s)
	p := render(t, c, write(t, "# 标题\n\n![](a.png) ![](b.png) ![](c.png) ![](d.png) ![](e.png)\n", fivePictures(t)))
	m := platformtest.NewMemo()
	s.Script("media/uploadimg", 5, s.Answer(-1))
	s.Script("media/uploadimg", 6, wechattest.AnswerStatus(http.StatusBadGateway))
	for range 2 {
		_, err := c.Publish(t.Context(), p, m)
		failureOf(t, err, platforms.Unavailable)
	}
	mustPublish(t, c, p, m)
	if n := s.Uploads(); n != 6 {
		t.Errorf("%d uploads, want 5 pictures and a cover", n)
	}
}

func TestAFaultOfTheAccountIsNotMetByEveryPicture(t *testing.T) {
	s := wechattest.New(wechattest.Options{})
	c := open(t, s)
	files, text := map[string][]byte{}, "# 标题\n\n"
	for i := range 12 {
		name := fmt.Sprintf("%d.png", i)
		files[name], text = pngOf(t, 8, 8+i), text+"![]("+name+")\n"
	}
	s.Script("media/uploadimg", 0, s.Answer(45009))
	_, err := c.Publish(t.Context(), render(t, c, write(t, text, files)), platformtest.NewMemo())
	failureOf(t, err, platforms.RateLimited)
	if n := s.Calls("media/uploadimg"); n > sideBySide+1 {
		t.Errorf("%d uploads begun, want no more than were under way", n)
	}
}

func TestACoverThatIsNotKnownYetIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := wechattest.New(wechattest.Options{MediaDelay: 4 * time.Second})
		c := open(t, s)
		mustPublish(t, c, simple(t, c), platformtest.NewMemo())
		if n := s.Calls("draft/add"); n != 3 {
			t.Errorf("%d tries, want 3: at once, after 2.5 s and after 5 s", n)
		}
	})
}

func TestACoverThatAPersonDeletedIsUploadedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := wechattest.New(wechattest.Options{})
		c := open(t, s)
		p, m := simple(t, c), platformtest.NewMemo()
		s.Script("draft/add", 1, s.Answer(45011))
		if _, err := c.Publish(t.Context(), p, m); err == nil {
			t.Fatal("published, want the quota")
		}
		s.ForgetMaterial()
		_, err := c.Publish(t.Context(), p, m)
		failureOf(t, err, platforms.Unavailable)
		mustPublish(t, c, p, m)
		if n := s.Calls("material/add_material"); n != 2 {
			t.Errorf("%d uploads of the cover, want 2", n)
		}
	})
}

func TestCommentsAreLeftOutWhereTheAccountHasNone(t *testing.T) {
	s := wechattest.New(wechattest.Options{NoComments: true})
	c := open(t, s, func(c *Config) { c.NeedOpenComment, c.OnlyFansCanComment = true, true })
	mustPublish(t, c, simple(t, c), platformtest.NewMemo())
	if d := s.Drafts(); len(d) != 1 || d[0].Articles[0].NeedOpenComment != 0 {
		t.Errorf("drafts %+v, want one without comments", d)
	}
}

func TestARefusedBodyIsKeptForAPerson(t *testing.T) { // B45
	s := wechattest.New(wechattest.Options{})
	c := open(t, s)
	p := simple(t, c)
	s.Script("draft/add", 1, s.Answer(45166))
	_, err := c.Publish(t.Context(), p, platformtest.NewMemo())
	e := failureOf(t, err, platforms.Rejected)
	kept, readErr := os.ReadFile(filepath.Join(c.dir, "refused", p.Slug+".html"))
	if readErr != nil || !bytes.Contains(kept, []byte("mmbiz.qpic.cn")) || !strings.Contains(e.Message, "refused") {
		t.Errorf("kept %q (%v), error %v; want what was sent and where it is", kept, readErr, e)
	}
}

func TestAnImagePostHasPermanentPictures(t *testing.T) {
	s := wechattest.New(wechattest.Options{})
	c := open(t, s)
	text := "---\ntitle: 三张图\nwechat: { article_type: newspic, need_open_comment: true, only_fans_can_comment: 1 }\n---\n说明 **文字**。\n\n![](a.png) ![](b.png) ![](c.png)\n"
	p := render(t, c, write(t, text, fivePictures(t)))
	r := mustPublish(t, c, p, platformtest.NewMemo())
	d := s.Drafts()[0]
	a := d.Articles[0]
	if r.ID != d.MediaID || a.Type != "newspic" || len(a.ImageInfo.List) != 3 || a.Content != "说明 文字。" || a.NeedOpenComment != 1 || a.OnlyFansCanComment != 1 {
		t.Errorf("draft %+v, want an image post", a)
	}
	if s.Calls("media/uploadimg") != 0 || len(s.Material()) != 3 {
		t.Errorf("%d body pictures and %d permanent ones, want none and 3", s.Calls("media/uploadimg"), len(s.Material()))
	}
}

func TestAnAcceptedDraftWithoutAnIDIsLookedFor(t *testing.T) {
	for _, mode := range []string{modeDraft, modePublish} {
		s := wechattest.New(wechattest.Options{})
		c := open(t, s, func(c *Config) { c.Mode = mode })
		p, m := simple(t, c), platformtest.NewMemo()
		endpoint := map[string]string{modeDraft: "draft/add", modePublish: "freepublish/submit"}[mode]
		s.Script(endpoint, 1, wechattest.WithoutBody())
		_, err := c.Publish(t.Context(), p, m)
		if e := failureOf(t, err, platforms.Uncertain); e.Code != platforms.CodeNoID {
			t.Errorf("%s: code %q, want %q", endpoint, e.Code, platforms.CodeNoID)
		}
		found, err := c.Find(t.Context(), p, time.Now().Add(-time.Minute), m)
		if err != nil || found.Outcome != platforms.Present {
			t.Errorf("%s: found %+v, %v; want Present", endpoint, found, err)
		}
	}
}
