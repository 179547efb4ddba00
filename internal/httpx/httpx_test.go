package httpx

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-resty/resty/v2"
	"github.com/google/go-cmp/cmp"

	"herald/platforms"
)

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func reply(t *testing.T, status int, header map[string]string, body string) string {
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for k, v := range header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func TestAReplyIsReadWholeAndDecoded(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "\ufeff{\"id\":%q}", fmt.Sprint(r.Method, " ", r.URL, " ", r.UserAgent(), " ", strings.TrimSpace(string(body))))
	})
	c := New(Options{Platform: "test", BaseURL: []string{base}})
	r, err := c.Do(t.Context(), Write, "create", http.MethodPost, "/posts", func(r *resty.Request) {
		r.SetQueryParam("a", "b").SetBody(map[string]string{"title": "<你好>"})
	})
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ ID string }
	if err := errors.Join(r.Err(), r.JSON(&got)); err != nil {
		t.Fatal(err)
	}
	if want := `POST /posts?a=b herald {"title":"<你好>"}`; got.ID != want {
		t.Errorf("the server got %q, want %q", got.ID, want)
	}
}

func TestASuccessThatIsNotJSONLeavesAWriteUncertain(t *testing.T) {
	page := "<html><head><title>Sign in &amp; go on</title></head></html>"
	for call, want := range map[Call]platforms.Kind{Write: platforms.Uncertain, Read: platforms.Unavailable, Idempotent: platforms.Unavailable} {
		for _, body := range []string{page, "", `{"id":`, "{} trailing"} {
			c := New(Options{Platform: "test", BaseURL: []string{reply(t, 200, map[string]string{"Content-Type": "text/html"}, body)}})
			r, err := c.Do(t.Context(), call, "create", http.MethodPost, "/", nil)
			if err != nil {
				t.Fatal(err)
			}
			err = r.JSON(new(struct{}))
			if got := platforms.KindOf(err); got != want {
				t.Errorf("call %d, body %q: kind = %q, want %q", call, body, got, want)
			}
			if body == page && !strings.Contains(err.Error(), "Sign in & go on") {
				t.Errorf("the error does not name the page: %v", err)
			}
		}
	}
}

