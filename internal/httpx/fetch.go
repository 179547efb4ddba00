package httpx

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"code.dny.dev/ssrf"
	"github.com/dustin/go-humanize"

	"herald/article"
	"herald/platforms"
)

const (
	defaultFetchBytes   = 50 << 20
	defaultFetchTimeout = 30 * time.Second
	maxRedirects        = 5
	// sniffBytes is how much of a picture tells its type.
	sniffBytes = 64 << 10
	// pictureTypes asks for what package picture decodes: a host that chooses by
	// this header would rather send AVIF to whoever takes everything.
	pictureTypes = "image/png,image/jpeg,image/gif,image/webp;q=0.9,image/svg+xml;q=0.8,*/*;q=0.5"

	saveIt = "save the picture beside the article and name that file"
)

// azureMetadata is the one cloud's metadata service that has a public address.
var azureMetadata = netip.MustParsePrefix("168.63.129.16/32")

// FetchOptions say how to get the picture of another host. The zero value is
// safe.
type FetchOptions struct {
	// Platform is the target type, for errors.
	Platform string
	// MaxBytes is the largest answer that is read; 0 is 50 MiB.
	MaxBytes int64
	// Timeout is for the whole of it, from the name to the last byte; 0 is 30 s.
	Timeout time.Duration
	// Referer is what to send to a host and what is below it: some give pictures
	// to their own pages only. Without an entry nothing is sent, since others
	// refuse what comes from a page that they do not know.
	Referer map[string]string
	// AllowPrivate are address blocks that may be reached though they are not
	// public. They come from the operator's configuration, never from an article.
	AllowPrivate []netip.Prefix
	// TLS holds own roots; nil is the system's.
	TLS *tls.Config

	// Transport replaces the network in tests, and with it the guard on
	// addresses.
	Transport http.RoundTripper

	resolver *net.Resolver // in tests of the guard
}

// Fetch gets a picture from an address that an article names. It returns its
// bytes, its media type by content, and the address after redirects.
//
// The address is not trusted. It is http or https, without user name, on port
// 80, 443 or one from 1024 on; the same holds for each of at most 5 redirects.
// No address that is not public is connected to: this is checked where the
// connection is made, so no name, redirect or second answer of a name server
// leads around it. For the same reason no proxy is used.
//
// The error is a *[platforms.Error] that names the address without its query:
// Rejected where the same request fails again, Unavailable where it may not. It
// is never RateLimited or Unauthorized, which would hold the target for what
// another host says.
func Fetch(ctx context.Context, address string, o FetchOptions) (data []byte, mediaType, finalURL string, err error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultFetchBytes
	}
	if o.Timeout == 0 {
		o.Timeout = defaultFetchTimeout
	}
	f := &fetch{o: o, asked: shortPlace(address), last: shortPlace(address)}
	u, err := url.Parse(address)
	if err != nil {
		return nil, "", "", f.rejected("is not a valid address", "write https://host/path", nil)
	}
	if err := checkAddress(u); err != nil {
		return nil, "", "", f.judge(ctx, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("not finished after %v", o.Timeout))
	defer cancel()
	f.final = u.String()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.final, http.NoBody)
	if err != nil {
		return nil, "", "", f.rejected("is not a valid address", "write https://host/path", nil)
	}
	req.Header = http.Header{"User-Agent": {userAgent}, "Accept": {pictureTypes}}
	f.refer(req)
	resp, err := (&http.Client{Transport: f.transport(), CheckRedirect: f.follow}).Do(req)
	if err != nil {
		return nil, "", "", f.judge(ctx, err)
	}
	defer resp.Body.Close()
	if data, err = f.read(ctx, resp); err != nil {
		return nil, "", "", err
	}
	head := data[:min(len(data), sniffBytes)]
	if mediaType = article.PictureType(head); mediaType == "" {
		return nil, "", "", f.rejected("answered with "+http.DetectContentType(head)+", not with a picture", "check the address", nil)
	}
	return data, mediaType, f.final, nil
}

// fetch is one picture on its way.
type fetch struct {
	o           FetchOptions
	asked, last string // for people: the article's address, and where redirects led
	final       string // the same, whole
}

