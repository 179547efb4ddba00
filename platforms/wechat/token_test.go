package wechat

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/platforms"
	"herald/platforms/platformtest"
	"herald/platforms/wechat/wechattest"
)

func TestATokenThatDiesBetweenTwoPicturesIsRenewedOnce(t *testing.T) { // B28
	for _, code := range []int{40001, 40014, 42001} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			s := wechattest.New(wechattest.Options{})
			c := open(t, s)
			p := render(t, c, write(t, "# 标题\n\n![](a.png) ![](b.png) ![](c.png) ![](d.png) ![](e.png)\n", fivePictures(t)))
			s.Script("media/uploadimg", 3, func(w http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
				switch code {
				case 40001: // another process has taken a new one
					s.Supersede()
					usual(w, r)
				case 42001:
					s.ExpireTokens()
					usual(w, r)
				default:
					s.Supersede()
					s.Answer(code)(w, r, usual)
				}
			})
			mustPublish(t, c, p, platformtest.NewMemo())
			if n := s.Calls("stable_token"); n != 2 {
				t.Errorf("%d calls for a token, want 2", n)
			}
			if n := len(s.Images()); n != 5 {
				t.Errorf("%d pictures on the platform, want 5", n)
			}
			if n := len(s.Drafts()); n != 1 {
				t.Errorf("%d drafts, want 1", n)
			}
		})
	}
}

func fivePictures(t *testing.T) map[string][]byte {
	files := map[string][]byte{}
	for i, name := range []string{"a.png", "b.png", "c.png", "d.png", "e.png"} {
		files[name] = pngOf(t, 8, 8+i)
	}
	return files
}

