package httpx

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"herald/platforms"
)

// loopback is the one address that tests allow; 127.0.0.2 stays private.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}

func somePNG(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pictures serves a handler on loopback, and says where.
func pictures(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}

func TestAPictureIsFetchedAndItsTypeIsKnownByContent(t *testing.T) {
	want := somePNG(t)
	at := pictures(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/jpeg")
		_, _ = w.Write(want)
	})
	data, mediaType, final, err := Fetch(t.Context(), at+"/a.jpg?fmt=webp", FetchOptions{AllowPrivate: loopback})
	if err != nil || !bytes.Equal(data, want) {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	if mediaType != "image/png" || final != at+"/a.jpg?fmt=webp" {
		t.Errorf("type %s from %s", mediaType, final)
	}
}

func TestRedirectsAreFollowedWithoutTellingWhereFrom(t *testing.T) {
	var seen []string
	at := pictures(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, fmt.Sprintf("%s %q", r.URL.Path, r.Referer()))
		if n, _ := strconv.Atoi(r.URL.Path[1:]); n > 0 {
			http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusFound)
			return
		}
		_, _ = w.Write(somePNG(t))
	})
	_, _, final, err := Fetch(t.Context(), at+"/5?token=secret", FetchOptions{AllowPrivate: loopback})
	if err != nil || final != at+"/0" {
		t.Errorf("5 redirects lead to %s, %v", final, err)
	}
	if got, want := strings.Join(seen, ", "), `/5 "", /4 "", /3 "", /2 "", /1 "", /0 ""`; got != want {
		t.Errorf("asked %s\nwant  %s", got, want)
	}
	_, _, _, err = Fetch(t.Context(), at+"/6", FetchOptions{AllowPrivate: loopback})
	if platforms.KindOf(err) != platforms.Rejected || !strings.Contains(err.Error(), "redirects more than 5 times") {
		t.Errorf("6 redirects: %v", err)
	}
}

func TestARefererIsSentToTheHostThatWantsIt(t *testing.T) {
	var referer string
	at := pictures(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://other.test:"+r.URL.Query().Get("port")+"/", http.StatusFound)
			return
		}
		referer = r.Referer()
		_, _ = w.Write(somePNG(t))
	})
	_, port, _ := strings.Cut(strings.TrimPrefix(at, "http://"), ":")
	o := FetchOptions{
		AllowPrivate: loopback,
		Referer:      map[string]string{"wants.test": "https://wants.test/"},
		resolver:     names(t, func(string, int) []string { return []string{"127.0.0.1"} }),
	}
	for address, want := range map[string]string{
		"http://wants.test:" + port + "/":                       "https://wants.test/",
		"http://IMG.Wants.test:" + port + "/":                   "https://wants.test/",
		"http://other.test:" + port + "/":                       "",
		"http://notwants.test:" + port + "/":                    "",
		"http://wants.test:" + port + "/away?port=" + port + "": "",
	} {
		if _, _, _, err := Fetch(t.Context(), address, o); err != nil {
			t.Fatal(err)
		}
		if referer != want {
			t.Errorf("%s got the Referer %q, want %q", address, referer, want)
		}
	}
}

