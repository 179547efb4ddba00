package weibo

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/article"
	"herald/platforms"
	"herald/platforms/platformtest"
	"herald/platforms/weibo/weibotest"
)

const token = "2.00secret/token"

func config() Config {
	return Config{AccessToken: token, LinkDomain: "example.com", BaseURL: []string{"http://weibo.test"}}
}

func TestSuite(t *testing.T) {
	platformtest.Run(t, platformtest.Case{
		Type: platform,
		New: func(testing.TB) *platformtest.World {
			// Without Weibo's own protection against repeats, and patient.
			s := weibotest.New(weibotest.Options{Token: token, Repeats: true, PerHour: 1000, PerDay: 1000})
			return &platformtest.World{
				Transport: s.Transport(),
				Open:      func(env platforms.Env) (platforms.Platform, error) { return New(config(), env) },
				Posts: func() []string {
					var texts []string
					for _, p := range s.Posts() {
						texts = append(texts, p.Shown)
					}
					return texts
				},
				Answer: func(code string) {
					n, err := strconv.Atoi(code)
					if err != nil {
						t.Fatal(err)
					}
					s.Script("statuses/share", 0, weibotest.AnswerText(n, "code "+code))
				},
			}
		},
		TooLong:  &article.Article{ID: "a", Title: "长", CanonicalURL: "https://example.com/" + strings.Repeat("x", 300)},
		Codes:    Codes,
		Unlisted: "20201",
		Secrets:  []string{token},
	})
}

// world is an account with an adapter on it.
type world struct {
	*weibotest.Server
	*Client
	dir string
	log *bytes.Buffer
}

func newWorld(t *testing.T, o weibotest.Options) *world {
	t.Helper()
	o.Token = token
	w := &world{Server: weibotest.New(o), dir: t.TempDir(), log: &bytes.Buffer{}}
	w.restart(t)
	return w
}

