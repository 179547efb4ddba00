package httpx

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/go-resty/resty/v2"
	"golang.org/x/net/dns/dnsmessage"

	"herald/platforms"
)

func beforeTheConnection() []fault {
	named := func(rcode dnsmessage.RCode) func(*testing.T) scene {
		return func(t *testing.T) scene {
			d := nameServer(t, rcode, false, func() {})
			return scene{url: "http://herald.test.:8080/posts", opts: Options{Dial: d.DialContext}}
		}
	}
	faulty := func(address string, build func(*resty.Request)) func(*testing.T) scene {
		return func(t *testing.T) scene {
			s := at(t, "http", answers("HTTP/1.1 201 Created\r\n\r\n"))
			if address != "" {
				s.url = address
			}
			s.build = build
			return s
		}
	}
	return []fault{
		{"1 the name does not exist", unavailable, unavailable, 0, named(dnsmessage.RCodeNameError)},
		{"2 the name server is sick", unavailable, unavailable, 0, named(dnsmessage.RCodeServerFailure)},
		{"3 the connection is refused", unavailable, unavailable, 0, func(t *testing.T) scene {
			s := at(t, "http", answers(""))
			s.peer.stop()
			return s
		}},
		{"11 the caller gave up before the call", unavailable, unavailable, 0, func(t *testing.T) scene {
			s := at(t, "http", answers("HTTP/1.1 201 Created\r\n\r\n"))
			ctx := newEventCtx(t)
			ctx.expire()
			s.ctx = ctx
			return s
		}},
		{"12 the address has no scheme", invalid, invalid, 0, faulty("127.0.0.1/posts", nil)},
		{"12 the scheme is not HTTP", invalid, invalid, 0, faulty("gopher://127.0.0.1/posts", nil)},
		{"12 the address cannot be parsed", invalid, invalid, 0, faulty("http://127.0.0.1:port/posts", nil)},
		{"12 the address has no host", invalid, invalid, 0, faulty("http:///posts", nil)},
		{"12 a header holds a line break", invalid, invalid, 0, faulty("", func(r *resty.Request) {
			r.SetHeader("X-Title", "a\nb")
		})},
		{"12 the body cannot be encoded", invalid, invalid, 0, faulty("", func(r *resty.Request) {
			r.SetHeader("Content-Type", "application/json").SetBody(map[string]any{"f": func() {}})
		})},
	}
}