func TestWhatAnAnswerMeans(t *testing.T) {
	pic := somePNG(t)
	packed := func(content io.Reader) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := io.Copy(z, content); err != nil {
			t.Fatal(err)
		}
		_ = z.Close()
		return b.Bytes()
	}
	bomb := packed(io.MultiReader(bytes.NewReader(pic), io.LimitReader(zeros{}, 10<<20)))
	raw := func(text string) http.HandlerFunc { // not what net/http would write
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, text)
				_ = conn.Close()
			}
		}
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(code)
		}
	}
	gzipped := func(body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(body)
		}
	}
	for name, tt := range map[string]struct {
		handle http.HandlerFunc
		kind   platforms.Kind
		text   string
	}{
		"a picture of unknown length": {raw("HTTP/1.0 200 OK\r\n\r\n" + string(pic)), "", ""},
		"packed all the same":         {gzipped(packed(bytes.NewReader(pic))), "", ""},
		"200 with a page":             {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, platforms.Rejected, "answered with text/html"},
		"200 with nothing":            {status(200), platforms.Rejected, "0 bytes"},
		"204":                         {status(204), platforms.Rejected, "answered 204"},
		"304":                         {status(304), platforms.Rejected, "answered 304"},
		"401":                         {status(401), platforms.Rejected, "Referer"},
		"403":                         {status(403), platforms.Rejected, "answered 403 Forbidden; configure the Referer"},
		"404":                         {status(404), platforms.Rejected, "answered 404 Not Found; check the address"},
		"410":                         {status(410), platforms.Rejected, "answered 410"},
		"429":                         {status(429), platforms.Unavailable, "answered 429"},
		"500":                         {status(500), platforms.Unavailable, "answered 500"},
		"503":                         {status(503), platforms.Unavailable, "answered 503"},
		"said to be too large":        {raw("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"), platforms.Rejected, "larger than 64 KiB"},
		"endless":                     {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, zeros{}) }, platforms.Rejected, "larger than 64 KiB"},
		"a gzip bomb":                 {gzipped(bomb), platforms.Rejected, "larger than 64 KiB"},
		"gzip that is none":           {gzipped(pic), platforms.Rejected, "gzip: invalid header"},
		"another packing":             {raw("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 3\r\n\r\nabc"), platforms.Rejected, "answered with text/plain"},
		"shorter than said":           {raw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + string(pic)), platforms.Unavailable, "unexpected EOF"},
		"cut off while packed":        {gzipped(bomb[:len(pic)/2]), platforms.Unavailable, "unexpected EOF"},
		"no answer":                   {raw(""), platforms.Unavailable, "EOF"},
		"no HTTP":                     {raw("220 mail.example ESMTP\r\n"), platforms.Unavailable, "malformed"},
		"a redirect to nowhere":       {raw("HTTP/1.1 302 Found\r\nLocation: ://?token=secret\r\n\r\n"), platforms.Unavailable, "Location"},
	} {
		t.Run(name, func(t *testing.T) {
			at := pictures(t, tt.handle)
			_, _, _, err := Fetch(t.Context(), at+"/a.png?token=secret", FetchOptions{Platform: "wechat", AllowPrivate: loopback, MaxBytes: 64 << 10})
			if got := platforms.KindOf(err); got != tt.kind {
				t.Fatalf("kind = %q, want %q: %v", got, tt.kind, err)
			}
			if err == nil {
				return
			}
			text := err.Error()
			if !strings.Contains(text, tt.text) || !strings.Contains(text, "wechat fetch image: ") || !strings.Contains(text, "image "+at+"/a.png ") {
				t.Errorf("%s\nwant the address and %q", text, tt.text)
			}
			if strings.Contains(text, "secret") {
				t.Errorf("the query shows: %s", text)
			}
			var e *platforms.Error
			if !errors.As(err, &e) || !e.RetryAt.IsZero() {
				t.Errorf("%#v: another host's wish holds no target", e)
			}
		})
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestAFetchEndsInTime(t *testing.T) { // B41, B65
	drip := func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(somePNG(t)[:8])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, handle := range map[string]http.HandlerFunc{"a slow drip": drip, "a host that does not answer": silent} {
		at := pictures(t, handle)
		_, _, _, err := Fetch(t.Context(), at, FetchOptions{AllowPrivate: loopback, Timeout: 30 * time.Millisecond})
		if platforms.KindOf(err) != platforms.Unavailable || !strings.Contains(err.Error(), at+" was not read: not finished after 30ms") {
			t.Errorf("%s: %v", name, err)
		}
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopping")
	at := pictures(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel(stop)
		<-r.Context().Done()
	})
	_, _, _, err := Fetch(ctx, at, FetchOptions{AllowPrivate: loopback})
	if platforms.KindOf(err) != platforms.Unavailable || !errors.Is(err, stop) {
		t.Errorf("after a cancel: %v", err)
	}
}

func TestAHostThatIsNotThere(t *testing.T) {
	p := newPeer(t, answers(""))
	p.stop()
	a := newAuthority(t)
	secure := newPeer(t, overTLS(a.server(t, "127.0.0.1", time.Now().Add(time.Hour)), answers("HTTP/1.1 404 Not Found\r\n\r\n")))
	for name, tt := range map[string]struct {
		address string
		o       FetchOptions
		kind    platforms.Kind
		text    string
	}{
		"refuses the connection":    {"http://" + p.addr, FetchOptions{}, platforms.Unavailable, "refused"},
		"has no name":               {"http://gone.test./", FetchOptions{resolver: nameServer(t, dnsmessage.RCodeNameError, false, func() {}).Resolver}, platforms.Rejected, "does not exist"},
		"has a name server in need": {"http://ill.test./", FetchOptions{resolver: nameServer(t, dnsmessage.RCodeServerFailure, false, func() {}).Resolver}, platforms.Unavailable, "server misbehaving"},
		"has a foreign certificate": {"https://" + secure.addr, FetchOptions{}, platforms.Rejected, "unknown authority"},
		"has our certificate":       {"https://" + secure.addr, FetchOptions{TLS: &tls.Config{RootCAs: a.roots}}, platforms.Rejected, "answered 404"},
		"is not asked in tests": {"https://a.example/", FetchOptions{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			return nil, io.ErrUnexpectedEOF
		})}, platforms.Unavailable, "unexpected EOF"},
	} {
		tt.o.AllowPrivate = loopback
		_, _, _, err := Fetch(t.Context(), tt.address, tt.o)
		if platforms.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want %s, %s", name, err, tt.kind, tt.text)
		}
	}
}

// names resolves every name to what answer says for the nth question for an
// IPv4 address, counted from 1. There are no IPv6 addresses.
func names(t *testing.T, answer func(name string, nth int) []string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf, asked := make([]byte, 1500), 0
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				asked++
				for _, a := range answer(q.Name.String(), asked) {
					m.Answers = append(m.Answers, dnsmessage.Resource{
						Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
						Body:   &dnsmessage.AResource{A: netip.MustParseAddr(a).As4()},
					})
				}
			}
			if packed, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(packed, from)
			}
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}
