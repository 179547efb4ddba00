package xiaohongshu

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/article"
	"herald/platforms"
	"herald/platforms/platformtest"
	"herald/platforms/xiaohongshu/xiaohongshutest"
)

const (
	token   = "hush-hush/token"
	publish = "POST /api/v1/publish"
	me      = "GET /api/v1/user/me"
)

func config() Config {
	return Config{BaseURL: []string{"http://localhost:18060"}, Token: token}
}

func TestSuite(t *testing.T) {
	platformtest.Run(t, platformtest.Case{
		Type: platform,
		New: func(testing.TB) *platformtest.World {
			s := xiaohongshutest.New(xiaohongshutest.Options{Token: token, Pinned: "置顶"})
			return &platformtest.World{
				Transport: s.Transport(),
				Open:      func(env platforms.Env) (platforms.Platform, error) { return New(config(), env) },
				Posts: func() []string {
					var texts []string
					for _, n := range s.Notes() {
						texts = append(texts, n.Title+"\n"+n.Content)
					}
					return texts
				},
				Answer: func(code string) { s.Script(answerers[code], 0, xiaohongshutest.Answer(code, "details")) },
			}
		},
		TooLong:  &article.Article{ID: "a", Title: strings.Repeat("一", 21), Body: "文"},
		Codes:    Codes,
		Unlisted: "NEW_CODE",
		Secrets:  []string{token},
	})
}

// answerers are the calls that answer with a code; an unlisted one comes from the
// publication.
var answerers = map[string]string{
	"UNAUTHORIZED": "", "INVALID_REQUEST": publish, "INTERNAL_ERROR": publish, "NEW_CODE": publish,
	"STATUS_CHECK_FAILED": "GET /api/v1/login/status", "GET_MY_PROFILE_FAILED": me,
	"GET_FEED_DETAIL_FAILED": me,
}

// world is an account with an adapter on it.
type world struct {
	*xiaohongshutest.Server
	*Client
	dir string
	log *bytes.Buffer
}

func newWorld(t *testing.T, o xiaohongshutest.Options) *world {
	t.Helper()
	o.Token = token
	w := &world{Server: xiaohongshutest.New(o), dir: t.TempDir(), log: &bytes.Buffer{}}
	w.restart(t)
	return w
}

