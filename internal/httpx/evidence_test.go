package httpx

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-resty/resty/v2"

	"herald/platforms"
)

const (
	unavailable  = platforms.Unavailable
	unauthorized = platforms.Unauthorized
	uncertain    = platforms.Uncertain
	invalid      = platforms.Invalid
	chance       = platforms.Kind("unauthorized or unavailable")
)

// scene is one fault: where the call goes, how it is made, and who counts.
type scene struct {
	url   string
	opts  Options
	ctx   context.Context
	build func(*resty.Request)
	peer  *peer
}

// at serves the scene by one misbehaving peer.
func at(t *testing.T, scheme string, handle func(*peer, net.Conn)) scene {
	p := newPeer(t, handle)
	return scene{url: scheme + "://" + p.addr + "/posts", peer: p}
}

// fault is one row of the table: what an error proves, told by what happens to
// the request on the wire. The number is the row of the contract sheet.
type fault struct {
	name string
	// write and repeatable are the kinds of a Write and of an Idempotent call;
	// chance where that depends on which of two errors comes first.
	write, repeatable platforms.Kind
	// seen is how many whole requests the peer has read.
	seen int64
	set  func(t *testing.T) scene
}

func TestFailuresAreJudgedByWhatWasOnTheWire(t *testing.T) {
	for _, group := range [][]fault{beforeTheConnection(), handshakes(), proxies(), onTheConnection(), deadlines(), replies()} {
		for _, f := range group {
			for call, want := range map[Call]platforms.Kind{Write: f.write, Idempotent: f.repeatable} {
				name := map[Call]string{Write: "write", Idempotent: "idempotent"}[call]
				t.Run(f.name+"/"+name, func(t *testing.T) {
					t.Parallel()
					s := f.set(t)
					err := s.run(t, call)
					if got := platforms.KindOf(err); got != want && (want != chance || got != unauthorized && got != unavailable) {
						t.Errorf("kind = %q, want %q (%v)", got, want, err)
					}
					if s.peer == nil {
						return
					}
					s.peer.stop()
					if got := s.peer.seen.Load(); got != f.seen {
						t.Errorf("the peer saw %d whole requests, want %d (%v)", got, f.seen, err)
					}
				})
			}
		}
	}
}

func (s scene) run(t *testing.T, call Call) error {
	ctx := s.ctx
	if ctx == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
	}
	s.opts.Platform = "test"
	reply, err := New(s.opts).Do(ctx, call, "create", http.MethodPost, s.url, func(r *resty.Request) {
		// net/http re-sends a request with this header where it can.
		r.SetHeader("Idempotency-Key", "k1").SetBody(bytes.Repeat([]byte("x"), 10<<10))
		if s.build != nil {
			s.build(r)
		}
	})
	if err != nil {
		return err
	}
	return reply.Err()
}

// A second request on a kept connection that closes under it is what net/http
// sends again by itself if it carries an Idempotency-Key.
func TestAWriteWithAnIdempotencyKeyIsSentOnceWhereAnIdempotentCallIsRepeated(t *testing.T) {
	for call, want := range map[Call]int64{Write: 2, Idempotent: 3} {
		for _, body := range []any{"{}", nil} {
			p := newPeer(t, func(p *peer, conn net.Conn) {
				r := bufio.NewReader(conn)
				for p.request(r) && p.seen.Load() == 1 {
					_, _ = io.WriteString(conn, "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}")
				}
			})
			c := New(Options{Platform: "test", BaseURL: []string{"http://" + p.addr}})
			send := func() error {
				_, err := c.Do(t.Context(), call, "create", http.MethodPost, "/posts", func(r *resty.Request) {
					r.SetHeader("Idempotency-Key", "k1").SetBody(body)
				})
				return err
			}
			if err := send(); err != nil {
				t.Fatal(err)
			}
			switch err := send(); {
			case err == nil:
				t.Error("the second call succeeded without an answer")
			case call == Write && platforms.KindOf(err) != platforms.Uncertain:
				t.Errorf("got %v, want uncertain: the peer has read it", err)
			}
			p.stop()
			if got := p.seen.Load(); got != want {
				t.Errorf("call %d, body %v: two calls made %d requests, want %d", call, body, got, want)
			}
		}
	}
}

