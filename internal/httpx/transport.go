package httpx

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	// continueTimeout is how long a big upload that sends `Expect: 100-continue`
	// waits for the go-ahead before it is sent anyway.
	continueTimeout = 5 * time.Second
	maxReplyHeader  = 1 << 20
)

const (
	// idleWrite is how long a connection for writes is kept for the next one: the
	// pictures and the draft of one article share it. A server that gives up idle
	// connections does so after 5 s or more, so that none closes under a write.
	idleWrite = time.Second
	// writeBuffer, in bytes, holds most requests whole: they leave in one write.
	writeBuffer = 32 << 10
	// keptWrites is how many idle connections a client keeps for writes.
	keptWrites = 64
)

// writeTransport sends each request once, over HTTP/1.1. Go's default re-sends by
// itself: over HTTP/1.1 a request with an Idempotency-Key on a reused connection,
// if its body can be rewound (see [unrepeatable]), over HTTP/2 any request that
// the peer refused.
func writeTransport(o Options) *http.Transport {
	t := baseTransport(o)
	t.IdleConnTimeout = idleWrite
	t.MaxIdleConnsPerHost = keptWrites
	t.WriteBufferSize = writeBuffer
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.TLSClientConfig.NextProtos = []string{"http/1.1"}

	dial, config, timeout := t.DialContext, t.TLSClientConfig, t.TLSHandshakeTimeout
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &countConn{Conn: conn}, nil
	}
	// The counter goes around TLS, not below it, where handshake and closing
	// alert would look like a request.
	t.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		tc, err := handshake(ctx, conn, addr, config, timeout)
		if err != nil {
			_ = conn.Close()
			return nil, err
		}
		return &countConn{Conn: tc}, nil
	}
	return t
}

// unrepeatable makes a request one that net/http does not send a second time by
// itself: it has a body, and that cannot be rewound.
func unrepeatable(r *http.Request) {
	r.GetBody = nil
	if r.Body == nil || r.Body == http.NoBody {
		r.Body = io.NopCloser(strings.NewReader(""))
	}
}

func handshake(ctx context.Context, conn net.Conn, addr string, config *tls.Config, timeout time.Duration) (*tls.Conn, error) {
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		config = config.Clone()
		config.ServerName = host
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errHandshakeTimeout)
	defer cancel()
	tc := tls.Client(conn, config)
	if err := tc.HandshakeContext(ctx); err != nil {
		if context.Cause(ctx) == errHandshakeTimeout { //nolint:errorlint // our own value, never wrapped
			err = errHandshakeTimeout
		}
		return nil, err
	}
	return tc, nil
}

// readTransport keeps connections and may speak HTTP/2.
func readTransport(o Options) *http.Transport {
	t := baseTransport(o)
	t.ForceAttemptHTTP2 = true
	t.MaxIdleConnsPerHost = 16
	t.IdleConnTimeout = 90 * time.Second
	return t
}

func baseTransport(o Options) *http.Transport {
	t := &http.Transport{
		Proxy:                  o.Proxy,
		DialContext:            o.Dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    o.HandshakeTimeout,
		ExpectContinueTimeout:  continueTimeout,
		MaxResponseHeaderBytes: maxReplyHeader,
		OnProxyConnectResponse: refusedTunnel,
	}
	if t.DialContext == nil {
		t.DialContext = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	if t.TLSHandshakeTimeout == 0 {
		t.TLSHandshakeTimeout = handshakeTimeout
	}
	if o.TLS != nil {
		t.TLSClientConfig = o.TLS.Clone()
	}
	if t.TLSClientConfig.ClientSessionCache == nil {
		// A new connection for each write need not be a whole new handshake.
		t.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	return t
}

// tunnelError is a proxy's refusal of CONNECT, which net/http leaves untyped.
type tunnelError struct{ status int }

func (e *tunnelError) Error() string {
	return fmt.Sprintf("proxy refused the tunnel: %d %s", e.status, http.StatusText(e.status))
}

func refusedTunnel(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
	if res.StatusCode != http.StatusOK {
		return &tunnelError{res.StatusCode}
	}
	return nil
}

// countConn counts the bytes that the kernel, or TLS, has accepted, and keeps an
// alert that a failing write would hide.
type countConn struct {
	net.Conn
	accepted atomic.Int64
	refusal  atomic.Pointer[error]
}

func (c *countConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if refusesCertificate(err) {
		c.refusal.Store(&err)
	}
	return n, err
}

func (c *countConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.accepted.Add(int64(n))
	return n, err
}

// evidence is what is known of a request beside its error. The zero value is
// ready; it is final once the transport has returned, because net/http waits for
// the end of its write loop.
type evidence struct {
	mu    sync.Mutex
	asked bool // the transport began to look for a connection
	got   bool // and had one
	conn  *countConn
	start int64 // accepted by conn before this request
}

// watch returns a context under which the transport reports to e.
func (e *evidence) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.asked = true
		},
		GotConn: func(info httptrace.GotConnInfo) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.got = true
			if e.conn = counterOf(info.Conn); e.conn != nil {
				e.start = e.conn.accepted.Load()
			}
		},
	})
}

// counterOf finds the counter of a connection. In a tunnel it lies below TLS,
// where it may count an alert too many, which errs on the side of "sent".
func counterOf(conn net.Conn) *countConn {
	if tc, ok := conn.(*tls.Conn); ok {
		conn = tc.NetConn()
	}
	counter, _ := conn.(*countConn)
	return counter
}

// sent reports whether a byte of the request may have left: not without a
// connection, and not if a counted one accepted nothing.
func (e *evidence) sent() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conn != nil {
		return e.conn.accepted.Load() > e.start
	}
	return e.got
}

// refusal is the alert by which the peer refused the client's certificate; nil
// if there was none.
func (e *evidence) refusal() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conn == nil {
		return nil
	}
	if err := e.conn.refusal.Load(); err != nil {
		return *err
	}
	return nil
}

// begun reports whether the request was good enough to look for a connection.
func (e *evidence) begun() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked
}
