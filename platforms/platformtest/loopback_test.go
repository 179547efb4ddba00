package platformtest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/article"
	"herald/platforms"
)

func TestLoopbackKeepsTheSuitesPromises(t *testing.T) {
	const secret = "open sesame/42"
	Run(t, Case{
		Type:     loopbackType,
		TooLong:  &article.Article{ID: "long", Title: strings.Repeat("长", loopbackMaxTitle+1)},
		Codes:    LoopbackCodes,
		Unlisted: "teapot",
		Secrets:  []string{secret},
		New: func(testing.TB) *World {
			s := NewLoopbackServer()
			s.Token = secret
			return &World{
				Transport: s.Transport(),
				Open: func(env platforms.Env) (platforms.Platform, error) {
					return NewLoopback(LoopbackConfig{BaseURL: "http://loopback.test", Token: secret}, env)
				},
				Posts: func() []string {
					var texts []string
					for _, p := range s.Posts() {
						texts = append(texts, p.Title+"\n"+p.Body)
					}
					return texts
				},
				Answer:  func(code string) { s.Script("", 0, AnswerWith(http.StatusBadRequest, code, nil)) },
				Uploads: s.Media,
			}
		},
	})
}

// loopback returns the adapter on a server with real sockets.
func loopback(t *testing.T) (*LoopbackServer, *Loopback, platforms.Post) {
	t.Helper()
	s := NewLoopbackServer()
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	l, err := NewLoopback(LoopbackConfig{BaseURL: web.URL}, platforms.Env{})
	if err != nil {
		t.Fatal(err)
	}
	a := Samples(t).One
	p, err := l.Render(a)
	if err != nil {
		t.Fatal(err)
	}
	p.Key, p.Revision = keyOf(a), 1
	return s, l, p
}

func TestAScriptedFaultDoesWhatItsNameSays(t *testing.T) {
	released := make(chan struct{})
	close(released)
	tests := []struct {
		name  string
		fault LoopbackFault
		kind  platforms.Kind
		posts int
	}{
		{"answer with a code", AnswerWith(422, "content", nil), platforms.Rejected, 0},
		{"answer with a status alone", AnswerWith(502, "ignored", nil), platforms.Uncertain, 0},
		{"hang until released", HangUntil(released), "", 1},
		{"lose the reply", LoseReply(), platforms.Uncertain, 1},
		{"reset first", ResetFirst(), platforms.Uncertain, 0},
		{"garbage", Garbage(), platforms.Uncertain, 1},
		{"half a reply", HalfReply(), platforms.Uncertain, 1},
		{"without an id", WithoutID(), platforms.Uncertain, 1},
		{"review first", ReviewFirst(2), "", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, l, p := loopback(t)
			for _, way := range []string{"sockets", "in process"} {
				if way == "in process" {
					s = NewLoopbackServer()
					l, _ = NewLoopback(LoopbackConfig{BaseURL: "http://loopback.test", Transport: s.Transport()}, platforms.Env{})
				}
				s.Script("POST /posts", 1, tt.fault)
				_, err := l.Publish(t.Context(), p, NewMemo())
				if got := platforms.KindOf(err); got != tt.kind {
					t.Errorf("%s: kind = %q, want %q (%v)", way, got, tt.kind, err)
				}
				if got := len(s.Posts()); got != tt.posts {
					t.Errorf("%s: %d posts, want %d", way, got, tt.posts)
				}
				if got := s.Calls("POST /posts"); got != 1 {
					t.Errorf("%s: %d calls, want 1", way, got)
				}
			}
		})
	}
}

