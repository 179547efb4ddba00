package xiaohongshutest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

// Fault is what a scripted call meets. usual is what the platform would have done.
type Fault func(w http.ResponseWriter, r *http.Request, usual http.HandlerFunc)

type scripted struct {
	endpoint string
	left     int // calls until it is due
	always   bool
	fault    Fault
}

// Script makes the n-th call from now on to an endpoint ("POST /api/v1/publish") meet a
// fault, counted from 1; n = 0 means every call, an empty endpoint any. One fault
// strikes at a time; another that is due waits for the next call.
func (s *Server) Script(endpoint string, n int, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, &scripted{endpoint: endpoint, left: n, always: n == 0, fault: f})
}

// Unscript forgets the script: from here on all is well.
func (s *Server) Unscript() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = nil
}

// due counts a call and returns the fault that it meets, nil if none.
func (s *Server) due(endpoint string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[endpoint]++
	var due Fault
	rest := s.script[:0]
	for _, e := range s.script {
		matches := e.endpoint == "" || e.endpoint == endpoint
		if matches {
			e.left--
		}
		if matches && due == nil && e.left <= 0 {
			due = e.fault
			if !e.always {
				continue
			}
		}
		rest = append(rest, e)
	}
	s.script = rest
	return due
}

// Answer does nothing and answers 500 with a code and details, as the interface
// does for everything that goes wrong in its browser.
func Answer(code string, details any) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		refuse(w, &refusal{http.StatusInternalServerError, code, details})
	}
}

// FailToPublish does nothing and says why.
func FailToPublish(details string) Fault { return Answer(publishFailed, details) }

// Panic does nothing and answers as the interface does when its browser could not
// even open a page.
func Panic() Fault { return Answer("INTERNAL_ERROR", struct{}{}) }

// Unconfirmed answers that the publication could not be confirmed; there is a note
// or there is none.
func Unconfirmed(note bool) Fault {
	return func(w http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
		if note {
			usual(newRecorder(), r)
		}
		refuse(w, &refusal{http.StatusInternalServerError, publishFailed, "发布未确认成功：点击发布后未跳转离开发布页（可能校验未过或被拦截）"})
	}
}

// WithoutNote answers that all went well, and there is no note.
func WithoutNote() Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		write(w, http.StatusOK, map[string]any{
			"success": true, "message": "发布成功", "data": map[string]any{"status": "发布完成"},
		})
	}
}

// Slow makes the note visible after one time and answers after another, both from
// the begin, however long the client stays: the page is sent already.
func Slow(visible, answer time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
		body, _ := io.ReadAll(r.Body) // what cannot be read is refused as no JSON
		r.Body = io.NopCloser(bytes.NewReader(body))
		rec, done := newRecorder(), make(chan struct{})
		go func() {
			defer close(done)
			begun := time.Now()
			<-time.After(visible)
			usual(rec, r.WithContext(context.WithoutCancel(r.Context())))
			<-time.After(answer - time.Since(begun))
		}()
		select {
		case <-done:
			rec.copyTo(w)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// AnswerStatus does nothing and answers as a gateway does, with a status and HTML.
func AnswerStatus(status int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "<html><head><title>%d %s</title></head></html>", status, http.StatusText(status))
	}
}

// Delay does the usual after a while, or nothing if the client goes before.
func Delay(d time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			usual(w, r)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// Hang takes the request and never answers.
func Hang() Fault {
	return func(_ http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
}

// Refuse breaks the connection off without doing anything.
func Refuse() Fault {
	return func(http.ResponseWriter, *http.Request, http.HandlerFunc) { panic(http.ErrAbortHandler) }
}

// LoseReply does the usual and breaks the connection off without an answer.
func LoseReply() Fault {
	return func(_ http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
		usual(newRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}

// Transport leads to the platform without sockets, as synctest wants it. A reply
// that the platform breaks off is a reset connection.
func (s *Server) Transport() http.RoundTripper { return transport{s} }

type transport struct{ s *Server }

var errReset = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}

// RoundTrip serves the request as a server would.
func (t transport) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	defer func() {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		if v := recover(); v != nil {
			if v != http.ErrAbortHandler { //nolint:errorlint // the value net/http panics with
				panic(v)
			}
			if resp, err = nil, r.Context().Err(); err == nil {
				err = errReset
			}
		}
	}()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	rec := newRecorder()
	t.s.ServeHTTP(rec, in)
	return rec.response(r), nil
}

// recorder keeps an answer.
type recorder struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func newRecorder() *recorder { return &recorder{status: http.StatusOK, header: http.Header{}} }

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

func (r *recorder) copyTo(w http.ResponseWriter) {
	maps.Copy(w.Header(), r.header)
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body.Bytes()) // a client that has gone needs no answer
}

func (r *recorder) response(to *http.Request) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", r.status, http.StatusText(r.status)), StatusCode: r.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: r.header, Request: to,
		ContentLength: int64(r.body.Len()), Body: body{bytes.NewReader(r.body.Bytes())},
	}
}

type body struct{ *bytes.Reader }

func (body) Close() error { return nil }