// onTheConnection are the faults between the first byte and the answer.
func onTheConnection() []fault {
	secure := func(handle func(*peer, net.Conn)) func(t *testing.T) scene {
		return func(t *testing.T) scene {
			a := newAuthority(t)
			s := at(t, "https", overTLS(a.server(t, "127.0.0.1", time.Now().Add(time.Hour)), handle))
			s.opts.TLS = &tls.Config{RootCAs: a.roots}
			return s
		}
	}
	plain := func(handle func(*peer, net.Conn)) func(t *testing.T) scene {
		return func(t *testing.T) scene { return at(t, "http", handle) }
	}
	readsAndResets := func(p *peer, conn net.Conn) { p.request(conn); reset(conn) }
	return []fault{
		{"13 the peer has closed before anything was written", unavailable, unavailable, 0, func(t *testing.T) scene {
			s := at(t, "http", func(_ *peer, conn net.Conn) { _ = conn.Close() })
			s.opts.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, addr)
				return &writesOnceClosed{Conn: conn, closed: make(chan struct{})}, err
			}
			return s
		}},
		{"14 the peer reads and closes", uncertain, unavailable, 1, plain(answers(""))},
		{"14 the peer reads and closes, with TLS", uncertain, unavailable, 1, secure(answers(""))},
		{"15 reset before anything was written", unavailable, unavailable, 0, func(t *testing.T) scene {
			s := at(t, "http", func(_ *peer, conn net.Conn) { reset(conn) })
			s.opts.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, addr)
				if err == nil {
					_, _ = conn.Read(make([]byte, 1)) // until the reset is here
				}
				return conn, err
			}
			return s
		}},
		{"15 the peer reads and resets", uncertain, unavailable, 1, plain(readsAndResets)},
		{"15 the peer reads and resets, with TLS", uncertain, unavailable, 1, secure(readsAndResets)},
		{"16 reset in the middle of the request", uncertain, unavailable, 0, func(t *testing.T) scene {
			return endless(at(t, "http", func(_ *peer, conn net.Conn) {
				_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
				_, _ = io.CopyN(io.Discard, conn, 1000)
				reset(conn)
			}))
		}},
		{"18 half a status line", uncertain, unavailable, 1, plain(answers("HTTP/1.1 20"))},
		{"18 half a header", uncertain, unavailable, 1, plain(answers("HTTP/1.1 201 Created\r\nContent-Ty"))},
		{"18 no HTTP at all", uncertain, unavailable, 1, plain(answers("I am not a web server\r\n\r\n"))},
		{"18 a status that is no number", uncertain, unavailable, 1, plain(answers("HTTP/1.1 2OO OK\r\n\r\n"))},
		{"18 a header without end", uncertain, unavailable, 1, plain(answers("HTTP/1.1 201 Created\r\nX: " + strings.Repeat("x", 2<<20)))},
		{"18 only 102 Processing", uncertain, unavailable, 1, plain(answers("HTTP/1.1 102 Processing\r\n\r\n"))},
		{"22 our own body breaks off", invalid, invalid, 0, func(t *testing.T) scene {
			s := at(t, "http", answers("HTTP/1.1 201 Created\r\n\r\n"))
			s.build = func(r *resty.Request) {
				r.SetBody(io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), iotest.ErrReader(errors.New("disk is gone"))))
			}
			return s
		}},
	}
}

func deadlines() []fault {
	// during ends the deadline when the peer has come to the point.
	during := func(scheme string, handle func(*peer, net.Conn)) func(*testing.T) scene {
		return func(t *testing.T) scene {
			ctx := newEventCtx(t)
			s := at(t, scheme, func(p *peer, conn net.Conn) {
				handle(p, conn)
				ctx.expire()
				drain(conn)
			})
			s.ctx = ctx
			return s
		}
	}
	first := func(n int64) func(*peer, net.Conn) {
		return func(_ *peer, conn net.Conn) { _, _ = io.CopyN(io.Discard, conn, n) }
	}
	whole := func(p *peer, conn net.Conn) { p.request(conn) }
	return []fault{
		{"19 while the name is resolved", unavailable, unavailable, 0, func(t *testing.T) scene {
			ctx := newEventCtx(t)
			d := nameServer(t, 0, true, ctx.expire)
			return scene{url: "http://herald.test.:8080/posts", ctx: ctx, opts: Options{Dial: d.DialContext}}
		}},
		{"19 while the connection is made", unavailable, unavailable, 0, func(t *testing.T) scene {
			ctx, full := newEventCtx(t), fullListener(t)
			dial := func(c context.Context, network, addr string) (net.Conn, error) {
				d := net.Dialer{ControlContext: func(context.Context, string, string, syscall.RawConn) error {
					time.AfterFunc(20*time.Millisecond, ctx.expire)
					return nil
				}}
				return d.DialContext(c, network, addr)
			}
			return scene{url: "http://" + full + "/posts", ctx: ctx, opts: Options{Dial: dial}}
		}},
		{"19 in the TLS handshake", unavailable, unavailable, 0, during("https", first(64))},
		{"19 while the proxy makes the tunnel", unavailable, unavailable, 0, func(t *testing.T) scene {
			s := during("http", first(16))(t)
			s.opts.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: s.peer.addr})
			s.url = "https://127.0.0.1:1/posts"
			return s
		}},
		{"19 in the middle of the request", uncertain, unavailable, 0, func(t *testing.T) scene {
			ctx := newEventCtx(t)
			s := at(t, "http", func(_ *peer, conn net.Conn) {
				_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
				_, _ = io.CopyN(io.Discard, conn, 1000)
				ctx.expire()
			})
			s.ctx = ctx
			return endless(s)
		}},
		{"19 while the answer is awaited", uncertain, unavailable, 1, during("http", whole)},
		{"19 while the reply is read", uncertain, unavailable, 1, during("http", func(p *peer, conn net.Conn) {
			answers("HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{\"id\"")(p, conn)
		})},
		{"20 the reply comes after the deadline", uncertain, unavailable, 1, func(t *testing.T) scene {
			ctx := newEventCtx(t)
			s := at(t, "http", func(p *peer, conn net.Conn) {
				p.request(conn)
				ctx.expire()
				drain(conn) // until the client has hung up
				_, _ = io.WriteString(conn, "HTTP/1.1 201 Created\r\n\r\n")
			})
			s.ctx = ctx
			return s
		}},
	}
}

