package httpx

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// peer is a listener on loopback that does to each connection what the test
// says, and counts the whole requests that it was sent.
type peer struct {
	addr string
	seen atomic.Int64
	stop func() // closes everything and waits for the handlers
}

func newPeer(t *testing.T, handle func(*peer, net.Conn)) *peer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{addr: l.Addr().String()}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		conns []net.Conn
	)
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			wg.Go(func() {
				handle(p, conn)
				_ = conn.Close()
			})
		}
	})
	p.stop = sync.OnceFunc(func() {
		_ = l.Close()
		mu.Lock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	t.Cleanup(p.stop)
	return p
}

// request reads one whole request and counts it.
func (p *peer) request(conn io.Reader) bool {
	r, ok := conn.(*bufio.Reader)
	if !ok {
		r = bufio.NewReader(conn)
	}
	req, err := http.ReadRequest(r)
	if err != nil {
		return false
	}
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return false
	}
	p.seen.Add(1)
	return true
}

// answers reads a request, says what it is given and closes.
func answers(reply string) func(*peer, net.Conn) {
	return func(p *peer, conn net.Conn) {
		if p.request(conn) {
			_, _ = io.WriteString(conn, reply)
		}
	}
}

// overTLS is handle behind a server's handshake.
func overTLS(config *tls.Config, handle func(*peer, net.Conn)) func(*peer, net.Conn) {
	return func(p *peer, conn net.Conn) {
		tc := tls.Server(conn, config)
		if err := tc.Handshake(); err != nil {
			drain(conn) // a reset would overtake the alert
			return
		}
		handle(p, tc)
	}
}

func reset(conn net.Conn) {
	if tc, ok := conn.(*tls.Conn); ok {
		conn = tc.NetConn()
	}
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}

func drain(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// tunnel is a proxy that answers CONNECT with status and then, if that is 200,
// joins both sides.
func tunnel(status string) func(*peer, net.Conn) {
	return func(_ *peer, conn net.Conn) {
		r := bufio.NewReader(conn)
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 "+status+"\r\n\r\n")
		if status != "200 OK" {
			return
		}
		target, err := net.Dial("tcp", req.Host)
		if err != nil {
			return
		}
		go func() { _, _ = io.Copy(target, r); _ = target.(*net.TCPConn).CloseWrite() }()
		_, _ = io.Copy(conn, target)
		_ = target.Close()
	}
}

// eventCtx is past its deadline when the test says so, so that a deadline falls
// into exactly one phase of a call.
type eventCtx struct {
	context.Context
	done   chan struct{}
	expire func()
}

func newEventCtx(t *testing.T) *eventCtx {
	c := &eventCtx{Context: t.Context(), done: make(chan struct{})}
	c.expire = sync.OnceFunc(func() { close(c.done) })
	t.Cleanup(c.expire)
	return c
}

func (c *eventCtx) Deadline() (time.Time, bool) { return time.Now().Add(time.Hour), true }
func (c *eventCtx) Done() <-chan struct{}       { return c.done }

func (c *eventCtx) Err() error {
	select {
	case <-c.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// nameServer calls asked for each DNS question and, unless it is silent, answers
// with rcode. It returns a dialer that resolves through it.
func nameServer(t *testing.T, rcode dnsmessage.RCode, silent bool, asked func()) *net.Dialer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			asked()
			var m dnsmessage.Message
			if silent || m.Unpack(buf[:n]) != nil {
				continue
			}
			reply := dnsmessage.Message{
				Header:    dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true, RCode: rcode},
				Questions: m.Questions,
			}
			packed, err := reply.Pack()
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(packed, from)
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return &net.Dialer{Resolver: &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
		},
	}}
}

// authority signs certificates for tests.
type authority struct {
	cert  *x509.Certificate
	key   *ecdsa.PrivateKey
	roots *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "herald test root"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a := &authority{key: newKey(t), roots: x509.NewCertPool()}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.roots.AddCert(a.cert)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// server returns a configuration with a certificate for ip that ends at until.
func (a *authority) server(t *testing.T, ip string, until time.Time) *tls.Config {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.ParseIP(ip)},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}