// What the connection carried before is no evidence of the request at hand.
func TestAWriteOnAKeptConnectionIsJudgedByItsOwnBytes(t *testing.T) {
	read := make(chan struct{})
	p := newPeer(t, func(p *peer, conn net.Conn) {
		p.request(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}")
		<-read
	})
	defer close(read)
	var kept *failing
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		kept = &failing{Conn: conn}
		return kept, err
	}
	c := New(Options{Platform: "test", BaseURL: []string{"http://" + p.addr}, Dial: dial})
	for i, want := range []platforms.Kind{"", platforms.Unavailable} {
		_, err := c.Do(t.Context(), Write, "create", http.MethodPost, "/posts", func(r *resty.Request) { r.SetBody("{}") })
		if got := platforms.KindOf(err); got != want {
			t.Errorf("call %d: kind = %q (%v), want %q", i+1, got, err, want)
		}
		kept.broken.Store(true) // the next call is made on it, and no byte of it is accepted
	}
}

// failing is a connection whose writes fail once it is broken.
type failing struct {
	net.Conn
	broken atomic.Bool
}

func (f *failing) Write(p []byte) (int, error) {
	if f.broken.Load() {
		return 0, syscall.EPIPE
	}
	return f.Conn.Write(p)
}

func TestAWriteHasNoBodyThatCouldBeRewound(t *testing.T) {
	for call, want := range map[Call]bool{Write: false, Idempotent: true} {
		transport := roundTripper(func(r *http.Request) (*http.Response, error) {
			if got := r.GetBody != nil; got != want {
				t.Errorf("call %d: can be rewound: %v, want %v", call, got, want)
			}
			return nil, io.EOF
		})
		_, _ = New(Options{Transport: transport}).Do(t.Context(), call, "create", http.MethodPost, "http://a.example", func(r *resty.Request) { r.SetBody("{}") })
	}
}

func TestInATunnelWhatTheHandshakeWroteIsNoEvidence(t *testing.T) {
	counter := &countConn{}
	counter.accepted.Add(2000) // CONNECT and the handshake
	var e evidence
	trace := httptrace.ContextClientTrace(e.watch(t.Context()))
	trace.GotConn(httptrace.GotConnInfo{Conn: tls.Client(counter, &tls.Config{ServerName: "a.example"})})
	if e.sent() {
		t.Error("the handshake counts as a request")
	}
	counter.accepted.Add(1)
	if !e.sent() {
		t.Error("a byte after the handshake does not count")
	}
}

// alerted is a connection on which the peer has refused the certificate.
type alerted struct{ net.Conn }

func (alerted) Read([]byte) (int, error) {
	return 0, &net.OpError{Op: "remote error", Err: tls.AlertError(116)}
}

// The alert comes while the request is being written, and whichever error is
// first is the one that net/http returns.
func TestARefusedCertificateIsSeenBehindTheErrorOfAWrite(t *testing.T) { // 9b
	counter := &countConn{Conn: alerted{}}
	counter.accepted.Add(1)
	_, _ = counter.Read(nil)
	x := &exchange{c: New(Options{Platform: "test"}), call: Write}
	x.evidence.asked, x.evidence.got, x.evidence.conn = true, true, counter
	_, err := x.judge(t.Context(), &resty.Response{}, &net.OpError{Op: "write", Err: net.ErrClosed})
	if err.Kind != unauthorized || !strings.Contains(err.Message, "certificate required") {
		t.Errorf("error = %v, want unauthorized because of the certificate", err)
	}
}

func TestAHandshakeEndsByItsOwnTimeout(t *testing.T) { // 6
	for _, call := range []Call{Write, Read} {
		p := newPeer(t, func(_ *peer, conn net.Conn) { drain(conn) })
		c := New(Options{Platform: "test", HandshakeTimeout: time.Millisecond})
		_, err := c.Do(t.Context(), call, "get", http.MethodGet, "https://"+p.addr, nil)
		if err == nil || !strings.Contains(err.Error(), "TLS handshake timeout") {
			t.Errorf("call %d: %v, want a handshake timeout", call, err)
		}
	}
}
