package wechat

import (
	"bytes"
	"errors"
	"flag"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"herald/article"
	"herald/platforms"
	"herald/platforms/platformtest"
	"herald/platforms/wechat/wechattest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// key is an idempotency key.
const key = "0123456789abcdef0123456789abcdef"

func testEnv(t testing.TB, rt http.RoundTripper) platforms.Env {
	t.Helper()
	return platforms.Env{
		Target: "wechat", Dir: filepath.Join(t.TempDir(), "private"), Base: t.TempDir(), Location: beijing,
		Log: slog.New(slog.DiscardHandler), Transport: rt,
	}
}

// open returns an account on a simulator without sockets.
func open(t testing.TB, s *wechattest.Server, change ...func(*Config)) *Client {
	t.Helper()
	s.Configure(func(o *wechattest.Options) { o.Secret = testSecret })
	cfg := testConfig(modeDraft)
	for _, c := range change {
		c(&cfg)
	}
	c, err := New(cfg, testEnv(t, s.Transport()))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func publishing(c *Config) { c.Mode = modePublish }

// write makes an article of a Markdown text and of files beside it.
func write(t testing.TB, text string, files map[string][]byte) *article.Article {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "article")
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "index.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return platformtest.Load(t, dir).For("wechat")
}

func render(t testing.TB, c *Client, a *article.Article) platforms.Post {
	t.Helper()
	p, err := c.Render(a)
	if err != nil {
		t.Fatal(err)
	}
	p.Key, p.Revision = key, 1
	return p
}

// simple is an article with one picture.
func simple(t testing.TB, c *Client) platforms.Post {
	t.Helper()
	return render(t, c, write(t, "---\ntitle: 错误处理\nsummary: 摘要\n---\n正文。\n\n![图](a.png)\n", map[string][]byte{"a.png": pngOf(t, 8, 8)}))
}

// failureOf returns the platform's error in err and fails if its kind is another.
func failureOf(t testing.TB, err error, kind platforms.Kind) platforms.Error {
	t.Helper()
	e, ok := errors.AsType[*platforms.Error](err)
	if !ok || e.Kind != kind {
		t.Fatalf("error = %v, want kind %q", err, kind)
	}
	return *e
}

func mustPublish(t testing.TB, c *Client, p platforms.Post, m platforms.Memo) platforms.Receipt {
	t.Helper()
	r, err := c.Publish(t.Context(), p, m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// noise is a picture that does not compress.
func noise(width, height int) image.Image {
	im := image.NewRGBA(image.Rect(0, 0, width, height))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range im.Pix {
		im.Pix[i] = uint8(r.UintN(256))
	}
	return im
}

func pngOf(t testing.TB, width, height int) []byte {
	t.Helper()
	return encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, noise(width, height)) })
}

func jpegOf(t testing.TB, width, height int) []byte {
	t.Helper()
	return encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, noise(width, height), &jpeg.Options{Quality: 95}) })
}

// gifOf is an animation of two pictures.
func gifOf(t testing.TB) []byte {
	t.Helper()
	g := &gif.GIF{Delay: []int{10, 10}}
	for range 2 {
		g.Image = append(g.Image, image.NewPaletted(image.Rect(0, 0, 16, 16), color.Palette{color.Black, color.White}))
	}
	return encoded(t, func(b *bytes.Buffer) error { return gif.EncodeAll(b, g) })
}

func encoded(t testing.TB, encode func(*bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// recorder is a network that keeps what was sent.
type recorder struct {
	next http.RoundTripper
	mu   sync.Mutex
	sent [][]byte
	urls []string
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var b bytes.Buffer
	if req.Body != nil {
		if _, err := b.ReadFrom(req.Body); err != nil {
			return nil, err
		}
		if err := req.Body.Close(); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	r.sent, r.urls = append(r.sent, b.Bytes()), append(r.urls, req.URL.Path)
	r.mu.Unlock()
	again := req.Clone(req.Context())
	again.Body = readCloser{bytes.NewReader(b.Bytes())}
	return r.next.RoundTrip(again)
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// midnight is when a day's quota is full again at the earliest.
func midnight(now time.Time) time.Time {
	year, month, day := now.In(beijing).Date()
	return time.Date(year, month, day+1, 0, 0, 0, 0, beijing)
}