// transport makes one connection for each request and keeps none: a kept one
// would outlive the check of its address.
func (f *fetch) transport() http.RoundTripper {
	if f.o.Transport != nil {
		return f.o.Transport
	}
	var v4, v6 []netip.Prefix
	for _, p := range f.o.AllowPrivate {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	guard := ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(azureMetadata),
		ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
	t := baseTransport(Options{
		TLS:  f.o.TLS,
		Dial: (&net.Dialer{Timeout: dialTimeout, Control: guard.Safe, Resolver: f.o.resolver}).DialContext,
	})
	t.DisableKeepAlives = true
	return t
}

// follow checks a redirect before it is followed.
func (f *fetch) follow(next *http.Request, via []*http.Request) error {
	f.final = next.URL.String()
	f.last = shortPlace(f.final)
	if len(via) > maxRedirects {
		return &badAddress{what: fmt.Sprintf("redirects more than %d times", maxRedirects), fix: saveIt}
	}
	f.refer(next)
	return checkAddress(next.URL)
}

// refer sets the Referer that the host wants. After a redirect net/http has put
// the last address there, query and all.
func (f *fetch) refer(req *http.Request) {
	req.Header.Del("Referer")
	host := strings.ToLower(req.URL.Hostname())
	for host != "" {
		if referer, ok := f.o.Referer[host]; ok {
			req.Header.Set("Referer", referer)
			return
		}
		_, host, _ = strings.Cut(host, ".")
	}
}

// badAddress is an address that is not asked at all.
type badAddress struct{ what, fix string }

func (e *badAddress) Error() string { return e.what }

// checkAddress checks the text of an address. Where its name leads is for the
// guard of the connection to check.
func checkAddress(u *url.URL) error {
	host := strings.TrimSuffix(u.Hostname(), ".")
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return &badAddress{fmt.Sprintf("is an address with %s:, which is never read", u.Scheme), saveIt}
	case host == "":
		return &badAddress{"names no host", "write https://host/path"}
	case u.User != nil:
		return &badAddress{"holds a user name or password", saveIt}
	case isNumber(host):
		return &badAddress{"writes an address as a number", saveIt}
	case u.Port() != "" && (err != nil || port != 80 && port != 443 && port < 1024):
		return &badAddress{"is on a port that is not for pictures", saveIt}
	}
	return nil
}

// isNumber reports an IPv4 address in octal, hexadecimal or with parts left out,
// which some resolvers understand. No public domain ends in a number.
func isNumber(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	return strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
}

// read returns the body of a good answer.
func (f *fetch) read(ctx context.Context, resp *http.Response) ([]byte, error) {
	if err := f.status(resp.StatusCode); err != nil {
		return nil, err
	}
	tooLarge := f.rejected("is larger than "+humanize.IBytes(uint64(f.o.MaxBytes)), "make the picture smaller", nil)
	if resp.ContentLength > f.o.MaxBytes {
		return nil, tooLarge
	}
	// What comes packed net/http unpacks while it is read: the limit holds for
	// what comes out.
	data, err := io.ReadAll(io.LimitReader(resp.Body, f.o.MaxBytes+1))
	switch {
	case err != nil:
		return nil, f.judge(ctx, err)
	case int64(len(data)) > f.o.MaxBytes:
		return nil, tooLarge
	case len(data) == 0:
		return nil, f.rejected("is empty (0 bytes)", "check the address", nil)
	}
	return data, nil
}

// status judges the status of an answer.
func (f *fetch) status(code int) error {
	what := fmt.Sprintf("answered %d %s", code, http.StatusText(code))
	switch {
	case code == http.StatusOK:
		return nil
	case code >= 500, code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests:
		return f.fail(platforms.Unavailable, strconv.Itoa(code), what, nil)
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return f.fail(platforms.Rejected, strconv.Itoa(code), what+"; configure the Referer that the host wants, or "+saveIt, nil)
	default:
		return f.fail(platforms.Rejected, strconv.Itoa(code), what+"; check the address", nil)
	}
}

// judge says what a failure without a good answer means.
func (f *fetch) judge(ctx context.Context, err error) error {
	if bad, ok := errors.AsType[*badAddress](err); ok {
		return f.rejected(bad.what, bad.fix, nil)
	}
	cause := new(Client).clean(withCause(ctx, err))
	if ctx.Err() == nil {
		if op, ok := errors.AsType[*net.OpError](err); ok && errors.Is(err, ssrf.ErrProhibitedIP) {
			return f.rejected(fmt.Sprintf("leads to an address that is not public (%v), which is never read", op.Addr), saveIt, cause)
		}
		if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
			return f.rejected("is on a host that does not exist", "check the address", cause)
		}
		if isConfig(err) || errors.Is(err, gzip.ErrHeader) {
			return f.rejected("cannot be read: "+cause.Error(), saveIt, cause)
		}
	}
	return f.fail(platforms.Unavailable, "", "was not read: "+cause.Error(), cause)
}

func (f *fetch) rejected(what, fix string, cause error) *platforms.Error {
	return f.fail(platforms.Rejected, "", what+"; "+fix, cause)
}

func (f *fetch) fail(kind platforms.Kind, code, what string, cause error) *platforms.Error {
	at := f.asked
	if f.last != f.asked {
		at += " (redirected to " + f.last + ")"
	}
	return &platforms.Error{Platform: f.o.Platform, Op: "fetch image", Kind: kind, Code: code, Message: shorten("image " + at + " " + what), Err: cause}
}

// shortPlace leaves room in a message for what is wrong.
func shortPlace(address string) string {
	runes := []rune(place(address))
	if len(runes) > 100 {
		return string(runes[:99]) + "…"
	}
	return string(runes)
}