func TestAHangingCallLeavesNothingWhenItsClientGoes(t *testing.T) {
	s, l, p := loopback(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	s.Script("POST /posts", 1, func(w http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
		cancel(stopped)
		HangUntil(nil)(w, r, usual)
	})
	_, err := l.Publish(ctx, p, NewMemo())
	if platforms.KindOf(err) != platforms.Uncertain || !errors.Is(err, stopped) {
		t.Errorf("error = %v, want uncertain because of the stop", err)
	}
	if n := len(s.Posts()); n != 0 {
		t.Errorf("%d posts, want none", n)
	}
}

func TestAScriptStrikesAtTheRightCalls(t *testing.T) {
	s, l, _ := loopback(t)
	quota := AnswerWith(429, "quota", http.Header{"Retry-After": {"60"}})
	s.Script("GET /me", 2, quota)
	s.Script("GET /me", 2, AnswerWith(400, "plan", nil)) // waits for the third
	s.Script("GET /posts", 0, AnswerWith(400, "malformed", nil))
	s.Script("", 5, AnswerWith(400, "locked", nil))
	var got []string
	for range 6 {
		got = append(got, string(platforms.KindOf(l.Probe(t.Context()))))
	}
	if want := ",rate_limited,unauthorized,,unavailable,"; strings.Join(got, ",") != want {
		t.Errorf("kinds = %q, want %q", strings.Join(got, ","), want)
	}
	for range 2 {
		if _, err := l.Find(t.Context(), platforms.Post{}, time.Time{}, NewMemo()); platforms.KindOf(err) != platforms.Invalid {
			t.Errorf("an entry for every call did not strike: %v", err)
		}
	}
	s.Unscript()
	if _, err := l.Find(t.Context(), platforms.Post{}, time.Time{}, NewMemo()); err != nil {
		t.Errorf("after Unscript: %v", err)
	}
	if n := s.Calls(""); n != 9 {
		t.Errorf("%d calls counted, want 9", n)
	}
}

func TestARateLimitCarriesItsTime(t *testing.T) {
	s, l, _ := loopback(t)
	s.Script("GET /me", 1, AnswerWith(429, "quota", http.Header{"Retry-After": {"60"}}))
	e, ok := errors.AsType[*platforms.Error](l.Probe(t.Context()))
	if !ok || e.Code != "quota" || time.Until(e.RetryAt) < 50*time.Second {
		t.Errorf("error = %+v, want code quota and a time in a minute", e)
	}
}

func TestAReviewEndsAfterItsPolls(t *testing.T) {
	s, l, p := loopback(t)
	s.Script("POST /posts", 1, ReviewFirst(2))
	r, err := l.Publish(t.Context(), p, NewMemo())
	pending := []bool{r.Pending}
	for range 3 {
		if err != nil {
			t.Fatal(err)
		}
		r, err = l.Review(t.Context(), r)
		pending = append(pending, r.Pending)
	}
	if want := [4]bool{true, true, true, false}; [4]bool(pending) != want {
		t.Errorf("pending = %v, want %v", pending, want)
	}
}

func TestFindAdoptsOnlyWhatIsNewerThanSince(t *testing.T) {
	_, l, p := loopback(t)
	if _, err := l.Publish(t.Context(), p, NewMemo()); err != nil {
		t.Fatal(err)
	}
	found, err := l.Find(t.Context(), p, time.Now().Add(time.Hour), NewMemo())
	if err != nil || found.Outcome != platforms.Absent {
		t.Errorf("found %+v, %v; want Absent", found, err)
	}
}

func TestPicturesAreSentOnceAndShownFromThePlatform(t *testing.T) {
	s, l, p := loopback(t)
	m := NewMemo()
	s.Script("POST /posts", 1, AnswerWith(503, "", nil))
	if _, err := l.Publish(t.Context(), p, m); err == nil {
		t.Fatal("the first attempt succeeded")
	}
	if _, err := l.Publish(t.Context(), p, m); err != nil {
		t.Fatal(err)
	}
	if n := s.Calls("POST /media"); n != 1 {
		t.Errorf("%d uploads, want 1", n)
	}
	body := s.Posts()[0].Body
	if strings.Contains(body, mediaScheme) || !strings.Contains(body, "/media/"+p.Images[0].SHA256) {
		t.Errorf("body = %q, want the picture's address on the platform", body)
	}
}

func TestTheServerAnswersInItsLatencyWithoutSockets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewLoopbackServer()
		s.Latency = time.Hour
		l, err := NewLoopback(LoopbackConfig{BaseURL: "http://loopback.test", Transport: s.Transport()}, platforms.Env{})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		if err := l.Probe(ctx); err != nil || time.Since(began) != time.Hour {
			t.Errorf("probe took %v (%v), want 1h", time.Since(began), err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.Probe(ctx); !errors.Is(err, context.DeadlineExceeded) || platforms.KindOf(err) != platforms.Unavailable {
			t.Errorf("error = %v, want the deadline", err)
		}
	})
}