func TestAFailureCarriesStatusReasonAndWaitingTime(t *testing.T) {
	tests := []struct {
		name    string
		status  int
		header  map[string]string
		body    string
		kind    platforms.Kind
		message string
		wait    time.Duration
	}{
		{"JSON", 422, nil, `{"errors":[{"message":"title is too long"}]}`, platforms.Rejected, "title is too long", 0},
		{"JSON without words", 422, nil, `{"ok":false,"error":7}`, platforms.Rejected, "Unprocessable Entity", 0},
		{"HTML", 403, nil, "<html><title>Blocked\n by WAF</title>", platforms.Unauthorized, "Blocked by WAF", 0},
		{"HTML without a title", 403, nil, "<p>no", platforms.Unauthorized, "Forbidden", 0},
		{"text", 400, nil, "no\x1b[2J \xff good\n", platforms.Invalid, "no[2J good", 0},
		{"long text", 400, nil, strings.Repeat("长", 400), platforms.Invalid, strings.Repeat("长", 299) + "…", 0},
		{"nothing", 500, nil, "", platforms.Uncertain, "Internal Server Error", 0},
		{"too fast", 429, map[string]string{"Retry-After": "60"}, "slow down", platforms.RateLimited, "slow down", time.Minute},
		{"quota", 429, map[string]string{"X-RateLimit-Reset": "90"}, "slow down", platforms.RateLimited, "slow down", 90 * time.Second},
		{"down for a while", 503, map[string]string{"Retry-After": "60"}, "", platforms.RateLimited, "Service Unavailable", time.Minute},
		{"locked", 423, map[string]string{"Retry-After": "5"}, "", platforms.Unavailable, "Locked", 5 * time.Second},
		{"a quota that was not hit", 500, map[string]string{"X-RateLimit-Reset": "3600"}, "oops", platforms.Uncertain, "oops", 0},
		{
			"redirect", 308,
			map[string]string{"Location": "https://new.example/api?token=abc"},
			"", platforms.Unauthorized,
			"Permanent Redirect: redirected to https://new.example/api; correct base_url", 0,
		},
		{
			"echo of the address", 400, nil, "bad request /posts?token=k3y: Authorization: Bearer k3y", platforms.Invalid,
			"bad request /posts Authorization: [redacted]", 0,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := New(Options{Platform: "test", BaseURL: []string{reply(t, tt.status, tt.header, tt.body)}, Secrets: []platforms.Secret{"k3y"}})
			r, err := c.Do(t.Context(), Write, "create", http.MethodPost, "/posts", nil)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := errors.AsType[*platforms.Error](r.Err())
			if !ok {
				t.Fatalf("Err() = %v, want a platforms.Error", r.Err())
			}
			want := &platforms.Error{Platform: "test", Op: "create", Kind: tt.kind, Code: fmt.Sprint(tt.status), Message: tt.message}
			if tt.wait != 0 {
				want.RetryAt = r.received.Add(tt.wait)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheNextBaseURLIsTriedOnlyIfTheOneBeforeWasNotReached(t *testing.T) {
	refused := newPeer(t, answers(""))
	refused.stop()
	gone := "http://" + refused.addr
	plain := newPeer(t, func(_ *peer, conn net.Conn) { _, _ = io.WriteString(conn, "220 ready\r\n"); drain(conn) })
	notTLS := "https://" + plain.addr
	good := reply(t, 201, nil, "{}")

	tests := []struct {
		name  string
		bases []string
		want  platforms.Kind
	}{
		{"the first is good", []string{good, gone}, ""},
		{"the first refuses", []string{gone, good}, ""},
		{"the first has a TLS fault", []string{notTLS, good}, ""},
		{"all refuse", []string{gone, gone}, platforms.Unavailable},
		{"one may come back by itself", []string{gone, notTLS}, platforms.Unavailable},
		{"one may come back by itself, in the other order", []string{notTLS, gone}, platforms.Unavailable},
		{"all need a person", []string{notTLS, notTLS}, platforms.Unauthorized},
		{"the request is faulty", []string{"ftp://127.0.0.1", good}, platforms.Invalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, call := range []Call{Write, Read, Idempotent} {
				_, err := New(Options{Platform: "test", BaseURL: tt.bases}).Do(t.Context(), call, "create", http.MethodPost, "/posts", nil)
				if got := platforms.KindOf(err); got != tt.want {
					t.Errorf("call %d: kind = %q, want %q (%v)", call, got, tt.want, err)
				}
			}
		})
	}

	t.Run("an answer lost at the first is not asked for at the second", func(t *testing.T) {
		for _, call := range []Call{Write, Read, Idempotent} {
			first, second := newPeer(t, answers("")), newPeer(t, answers("HTTP/1.1 201 Created\r\n\r\n"))
			c := New(Options{Platform: "test", BaseURL: []string{"http://" + first.addr, "http://" + second.addr}})
			_, err := c.Do(t.Context(), call, "create", http.MethodPost, "/posts", nil)
			first.stop()
			second.stop()
			if err == nil || first.seen.Load() != 1 || second.seen.Load() != 0 {
				t.Errorf("call %d: requests %d and %d, want 1 and 0 (%v)", call, first.seen.Load(), second.seen.Load(), err)
			}
		}
	})
}

func TestAReadFollowsRedirectsWithinItsHostAndTellsNobodyItsQuery(t *testing.T) {
	elsewhere := reply(t, 200, nil, "not for you")
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/here", http.StatusFound)
		case "/away":
			http.Redirect(w, r, elsewhere+"/?x=1", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		default:
			_, _ = io.WriteString(w, r.Method+" "+r.Referer())
		}
	})
	c := New(Options{Platform: "test", BaseURL: []string{base}})
	get := func(path string) *Reply {
		t.Helper()
		r, err := c.Do(t.Context(), Read, "get", http.MethodGet, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := get("/moved?token=abc"); string(r.Body) != "GET " {
		t.Errorf("after the redirect the server got %q, want GET and no referer", r.Body)
	}
	for _, path := range []string{"/away", "/loop"} {
		if err := get(path).Err(); platforms.KindOf(err) != platforms.Unauthorized {
			t.Errorf("%s: %v, want a redirect that was not followed", path, err)
		}
	}
}

func TestWritesSpeakHTTP1EvenToAServerThatOffersMore(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	proxy := newPeer(t, tunnel("200 OK"))
	for name, o := range map[string]Options{
		"direct":           {},
		"through a tunnel": {Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: proxy.addr})},
	} {
		o.Platform, o.BaseURL, o.TLS = "test", []string{s.URL}, &tls.Config{RootCAs: roots}
		c := New(o)
		for call, want := range map[Call]string{Write: "HTTP/1.1", Read: "HTTP/2.0"} {
			r, err := c.Do(t.Context(), call, "create", http.MethodPost, "/", nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(r.Body); got != want {
				t.Errorf("%s, call %d: %s, want %s", name, call, got, want)
			}
		}
	}
}

func TestWhyTheCallerGaveUpCanBeAsked(t *testing.T) {
	stopped := errors.New("the daemon stops")
	ctx, cancel := context.WithCancelCause(t.Context())
	p := newPeer(t, func(p *peer, conn net.Conn) { p.request(conn); cancel(stopped); drain(conn) })
	_, err := New(Options{Platform: "test"}).Do(ctx, Write, "create", http.MethodPost, "http://"+p.addr, nil)
	if !errors.Is(err, stopped) || platforms.KindOf(err) != platforms.Uncertain {
		t.Errorf("error = %v, want uncertain because the daemon stops", err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestWithoutAWireOnlyTheTypeOfAnErrorProvesThatNothingWasSent(t *testing.T) {
	tests := []struct {
		err  error
		want platforms.Kind
	}{
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, platforms.Unavailable},
		{&net.DNSError{IsNotFound: true}, platforms.Unavailable},
		{&tls.CertificateVerificationError{Err: errors.New("expired")}, platforms.Unauthorized},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, platforms.Uncertain},
		{io.EOF, platforms.Uncertain},
		{errors.New("anything"), platforms.Uncertain},
	}
	for _, tt := range tests {
		transport := roundTripper(func(*http.Request) (*http.Response, error) { return nil, tt.err })
		c := New(Options{Platform: "test", BaseURL: []string{"http://a.example"}, Transport: transport})
		if _, err := c.Do(t.Context(), Write, "create", http.MethodPost, "/", nil); platforms.KindOf(err) != tt.want {
			t.Errorf("%v: %v, want %q", tt.err, err, tt.want)
		}
	}
}

func TestEveryCallHasADeadline(t *testing.T) {
	transport := roundTripper(func(r *http.Request) (*http.Response, error) {
		if _, ok := r.Context().Deadline(); !ok {
			t.Error("the request has no deadline")
		}
		return nil, io.EOF
	})
	_, _ = New(Options{Transport: transport}).Do(t.Context(), Read, "get", http.MethodGet, "http://a.example", nil)
}

func TestNoSecretReachesAnErrorOrALog(t *testing.T) { // B98
	const secret, runtime = "left/right", "t0k3n-of-the-day"
	user := url.UserPassword("me", secret).String()
	refused := newPeer(t, answers(""))
	refused.stop()
	echo := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"message":"cannot serve http://%s%s with %v"}`, r.Host, r.URL, r.Header.Get("Authorization"))
	})
	cutOff := newPeer(t, answers("HTTP/1.1 302 Found\r\nLocation: /x?access_token="+runtime+"%zz\r\n\r\n"))
	tests := map[string]struct {
		base string
		opts Options
	}{
		"connection refused":       {base: "http://" + user + "@" + refused.addr},
		"the address is echoed":    {base: echo},
		"the address is faulty":    {base: "http://me:" + secret + "@host"},
		"the redirect is faulty":   {base: "http://" + cutOff.addr},
		"the transport repeats it": {base: "http://a.example", opts: Options{Transport: roundTripper(func(r *http.Request) (*http.Response, error) { return nil, fmt.Errorf("cannot reach %s", r.URL) })}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			o := tt.opts
			o.Platform, o.BaseURL, o.Secrets = "test", []string{tt.base}, []platforms.Secret{secret}
			o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			r, err := New(o).Do(t.Context(), Read, "token", http.MethodGet, "/bot"+secret+"/token?appid=1", func(r *resty.Request) {
				r.SetQueryParam("secret", secret).SetQueryParam("access_token", runtime).SetAuthToken(runtime)
			})
			if err == nil {
				err = r.Err()
			}
			if err == nil {
				t.Fatal("no error")
			}
			text := log.String()
			for e := err; e != nil; e = errors.Unwrap(e) {
				text += fmt.Sprintf("%v %+v %#v\n", e, e, e)
			}
			for _, leak := range []string{"left", "right", runtime, "appid"} {
				if strings.Contains(text, leak) {
					t.Errorf("%q leaks:\n%s", leak, text)
				}
			}
		})
	}
}

func TestACallIsLoggedWithoutItsBody(t *testing.T) {
	var log bytes.Buffer
	base := reply(t, 201, nil, `{"id":"reply body"}`)
	c := New(Options{Platform: "test", BaseURL: []string{base}, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "duration" {
				a.Value = slog.StringValue("-")
			}
			return a
		},
	}))})
	if _, err := c.Do(t.Context(), Write, "posts/create", http.MethodPost, "/posts?a=b", func(r *resty.Request) { r.SetBody("request body") }); err != nil {
		t.Fatal(err)
	}
	want := "time=- level=DEBUG msg=\"http call\" op=posts/create method=POST url=" + base + "/posts status=201 duration=-\n"
	if log.String() != want {
		t.Errorf("log = %q, want %q", log.String(), want)
	}
}