// replies are faults of an answer whose status is known.
func replies() []fault {
	row := func(name string, write, repeatable platforms.Kind, reply string) fault {
		return fault{name, write, repeatable, 1, func(t *testing.T) scene { return at(t, "http", answers(reply)) }}
	}
	cut := "\r\nContent-Length: 100\r\n\r\n{\"id\":"
	faults := []fault{
		row("a good answer is no failure", "", "", "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"),
		row("32 created, but the reply is cut off", uncertain, unavailable, "HTTP/1.1 201 Created"+cut),
		row("32 refused, and the reply is cut off", platforms.Rejected, platforms.Rejected, "HTTP/1.1 422 Unprocessable"+cut),
		row("32 too fast, and the reply is cut off", platforms.RateLimited, platforms.RateLimited, "HTTP/1.1 429 Too Many Requests"+cut),
		row("32 broken, and the reply is cut off", uncertain, unavailable, "HTTP/1.1 500 Internal Server Error"+cut),
		row("32 created, but the reply is not gzip", uncertain, unavailable, "HTTP/1.1 201 Created\r\nContent-Encoding: gzip\r\n\r\nnot gzip at all"),
		{"32 created, but the reply is too long", uncertain, unavailable, 1, func(t *testing.T) scene {
			s := at(t, "http", answers("HTTP/1.1 201 Created\r\n\r\n"+strings.Repeat("x", 2000)))
			s.opts.MaxBody = 1000
			return s
		}},
	}
	for _, status := range []string{"301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"} {
		faults = append(faults, row("33 redirected by "+status, unauthorized, unauthorized,
			"HTTP/1.1 "+status+"\r\nLocation: /elsewhere?token=abc\r\nContent-Length: 0\r\n\r\n"))
	}
	return faults
}

// endless gives the scene a body that does not fit into the sockets' buffers.
func endless(s scene) scene {
	s.build = func(r *resty.Request) { r.SetBody(make([]byte, 4<<20)) }
	s.opts.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			err = conn.(*net.TCPConn).SetWriteBuffer(4 << 10)
		}
		return conn, err
	}
	return s
}

// fullListener returns an address that neither accepts nor refuses.
func fullListener(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := errors.Join(
		syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0),
	); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*syscall.SockaddrInet4).Port}).String()
	for range 8 { // fill the queue
		conn, err := net.DialTimeout("tcp", addr, 50*time.Millisecond)
		if err != nil {
			return addr
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	t.Skip("this system's listen queue does not fill")
	return ""
}

// writesOnceClosed holds writes back until the transport has noticed the end of
// the connection.
type writesOnceClosed struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
}

func (c *writesOnceClosed) Write(p []byte) (int, error) {
	<-c.closed
	return c.Conn.Write(p)
}

func (c *writesOnceClosed) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { close(c.closed) })
	return err
}
