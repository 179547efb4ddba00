// Package httpx is the one way herald talks HTTP to a platform. An adapter
// names each call a [Write], a [Read] or an [Idempotent] one; the package sees
// to it that a write leaves the machine at most once, and says of every failure,
// by evidence from the wire, whether the platform may have acted on it.
//
// It does not retry, does not know any platform's codes and keeps no cookies:
// one layer retries, the state machine, and adapters bring their own tables.
package httpx

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/go-resty/resty/v2"

	"herald/internal/failpoint"
	"herald/platforms"
)

// Call says what a repeated request would do, and with it what a lost answer
// means.
type Call int

// The three sorts of call. The zero value is the most careful one.
const (
	// Write creates something: a second request would make a second one. It is
	// sent once, and a lost answer is Uncertain.
	Write Call = iota
	// Read changes nothing. A GET follows redirects within its own host.
	Read
	// Idempotent changes something, but may be repeated: PUT, DELETE, an upload
	// by content hash. No redirects: they would turn it into a GET.
	Idempotent
)

const (
	// defaultTimeout bounds a call whose context has no deadline.
	defaultTimeout = 2 * time.Minute
	// defaultMaxBody is the longest reply that is read, in bytes.
	defaultMaxBody = 10 << 20
	userAgent      = "herald"
)

// Options is what a client is made of. Only Platform is compulsory.
type Options struct {
	// Platform is the target type, for errors.
	Platform string
	// BaseURL is put before the path of each call. The next one of the list is
	// tried only when the one before was certainly not reached. Without any,
	// the path of a call is its whole address.
	BaseURL []string
	// Secrets are taken out of every message and log line.
	Secrets []platforms.Secret
	// Log gets one debug line a call; nil discards them.
	Log *slog.Logger

	// Proxy chooses a proxy for a request; nil uses none, whatever the
	// environment says.
	Proxy func(*http.Request) (*url.URL, error)
	// TLS holds own roots or a client certificate; nil is the system's roots.
	TLS *tls.Config
	// Dial replaces the network's dialer, for a Unix socket or a guard.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// HandshakeTimeout of TLS; 0 is 10 s.
	HandshakeTimeout time.Duration
	// MaxBody is the longest reply that is read, in bytes; 0 is 10 MiB.
	MaxBody int

	// Transport replaces the network in tests. There is no byte evidence then:
	// only errors that can by their type not happen after the first byte (a
	// *net.OpError of a dial, a *net.DNSError, a refused certificate) count as
	// not sent.
	Transport http.RoundTripper
}

// Client talks to one account of one platform. It is safe for concurrent use;
// make one per target, never one per request.
type Client struct {
	o      Options
	reads  *resty.Client // keeps connections; Go may repeat a request by itself
	writes *resty.Client // single shot
}

// New returns a client. A faulty base URL shows in the first call, as Invalid.
func New(o Options) *Client {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if len(o.BaseURL) == 0 {
		o.BaseURL = []string{""}
	}
	if o.MaxBody == 0 {
		o.MaxBody = defaultMaxBody
	}
	reads, writes := o.Transport, o.Transport
	if o.Transport == nil {
		reads, writes = readTransport(o), writeTransport(o)
	}
	c := &Client{
		o:      o,
		reads:  newResty(&http.Client{Transport: reads, CheckRedirect: sameHostReads}, o.MaxBody),
		writes: newResty(&http.Client{Transport: writes, CheckRedirect: noRedirects}, o.MaxBody),
	}
	c.writes.SetPreRequestHook(func(_ *resty.Client, r *http.Request) error {
		unrepeatable(r)
		return nil
	})
	return c
}

func newResty(hc *http.Client, maxBody int) *resty.Client {
	return resty.NewWithClient(hc).
		SetHeader("User-Agent", userAgent).
		SetResponseBodyLimit(maxBody).
		SetJSONEscapeHTML(false).
		SetDisableWarn(true)
}

// Do makes one call and reads the whole reply. Any status is a reply, not an
// error: ask [Reply.Err] after looking for the platform's own code. The error is
// a *[platforms.Error] whose kind tells whether the platform may have acted.
//
// path is joined to the base URL as it is. build fills in headers, query and
// body, and may be nil; it is called once for each base URL that is tried, so it
// gives a body as bytes or as a value to encode, not as a stream.
func (c *Client) Do(ctx context.Context, call Call, op, method, path string, build func(*resty.Request)) (*Reply, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultTimeout)
		defer cancel()
	}
	var failure *platforms.Error
	for _, base := range c.o.BaseURL {
		x := &exchange{c: c, call: call, op: op, method: method, address: base + path}
		reply, err := x.run(ctx, build)
		if err == nil {
			return reply, nil
		}
		// With several addresses the one that may come back by itself speaks
		// for all: a broken relay alone does not need a person.
		if failure == nil || err.Kind == platforms.Unavailable {
			failure = err
		}
		if x.reached || err.Kind == platforms.Invalid || ctx.Err() != nil {
			return nil, err
		}
	}
	return nil, failure
}

// exchange is one request to one address.
type exchange struct {
	c                   *Client
	call                Call
	op, method, address string
	evidence            evidence
	reached             bool // the platform may have seen some of it
}

func (x *exchange) run(ctx context.Context, build func(*resty.Request)) (*Reply, *platforms.Error) {
	if ctx.Err() != nil {
		return nil, x.failure(platforms.Unavailable, "not sent", context.Cause(ctx))
	}
	client := x.c.reads
	if x.call == Write {
		client = x.c.writes
	}
	req := client.R()
	if build != nil {
		build(req)
	}
	began := time.Now()
	failpoint.Hit("http/before")
	resp, err := req.SetContext(x.evidence.watch(ctx)).Execute(x.method, x.address)
	failpoint.Hit("http/after")
	reply, failure := x.judge(ctx, resp, err)

	x.log(ctx, resp, failure, time.Since(began))
	return reply, failure
}

// at is the address for people: no query, no secret.
func (x *exchange) at() string { return x.c.Redact(place(x.address)) }

func (x *exchange) log(ctx context.Context, resp *resty.Response, failure *platforms.Error, took time.Duration) {
	if !x.c.o.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{slog.String("op", x.op), slog.String("method", x.method), slog.String("url", x.at())}
	if resp != nil && resp.RawResponse != nil {
		attrs = append(attrs, slog.Int("status", resp.StatusCode()))
	}
	if failure != nil {
		attrs = append(attrs, slog.String("kind", string(failure.Kind)))
	}
	x.c.o.Log.LogAttrs(ctx, slog.LevelDebug, "http call", append(attrs, slog.Duration("duration", took))...)
}

// noRedirects keeps a 3xx as the answer: following it turns POST into GET, whose
// 200 looks like success, or sends the body a second time.
func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// sameHostReads follows a read within its own host, so that no header with a
// credential goes elsewhere.
func sameHostReads(next *http.Request, via []*http.Request) error {
	last := via[len(via)-1]
	read := last.Method == http.MethodGet || last.Method == http.MethodHead
	upgrade := last.URL.Scheme == "http" && next.URL.Scheme == "https" && last.URL.Hostname() == next.URL.Hostname()
	same := last.URL.Scheme == next.URL.Scheme && last.URL.Host == next.URL.Host
	if !read || len(via) > 5 || !same && !upgrade {
		return http.ErrUseLastResponse
	}
	next.Header.Del("Referer") // net/http puts the last URL there, query and all
	return nil
}