func (w *world) restart(t *testing.T) {
	t.Helper()
	c, err := New(config(), platforms.Env{
		Target: "weibo", Dir: w.dir, Location: time.UTC, Transport: w.Server.Transport(),
		Log: slog.New(slog.NewTextHandler(w.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Client = c
}

// post renders an article of a title, with a key of its own.
func (w *world) post(t *testing.T, title string) platforms.Post {
	t.Helper()
	p, err := w.Render(&article.Article{ID: "slug", Title: title, Body: "正文。", CanonicalURL: "https://example.com/a"})
	if err != nil {
		t.Fatal(err)
	}
	p.Key = "key of " + title
	return p
}

// failed returns the platform's error that err is.
func failed(t *testing.T, err error) *platforms.Error {
	t.Helper()
	e, ok := errors.AsType[*platforms.Error](err)
	if !ok {
		t.Fatalf("error %v is no platform's", err)
	}
	return e
}

func TestAPostHasTextLinkAndOnePicture(t *testing.T) {
	w := newWorld(t, weibotest.Options{})
	p, err := w.Render(platformtest.Samples(t).One)
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.Publish(t.Context(), p, platformtest.NewMemo())
	if err != nil {
		t.Fatal(err)
	}
	posts := w.Posts()
	if len(posts) != 1 || posts[0].Text != "【错误处理】摘要：出错不可怕，可怕的是不知道。 https://example.com/" || len(posts[0].Picture) == 0 {
		t.Fatalf("posts %+v", posts)
	}
	want := platforms.Receipt{ID: fmt.Sprint(posts[0].ID), URL: "https://weibo.com/1404376560/" + base62(fmt.Sprint(posts[0].ID))}
	if r != want {
		t.Errorf("receipt %+v, want %+v", r, want)
	}
}

func TestAPostIsAFormAndWithAPictureInParts(t *testing.T) {
	w := newWorld(t, weibotest.Options{})
	cfg := config()
	cfg.RIP = "203.0.113.7"
	c, err := New(cfg, platforms.Env{Transport: w.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	illustrated, err := c.Render(platformtest.Samples(t).One)
	if err != nil {
		t.Fatal(err)
	}
	for want, p := range map[string]platforms.Post{
		"application/x-www-form-urlencoded": w.post(t, "甲"), "multipart/form-data": illustrated,
	} {
		w.Script("statuses/share", 1, func(rw http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
			if got := r.Header.Get("Content-Type"); !strings.HasPrefix(got, want) {
				t.Errorf("type %q, want %q", got, want)
			}
			if r.FormValue("rip") != cfg.RIP || r.FormValue("access_token") != token || r.URL.RawQuery != "" {
				t.Errorf("%s: form %v, query %q", want, r.Form, r.URL.RawQuery)
			}
			usual(rw, r)
		})
		if _, err := c.Publish(t.Context(), p, platformtest.NewMemo()); err != nil {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestALimitIsHeldUntilTheHourEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, weibotest.Options{PerHour: 1})
		if _, err := w.Publish(t.Context(), w.post(t, "一"), platformtest.NewMemo()); err != nil {
			t.Fatal(err)
		}
		_, err := w.Publish(t.Context(), w.post(t, "二"), platformtest.NewMemo())
		e := failed(t, err)
		if want := time.Now().Truncate(time.Hour).Add(time.Hour); e.Kind != platforms.RateLimited || e.Code != "10024" || !e.RetryAt.Equal(want) {
			t.Errorf("got %+v, want rate_limited until %v", e, want)
		}
	})
}

func TestPostingTooOftenLeavesTheWaitToTheHold(t *testing.T) {
	w := newWorld(t, weibotest.Options{})
	w.Script("statuses/share", 1, weibotest.Answer(20016))
	_, err := w.Publish(t.Context(), w.post(t, "一"), platformtest.NewMemo())
	if e := failed(t, err); e.Kind != platforms.RateLimited || !e.RetryAt.IsZero() {
		t.Errorf("got %+v, want rate_limited without a time", e)
	}
}

func TestALostPostIsFoundByItsTextThoughLinksAreShortened(t *testing.T) {
	w := newWorld(t, weibotest.Options{})
	p, m := w.post(t, "甲 & <乙> https://other.org/x"), platformtest.NewMemo()
	w.Script("statuses/share", 1, weibotest.LoseReply())
	began := time.Now()
	if _, err := w.Publish(t.Context(), p, m); platforms.KindOf(err) != platforms.Uncertain {
		t.Fatalf("error %v, want uncertain", err)
	}
	for range 5 { // they hide no post of the app
		w.AddByHand("我自己写的", time.Now())
	}
	found, err := w.Find(t.Context(), p, began.Add(-2*time.Second), m)
	if err != nil || found.Outcome != platforms.Present || found.Receipt.ID != fmt.Sprint(w.Posts()[0].ID) {
		t.Fatalf("found %+v, %v", found, err)
	}
	r, err := w.Publish(t.Context(), p, m)
	if err != nil || r != found.Receipt || len(w.Posts()) != 6 {
		t.Errorf("publish again: %+v, %v, %d posts", r, err, len(w.Posts()))
	}
}

func TestOnlyANewerPostIsAdopted(t *testing.T) {
	w := newWorld(t, weibotest.Options{})
	p := w.post(t, "甲")
	if _, err := w.Publish(t.Context(), p, platformtest.NewMemo()); err != nil {
		t.Fatal(err)
	}
	found, err := w.Find(t.Context(), p, time.Now().Add(time.Minute), platformtest.NewMemo())
	if err != nil || found.Outcome != platforms.Absent {
		t.Errorf("found %+v, %v; want Absent", found, err)
	}
}

func TestTheTimeOfAPostIsReadByThePlatformsClock(t *testing.T) {
	for _, ahead := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		t.Run(ahead.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, weibotest.Options{Repeats: true, Now: func() time.Time { return time.Now().Add(ahead) }})
				p := w.post(t, "甲")
				find := func(want platforms.Outcome, since time.Time) {
					t.Helper()
					found, err := w.Find(t.Context(), p, since, platformtest.NewMemo())
					if err != nil || found.Outcome != want || len(found.Twins) != 0 {
						t.Errorf("found %+v, %v; want %v alone", found, err, want)
					}
				}
				if _, err := w.Publish(t.Context(), p, platformtest.NewMemo()); err != nil {
					t.Fatal(err)
				}
				<-time.After(5 * time.Minute)
				began := time.Now().Add(-2 * time.Second)
				find(platforms.Absent, began)
				if _, err := w.Publish(t.Context(), p, platformtest.NewMemo()); err != nil {
					t.Fatal(err)
				}
				find(platforms.Present, began)
			})
		})
	}
}

func TestAPostThatFellOutOfTheListIsAskedForByItsID(t *testing.T) {
	w := newWorld(t, weibotest.Options{})
	p, m := w.post(t, "甲"), platformtest.NewMemo()
	began := time.Now().Add(-2 * time.Second)
	r, err := w.Publish(t.Context(), p, m)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := w.Publish(t.Context(), w.post(t, fmt.Sprint("更新的", i)), platformtest.NewMemo()); err != nil {
			t.Fatal(err)
		}
	}
	found, err := w.Find(t.Context(), p, began, m)
	if err != nil || found.Outcome != platforms.Present || found.Receipt != r {
		t.Errorf("found %+v, %v; want it", found, err)
	}
	w.Delete(w.Posts()[0].ID)
	found, err = w.Find(t.Context(), p, began, m)
	if err != nil || found.Outcome != platforms.Absent {
		t.Errorf("deleted by hand: found %+v, %v; want Absent", found, err)
	}
}