func (w *world) restart(t *testing.T) {
	t.Helper()
	c, err := New(config(), platforms.Env{
		Target: "xiaohongshu", Dir: w.dir, Location: time.UTC, Transport: w.Server.Transport(),
		Log: slog.New(slog.NewTextHandler(w.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Client = c
}

func (w *world) post(t *testing.T, title string) platforms.Post {
	t.Helper()
	p, err := w.Render(&article.Article{ID: "slug", Title: title, Body: "正文。", Images: []article.Image{dot(t, w.dir)}})
	if err != nil {
		t.Fatal(err)
	}
	p.Key = "key of " + title
	return p
}

// dot is a picture of one pixel, which is quicker than a card.
func dot(t *testing.T, dir string) article.Image {
	t.Helper()
	file := filepath.Join(dir, "dot.gif")
	if err := os.WriteFile(file, []byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"), 0o600); err != nil {
		t.Fatal(err)
	}
	return article.Image{Ref: "dot.gif", Path: file}
}

func failed(t *testing.T, err error) *platforms.Error {
	t.Helper()
	e, ok := errors.AsType[*platforms.Error](err)
	if !ok {
		t.Fatalf("error %v is no platform's", err)
	}
	return e
}

func began() time.Time { return time.Now().Add(-2 * time.Second) }

func TestANoteHasTextTagsAndPictures(t *testing.T) {
	w := newWorld(t, xiaohongshutest.Options{})
	p, err := w.Render(platformtest.Samples(t).One)
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.Publish(t.Context(), p, platformtest.NewMemo())
	if err != nil {
		t.Fatal(err)
	}
	n := w.Notes()[0]
	if n.Title != "错误处理" || !strings.HasPrefix(n.Content, "出错不可怕") || !slices.Equal(n.Tags, []string{"go", "架构"}) || len(n.Images) != 2 {
		t.Errorf("note %q %q %q with %d pictures", n.Title, n.Content, n.Tags, len(n.Images))
	}
	if r.ID != n.ID || !strings.HasPrefix(r.URL, "https://www.xiaohongshu.com/explore/"+n.ID+"?xsec_token=AB") {
		t.Errorf("receipt %+v", r)
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, "images", "*")); len(left) != 0 {
		t.Errorf("pictures are left: %q", left)
	}
}

func TestAnArticleWithoutPicturesGetsCards(t *testing.T) { // B41
	w := newWorld(t, xiaohongshutest.Options{})
	p, err := w.Render(&article.Article{ID: "a", Title: "题", Body: strings.Repeat("很长的一段话。", 145)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Publish(t.Context(), p, platformtest.NewMemo()); err != nil {
		t.Fatal(err)
	}
	images := w.Notes()[0].Images
	if len(images) != 4 {
		t.Fatalf("%d cards, want the whole text on 4", len(images))
	}
	for _, data := range images {
		if card, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || card.Width != 1080 || card.Height != 1440 {
			t.Errorf("card %+v, %v", card, err)
		}
	}
}

func TestASuccessWithoutANoteIsNeverRepeated(t *testing.T) { // B37
	w := newWorld(t, xiaohongshutest.Options{})
	w.Add("甲", time.Now().Add(-time.Hour)) // an older one with the same title
	p, m := w.post(t, "甲"), platformtest.NewMemo()
	since := began()
	w.Script(publish, 1, xiaohongshutest.WithoutNote())
	_, err := w.Publish(t.Context(), p, m)
	if e := failed(t, err); e.Kind != platforms.Uncertain || e.Code != platforms.CodeNoID {
		t.Fatalf("got %+v, want uncertain without an id", e)
	}
	if found, err := w.Find(t.Context(), p, since, m); err != nil || found.Outcome != platforms.Absent {
		t.Errorf("found %+v, %v; want Absent", found, err)
	}
}

func TestAnUnconfirmedClickIsLookedUpAndNeverRepeated(t *testing.T) {
	for _, there := range []bool{true, false} {
		w := newWorld(t, xiaohongshutest.Options{})
		p, m := w.post(t, "甲"), platformtest.NewMemo()
		since := began()
		w.Script(publish, 1, xiaohongshutest.Unconfirmed(there))
		_, err := w.Publish(t.Context(), p, m)
		if e := failed(t, err); e.Kind != platforms.Uncertain || e.Code != platforms.CodeNoID || !strings.Contains(e.Message, "herald resolve") {
			t.Fatalf("got %+v, want uncertain without an id, and a hint", e)
		}
		found, err := w.Find(t.Context(), p, since, m)
		if err != nil || (found.Outcome == platforms.Present) != there {
			t.Errorf("note there: %v; found %+v, %v", there, found, err)
		}
	}
}

func TestALateAnswerIsWaitedFor(t *testing.T) { // B38
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, xiaohongshutest.Options{})
		w.Script(publish, 1, xiaohongshutest.Slow(150*time.Second, 200*time.Second))
		start := time.Now()
		r, err := w.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo())
		if err != nil || r.ID != w.Notes()[0].ID {
			t.Errorf("receipt %+v, %v", r, err)
		}
		if took := time.Since(start); took != 200*time.Second || w.Calls(publish) != 1 {
			t.Errorf("took %v with %d calls", took, w.Calls(publish))
		}
		if Advice.Timeout < 300*time.Second {
			t.Errorf("advised timeout %v is below the interface's own", Advice.Timeout)
		}
	})
}

func TestAnAnswerThatComesTooLateIsReconciledByTitle(t *testing.T) { // B38
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, xiaohongshutest.Options{})
		p, m := w.post(t, "甲"), platformtest.NewMemo()
		since := began()
		w.Script(publish, 1, xiaohongshutest.Slow(150*time.Second, 200*time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		if _, err := w.Publish(ctx, p, m); platforms.KindOf(err) != platforms.Uncertain {
			t.Fatalf("error %v, want uncertain", err)
		}
		if found, err := w.Find(t.Context(), p, since, m); err != nil || found.Outcome != platforms.Absent {
			t.Errorf("at once: %+v, %v", found, err)
		}
		<-time.After(time.Minute)
		found, err := w.Find(t.Context(), p, since, m)
		if err != nil || found.Outcome != platforms.Present || w.Calls(publish) != 1 {
			t.Errorf("later: %+v, %v, %d calls", found, err, w.Calls(publish))
		}
		<-time.After(time.Minute)
	})
}

func TestALateNoteIsAdoptedBeforeASecondOneIsSent(t *testing.T) {
	w := newWorld(t, xiaohongshutest.Options{})
	p, m := w.post(t, "甲"), platformtest.NewMemo()
	w.Script(publish, 1, xiaohongshutest.LoseReply())
	_, _ = w.Publish(t.Context(), p, m)
	r, err := w.Publish(t.Context(), p, m) // as after a look-up that found nothing
	if err != nil || r.ID != w.Notes()[0].ID || len(w.Notes()) != 1 {
		t.Errorf("receipt %+v, %v, %d notes", r, err, len(w.Notes()))
	}
}