func TestManyCallsWithAnExpiredTokenFetchOne(t *testing.T) { // B29
	s := wechattest.New(wechattest.Options{})
	web := httptest.NewServer(s)
	defer web.Close()
	s.Configure(func(o *wechattest.Options) { o.Secret = testSecret })
	targets := make([]*Client, 10) // of one account
	for i := range targets {
		cfg := testConfig(modeDraft)
		cfg.BaseURL = []string{web.URL}
		var err error
		if targets[i], err = New(cfg, testEnv(t, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := targets[0].Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, expire := range []func(){s.ExpireTokens, s.Supersede} {
		before := s.Calls("stable_token")
		expire()
		var wg sync.WaitGroup
		for _, c := range targets {
			wg.Go(func() {
				if err := c.Probe(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := s.Calls("stable_token") - before; n != 1 {
			t.Errorf("%d calls for a token, want 1", n)
		}
	}
}

func TestALateRefusalDoesNotDropTheNewToken(t *testing.T) { // B29
	s := wechattest.New(wechattest.Options{})
	c := open(t, s)
	first, err := c.token(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	s.Supersede()
	second, err := c.token(t.Context(), first)
	if err != nil || second == first {
		t.Fatalf("token %v, want another one", err)
	}
	late, err := c.token(t.Context(), first)
	if err != nil || late != second {
		t.Errorf("a late refusal of the old token replaced the new one (%v)", err)
	}
	if n := s.Calls("stable_token"); n != 2 {
		t.Errorf("%d calls for a token, want 2", n)
	}
}

func TestATokenIsForcedOnlyWhenTheRefusedOneIsHandedOutAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := wechattest.New(wechattest.Options{})
		c := open(t, s)
		if err := c.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		refuse := func() { s.Script("draft/count", 1, s.Answer(40001)) }
		refuse() // though the token is good
		if err := c.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := s.Calls("stable_token"); got != 3 || s.Tokens() != 2 {
			t.Errorf("%d calls for a token and %d tokens, want 3 (the last one forced) and 2", got, s.Tokens())
		}
		refuse()
		failureOf(t, c.Probe(t.Context()), platforms.Unauthorized) // half a minute has not passed
		time.Sleep(forcedApart)
		for range forcedPerDay - 1 {
			refuse()
			if err := c.Probe(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(forcedApart)
		}
		refuse()
		failureOf(t, c.Probe(t.Context()), platforms.Unauthorized) // the day's are used up
		if got := s.Tokens(); got != 1+forcedPerDay {
			t.Errorf("%d tokens, want %d", got, 1+forcedPerDay)
		}
	})
}

func TestATokenIsReplacedBeforeItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := wechattest.New(wechattest.Options{})
		c := open(t, s)
		for range 5 {
			if err := c.Probe(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		if n := s.Calls("stable_token"); n != 3 {
			t.Errorf("%d calls for a token in four hours, want 3", n)
		}
		if n := s.Calls("draft/count"); n != 5 {
			t.Errorf("%d calls for 5 probes: a token had run out", n)
		}
	})
}

func TestAnOutageOfTheTokenEndpointIsNoFaultOfTheCredential(t *testing.T) { // B34
	s := wechattest.New(wechattest.Options{})
	c := open(t, s)
	p, m := simple(t, c), platformtest.NewMemo()
	s.Script("stable_token", 1, wechattest.AnswerStatus(http.StatusServiceUnavailable))
	_, err := c.Publish(t.Context(), p, m)
	failureOf(t, err, platforms.Unavailable)

	env := testEnv(t, roundTrip(func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "api.weixin.qq.com", IsNotFound: true}}
	}))
	broken, err := New(testConfig(modeDraft), env)
	if err != nil {
		t.Fatal(err)
	}
	_, err = broken.Publish(t.Context(), p, m)
	failureOf(t, err, platforms.Unavailable)

	mustPublish(t, c, p, m)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAnAddressThatIsNotOnTheAllowListIsNamed(t *testing.T) { // B25
	s := wechattest.New(wechattest.Options{RefusedIP: "1.2.3.4"})
	c := open(t, s)
	p, m := simple(t, c), platformtest.NewMemo()
	_, err := c.Publish(t.Context(), p, m)
	e := failureOf(t, err, platforms.Unauthorized)
	if e.Code != "40164" || !strings.HasPrefix(e.Message, "add 1.2.3.4 to the IP whitelist") {
		t.Errorf("error = %v, want the address to add", e)
	}
	if n := s.Calls(""); n != 1 {
		t.Errorf("%d calls, want 1: nothing else can work", n)
	}
	failureOf(t, c.Probe(t.Context()), platforms.Unauthorized)
	s.Configure(func(o *wechattest.Options) { o.RefusedIP = "" })
	if err := c.Probe(t.Context()); err != nil {
		t.Errorf("once the address is added: %v", err)
	}
	mustPublish(t, c, p, m)
}

func TestAWrongSecretIsNotTriedAgain(t *testing.T) {
	for _, code := range []int{40001, 40125} {
		s := wechattest.New(wechattest.Options{})
		c := open(t, s)
		s.Script("stable_token", 0, s.Answer(code))
		e := failureOf(t, c.Probe(t.Context()), platforms.Unauthorized)
		if !strings.Contains(e.Message, "app_secret") || s.Calls("") != 1 {
			t.Errorf("%d calls and %v, want 1 call and the key to check", s.Calls(""), e)
		}
	}
}

func TestTheTokenMayComeFromTheOperatorsService(t *testing.T) { // B28
	s := wechattest.New(wechattest.Options{Secret: testSecret})
	direct := open(t, s)
	var asked []string
	service := roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Host != "tokens.test" {
			return s.Transport().RoundTrip(r)
		}
		asked = append(asked, r.Header.Get("Authorization")+" "+r.URL.RequestURI())
		got, err := direct.fetchToken(r.Context(), false)
		if err != nil {
			return nil, err
		}
		rec := httptest.NewRecorder()
		fmt.Fprintf(rec, `{"access_token":%q}`, got.Token)
		resp := rec.Result()
		resp.Request = r
		return resp, nil
	})
	cfg := testConfig(modeDraft)
	cfg.AppSecret, cfg.TokenURL, cfg.TokenKey = "", "http://tokens.test/wx?account=1", "hush"
	c, err := New(cfg, testEnv(t, service))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := c.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(asked) != 1 || asked[0] != "Bearer hush /wx?account=1" {
		t.Errorf("the service was asked %q, want once with its key", asked)
	}
	s.Supersede()
	if err := c.Probe(t.Context()); err != nil || len(asked) != 2 {
		t.Errorf("after another process took a token: %v, asked %d times", err, len(asked))
	}
	s.Script("draft/count", 1, s.Answer(40001)) // and the service has no other one
	failureOf(t, c.Probe(t.Context()), platforms.Unauthorized)
	if s.Tokens() != 2 {
		t.Errorf("%d tokens, want 2: whoever uses a service forces nothing", s.Tokens())
	}
}

func TestNothingSaysTheSecretOrTheToken(t *testing.T) { // B98
	var log strings.Builder
	closed := httptest.NewServer(nil)
	closed.Close()
	echoing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/stable_token") {
			fmt.Fprintf(w, `{"access_token":%q,"expires_in":7200}`, wechattest.TokenText(7))
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"message":"the token %s of %s is bad"}`, r.URL.Query().Get("access_token"), r.URL)
	}))
	defer echoing.Close()
	for _, address := range []string{closed.URL, echoing.URL} {
		cfg := testConfig(modeDraft)
		cfg.BaseURL = []string{address}
		env := testEnv(t, nil)
		env.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c, err := New(cfg, env)
		if err != nil {
			t.Fatal(err)
		}
		m := platformtest.NewMemo()
		_, err = c.Publish(t.Context(), simple(t, c), m)
		if err == nil {
			t.Fatal("published, want an error")
		}
		said := fmt.Sprintf("%v %+v %#v %v %v", err, err, err, m.All(), log.String())
		for _, secret := range []string{testSecret, "open+sesame", "open%20sesame", wechattest.TokenText(7)} {
			if strings.Contains(said, secret) {
				t.Errorf("%q is in %s", secret, said)
			}
		}
	}
}
