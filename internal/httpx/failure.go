package httpx

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-resty/resty/v2"

	"herald/platforms"
)

var errHandshakeTimeout = errors.New("TLS handshake timeout")

// judge turns what came back into a reply or a failure, by evidence.
func (x *exchange) judge(ctx context.Context, resp *resty.Response, err error) (*Reply, *platforms.Error) {
	if resp != nil && resp.RawResponse != nil {
		x.reached = true
		reply := newReply(x, resp)
		if err == nil {
			return reply, nil
		}
		return nil, reply.unreadable(ctx, err)
	}
	x.reached = x.mayHaveBeenSent(err)
	if refusal := x.evidence.refusal(); refusal != nil {
		err = refusal
	}
	err = withCause(ctx, err)
	switch {
	case x.built(ctx, resp):
		return nil, x.failure(platforms.Invalid, "not sent, request is faulty", err)
	case refusesCertificate(err), !x.reached && isConfig(err):
		return nil, x.failure(platforms.Unauthorized, "not accepted", err)
	case !x.reached:
		return nil, x.failure(platforms.Unavailable, "not sent", err)
	case x.call == Write:
		return nil, x.failure(platforms.Uncertain, "sent, answer lost", err)
	default:
		return nil, x.failure(platforms.Unavailable, "no answer", err)
	}
}

func (x *exchange) mayHaveBeenSent(err error) bool {
	if x.c.o.Transport != nil {
		return !neverSent(err)
	}
	return x.evidence.sent()
}

// built reports whether the request failed for what it is: resty could not make
// it, or the transport refused it without looking for a connection.
func (x *exchange) built(ctx context.Context, resp *resty.Response) bool {
	return resp == nil || x.c.o.Transport == nil && !x.evidence.begun() && ctx.Err() == nil
}

func (x *exchange) failure(kind platforms.Kind, what string, cause error) *platforms.Error {
	cause = x.c.clean(cause)
	return &platforms.Error{
		Platform: x.c.o.Platform, Op: x.op, Kind: kind, Err: cause,
		Message: fmt.Sprintf("%s %s: %s: %v", x.method, x.at(), what, cause),
	}
}

// unreadable is a reply whose body was cut off: the status is known.
func (r *Reply) unreadable(ctx context.Context, err error) *platforms.Error {
	err = r.x.c.clean(withCause(ctx, err))
	kind := StatusKind(r.x.call, r.Status, r.Header)
	if kind == "" {
		kind = lost(r.x.call)
	}
	e := r.Fail(kind, strconv.Itoa(r.Status), fmt.Sprintf("answered %d, reply unreadable: %v", r.Status, err))
	e.Err = err
	return e
}

// lost is what an answer means that did not arrive whole.
func lost(call Call) platforms.Kind {
	if call == Write {
		return platforms.Uncertain
	}
	return platforms.Unavailable
}

// withCause makes why the caller gave up visible to errors.Is.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w (%w)", err, cause)
	}
	return err
}

// clean drops what may hold an address with a query from an error: every
// *url.Error, and the whole chain if its text still shows something secret.
func (c *Client) clean(err error) error {
	for {
		ue, ok := errors.AsType[*url.Error](err)
		if !ok {
			break
		}
		if ue.Op == "parse" {
			return errors.New("invalid address") // the text quotes parts of it
		}
		err = ue.Err
	}
	if text := c.Redact(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// neverSent reports errors that by their type precede the first byte.
func neverSent(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		switch op.Op {
		case "dial", "proxyconnect", "socks connect":
			return true
		}
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	return isTLSConfig(err)
}

// isConfig reports errors before the request that only a person can end.
func isConfig(err error) bool {
	if te, ok := errors.AsType[*tunnelError](err); ok {
		return te.status == http.StatusProxyAuthRequired
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "remote error" || op.Op == "local error") {
		return true // a TLS alert, theirs or ours
	}
	return isTLSConfig(err)
}

func isTLSConfig(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	return errors.Is(err, http.ErrSchemeMismatch)
}

// certificateAlerts refuse the client's certificate. In TLS 1.3 they come after
// the client has begun to send, and prove that the server did not read it.
var certificateAlerts = []tls.AlertError{
	42,  // bad_certificate
	43,  // unsupported_certificate
	44,  // certificate_revoked
	45,  // certificate_expired
	46,  // certificate_unknown
	48,  // unknown_ca
	49,  // access_denied
	116, // certificate_required
}

func refusesCertificate(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "remote error" {
		return false
	}
	// crypto/tls keeps the alert's type to itself; its text is AlertError's.
	for _, alert := range certificateAlerts {
		if op.Err.Error() == alert.Error() {
			return true
		}
	}
	return false
}
