package platformtest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"sync"
	"syscall"
)

var (
	_ http.RoundTripper = (*FaultTransport)(nil)
	_ Faults            = (*FaultTransport)(nil)
)

// HandlerTransport returns a network on which only h answers, without sockets.
func HandlerTransport(h http.Handler) http.RoundTripper { return handlerTransport{h} }

type handlerTransport struct{ handler http.Handler }

// RoundTrip serves the request as a server would, with the whole body read.
func (t handlerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		closeBody(req)
		return nil, err
	}
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, fmt.Errorf("read request body: %w", err)
		}
		closeBody(req)
	}
	in := req.Clone(req.Context())
	in.Body = io.NopCloser(bytes.NewReader(body))
	in.ContentLength = int64(len(body))
	in.RequestURI = req.URL.RequestURI()
	in.RemoteAddr = "127.0.0.1:1"
	if in.Host == "" {
		in.Host = req.URL.Host
	}
	rec := httptest.NewRecorder()
	t.handler.ServeHTTP(rec, in)
	resp := rec.Result()
	resp.Request = req
	return resp, nil
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // a request body of a test has nothing to report
	}
}

// FaultTransport breaks one HTTP request of many. The errors are those of a
// real network, a refused connection before and a reset one after, since that
// is the evidence by which adapters tell "never sent" from "answer lost".
type FaultTransport struct {
	next http.RoundTripper

	mu     sync.Mutex
	calls  int
	at     int
	mode   Mode
	down   bool // a crash has happened
	struck chan struct{}
}

// NewFaultTransport returns a transport that lets everything through to next.
func NewFaultTransport(next http.RoundTripper) *FaultTransport {
	return &FaultTransport{next: next}
}

// Arm implements [Faults].
func (f *FaultTransport) Arm(n int, m Mode) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.at, f.mode, f.down = 0, n, m, false
	f.struck = make(chan struct{})
	return f.struck
}

// Disarm implements [Faults].
func (f *FaultTransport) Disarm() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at, f.down = 0, false
}

// Calls implements [Faults].
func (f *FaultTransport) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// RoundTrip counts the request and lets it through, unless it is its turn.
func (f *FaultTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	mode, struck, down := f.count()
	if down {
		closeBody(req)
		return nil, errRefused
	}
	if struck == nil {
		return f.next.RoundTrip(req)
	}
	switch mode {
	case NotSent:
		close(struck)
		closeBody(req)
		return nil, errRefused
	case Echo:
		close(struck)
		return echo(req)
	}
	err := f.swallow(req)
	close(struck)
	if err != nil {
		return nil, err
	}
	if mode == Hang {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	return nil, errReset // ReplyLost, Crash
}

// count notes one more request and says what becomes of it: struck is not nil
// for the one that goes wrong.
func (f *FaultTransport) count() (mode Mode, struck chan struct{}, down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.down || f.calls != f.at {
		return f.mode, nil, f.down
	}
	f.down = f.mode == Crash
	return f.mode, f.struck, false
}

// swallow sends the request and throws the answer away.
func (f *FaultTransport) swallow(req *http.Request) error {
	resp, err := f.next.RoundTrip(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// echo answers 400 with the request itself, as some gateways do.
func echo(req *http.Request) (*http.Response, error) {
	dump, err := httputil.DumpRequest(req, true)
	if err != nil {
		return nil, fmt.Errorf("dump request: %w", err)
	}
	closeBody(req)
	rec := httptest.NewRecorder()
	rec.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(rec, "cannot serve %s\n%s", req.URL, dump)
	resp := rec.Result()
	resp.Request = req
	return resp, nil
}

var (
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	errReset   = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
)