func TestASurplusCopyIsNamed(t *testing.T) {
	w := newWorld(t, weibotest.Options{Repeats: true})
	p, m := w.post(t, "甲"), platformtest.NewMemo()
	began := time.Now().Add(-2 * time.Second)
	for range 2 {
		if _, err := w.Publish(t.Context(), p, platformtest.NewMemo()); err != nil {
			t.Fatal(err)
		}
	}
	found, err := w.Find(t.Context(), p, began, m)
	if err != nil || found.Receipt.ID != fmt.Sprint(w.Posts()[0].ID) || len(found.Twins) != 1 {
		t.Errorf("found %+v, %v; want the first and one twin", found, err)
	}
}

func TestARepeatIsLookedUp(t *testing.T) {
	w := newWorld(t, weibotest.Options{})
	p, m := w.post(t, "甲"), platformtest.NewMemo()
	began := time.Now().Add(-2 * time.Second)
	w.Script("statuses/share", 1, weibotest.LoseReply())
	_, _ = w.Publish(t.Context(), p, m)
	_, err := w.Publish(t.Context(), p, m)
	if e := failed(t, err); e.Kind != platforms.Exists || e.Code != "20019" {
		t.Errorf("got %+v, want exists 20019", e)
	}
	if found, err := w.Find(t.Context(), p, began, m); err != nil || found.Outcome != platforms.Present {
		t.Errorf("found %+v, %v; want it", found, err)
	}
}

func TestPostedLateIsNeverSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, weibotest.Options{Lag: 2 * time.Minute})
		p, m := w.post(t, "甲"), platformtest.NewMemo()
		began := time.Now().Add(-2 * time.Second)
		w.Script("statuses/share", 1, weibotest.PostLate())
		_, err := w.Publish(t.Context(), p, m)
		if e := failed(t, err); e.Kind != platforms.Uncertain || e.Code != platforms.CodeNoID {
			t.Errorf("got %+v, want uncertain without an id", e)
		}
		if found, err := w.Find(t.Context(), p, began, m); err != nil || found.Outcome != platforms.Absent {
			t.Errorf("at once: %+v, %v", found, err)
		}
		<-time.After(absentAfter)
		if found, err := w.Find(t.Context(), p, began, m); err != nil || found.Outcome != platforms.Present {
			t.Errorf("three minutes later: %+v, %v", found, err)
		}
	})
}

func TestASuccessWithoutAPostIsUncertain(t *testing.T) {
	w := newWorld(t, weibotest.Options{})
	w.Script("statuses/share", 1, weibotest.WithoutBody())
	_, err := w.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo())
	if e := failed(t, err); e.Kind != platforms.Uncertain || e.Code != platforms.CodeNoID {
		t.Errorf("got %+v, want uncertain without an id", e)
	}
}

func TestTheEndOfTheTokenIsToldSevenDaysAhead(t *testing.T) { // B35
	tests := []struct {
		left  time.Duration
		says  string
		fails bool
	}{
		{8 * 24 * time.Hour, "", false},
		{6*24*time.Hour + time.Hour, "days=6", false},
		{-time.Second, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.left.String(), func(t *testing.T) {
			w := newWorld(t, weibotest.Options{ExpiresIn: tt.left})
			err := w.Probe(t.Context())
			if (platforms.KindOf(err) == platforms.Unauthorized) != tt.fails || !tt.fails && err != nil {
				t.Errorf("probe: %v", err)
			}
			if tt.fails && !strings.Contains(err.Error(), "authorise the app") {
				t.Errorf("%v names no remedy", err)
			}
			if _, err := w.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo()); (err != nil) != tt.fails {
				t.Errorf("publish: %v", err)
			}
			if got := strings.Count(w.log.String(), "access token expires soon"); (got == 2) != (tt.says != "") || !strings.Contains(w.log.String(), tt.says) {
				t.Errorf("log %q, want %q", w.log, tt.says)
			}
		})
	}
}

func TestTheTokenIsAskedForOnceADayAndEndangersNoPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, weibotest.Options{})
		w.Script("oauth2/get_token_info", 0, weibotest.AnswerStatus(502))
		for i := range 3 {
			if _, err := w.Publish(t.Context(), w.post(t, fmt.Sprint(i)), platformtest.NewMemo()); err != nil {
				t.Fatal(err)
			}
			<-time.After(13 * time.Hour)
		}
		if n := w.Calls("oauth2/get_token_info"); n != 2 {
			t.Errorf("asked %d times, want 2", n)
		}
	})
}
