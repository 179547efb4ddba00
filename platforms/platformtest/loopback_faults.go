package platformtest

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
)

// LoopbackFault is what a scripted call meets. usual is what the server would
// have done.
type LoopbackFault func(w http.ResponseWriter, r *http.Request, usual http.HandlerFunc)

// AnswerWith does nothing and answers status, with a code in the body and with
// more header lines.
func AnswerWith(status int, code string, header http.Header) LoopbackFault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		for name, values := range header {
			w.Header()[http.CanonicalHeaderKey(name)] = values
		}
		refuse(w, status, code)
	}
}

// HangUntil does nothing until release is closed, and then the usual. A client
// that goes before leaves nothing behind.
func HangUntil(release <-chan struct{}) LoopbackFault {
	return func(w http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
		// The server notices that the client has gone only once the body is read.
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		select {
		case <-release:
			usual(w, r)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// LoseReply does the usual and closes the connection without an answer.
func LoseReply() LoopbackFault {
	return func(_ http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
		usual(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}

// ResetFirst resets the connection before the body is read.
func ResetFirst() LoopbackFault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		if conn := hijack(w); conn != nil {
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = conn.Close()
		}
		panic(http.ErrAbortHandler)
	}
}

// Garbage does the usual and answers with something that is not HTTP.
func Garbage() LoopbackFault { return rawReply("this is not HTTP\r\n\r\n") }

// HalfReply does the usual and breaks off in the middle of the answer's body.
func HalfReply() LoopbackFault {
	return rawReply("HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"id\":")
}

func rawReply(text string) LoopbackFault {
	return func(w http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
		usual(httptest.NewRecorder(), r)
		if conn := hijack(w); conn != nil {
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
		panic(http.ErrAbortHandler)
	}
}

// hijack takes over the connection; nil if there is none.
func hijack(w http.ResponseWriter) net.Conn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	return conn
}

// WithoutID does the usual and answers with an empty object.
func WithoutID() LoopbackFault {
	return func(w http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
		rec := httptest.NewRecorder()
		usual(rec, r)
		answer(w, rec.Code, struct{}{})
	}
}

// ReviewFirst puts a new post into review until it has been polled n times.
func ReviewFirst(n int) LoopbackFault {
	return func(w http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
		r.Header.Set(reviewHeader, strconv.Itoa(n))
		usual(w, r)
	}
}