func TestADeadPageIsADependencyAndEachAttemptLooksFirst(t *testing.T) { // B43
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, xiaohongshutest.Options{})
		p, m := w.post(t, "甲"), platformtest.NewMemo()
		w.Script(publish, 0, xiaohongshutest.FailToPublish("查找标题输入框失败: context deadline exceeded"))
		for range 6 {
			_, err := w.Publish(t.Context(), p, m)
			if e := failed(t, err); e.Kind != platforms.Dependency || e.Code != codePublishFailed {
				t.Fatalf("got %+v, want dependency", e)
			}
			<-time.After(10 * time.Minute)
		}
		w.Unscript()
		w.Add("甲", time.Now()) // one of them went through after all
		r, err := w.Publish(t.Context(), p, m)
		if err != nil || r.ID != w.Notes()[0].ID || len(w.Notes()) != 1 {
			t.Errorf("receipt %+v, %v, %d notes", r, err, len(w.Notes()))
		}
	})
}

func TestALostSessionIsToldAsSuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, xiaohongshutest.Options{})
		p, m := w.post(t, "甲"), platformtest.NewMemo()
		w.Configure(func(o *xiaohongshutest.Options) { o.LoggedOut = true })
		for name, call := range map[string]func() error{
			"publish": func() error { _, err := w.Publish(t.Context(), p, m); return err },
			"find":    func() error { _, err := w.Find(t.Context(), p, began(), m); return err },
			"probe":   func() error { return w.Probe(t.Context()) },
		} {
			e := failed(t, call())
			if e.Kind != platforms.Unauthorized || !strings.Contains(e.Message, "/api/v1/login/qrcode") {
				t.Errorf("%s: got %+v, want unauthorized with the remedy", name, e)
			}
		}
	})
}

func TestASessionThatEndsDuringAPublicationIsTakenUpAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, xiaohongshutest.Options{})
		p, m := w.post(t, "甲"), platformtest.NewMemo()
		w.Script(publish, 1, func(rw http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
			w.Configure(func(o *xiaohongshutest.Options) { o.LoggedOut = true })
			usual(rw, r)
		})
		_, err := w.Publish(t.Context(), p, m)
		if e := failed(t, err); e.Kind != platforms.Unauthorized || w.Calls(publish) != 1 {
			t.Errorf("got %+v after %d calls, want unauthorized", e, w.Calls(publish))
		}
		w.Configure(func(o *xiaohongshutest.Options) { o.LoggedOut = false })
		if r, err := w.Publish(t.Context(), p, m); err != nil || len(w.Notes()) != 1 || r.ID != w.Notes()[0].ID {
			t.Errorf("receipt %+v, %v, %d notes", r, err, len(w.Notes()))
		}
	})
}

func TestAnInterfaceThatIsDownIsADependency(t *testing.T) { // B43
	w := newWorld(t, xiaohongshutest.Options{})
	faults := platformtest.NewFaultTransport(w.Server.Transport())
	c, err := New(config(), platforms.Env{Dir: w.dir, Transport: faults})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 2; n++ {
		faults.Arm(n, platformtest.NotSent)
		_, err = c.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo())
		if e := failed(t, err); e.Kind != platforms.Dependency {
			t.Errorf("call %d refused: got %+v, want dependency", n, e)
		}
	}
}

func TestARateLimitLeavesTheWaitToTheHold(t *testing.T) {
	w := newWorld(t, xiaohongshutest.Options{})
	w.Script(publish, 1, xiaohongshutest.FailToPublish("发布失败: 操作频繁，请稍后再试"))
	_, err := w.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo())
	if e := failed(t, err); e.Kind != platforms.RateLimited || !e.RetryAt.IsZero() {
		t.Errorf("got %+v, want rate_limited without a time", e)
	}
}

func TestOneBrowserIsOpenAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, xiaohongshutest.Options{PublishTime: time.Minute})
		var posts []platforms.Post
		for _, title := range []string{"甲", "乙", "丙"} {
			posts = append(posts, w.post(t, title)) // which writes the picture that all of them have
		}
		for _, p := range posts {
			go func() {
				if _, err := w.Publish(t.Context(), p, platformtest.NewMemo()); err != nil {
					t.Error(err)
				}
			}()
		}
		go func() { _ = w.Probe(t.Context()) }()
		<-time.After(4 * time.Minute)
		synctest.Wait()
		if len(w.Notes()) != 3 || w.Browsers() != 1 {
			t.Errorf("%d notes with %d browsers at once, want 3 with 1", len(w.Notes()), w.Browsers())
		}
	})
}

func TestAnOldVersionIsWarnedOf(t *testing.T) {
	for version, warns := range map[string]bool{
		"v0.9.1": true, "v2.1.0": true, "2.0.12": true, "v2.1.1": false, "v2.10.0": false, "dev": false, "v2026.07.26.1327-abc": false,
	} {
		w := newWorld(t, xiaohongshutest.Options{Version: version})
		if err := w.Probe(t.Context()); err != nil {
			t.Errorf("%s: %v", version, err)
		}
		if got := strings.Contains(w.log.String(), "interface is too old"); got != warns {
			t.Errorf("%s: warned %v, want %v", version, got, warns)
		}
	}
}
