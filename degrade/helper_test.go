package degrade

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/article"
)

var noon = time.Date(2026, 6, 17, 12, 0, 0, 0, time.UTC)

const plainText = "---\ntitle: A title\n---\n\nSome text that says something.\n"

// load reads text as an article of a queue of its own.
func load(t testing.TB, text string) *article.Article {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "a.md")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := article.Load(file, article.Options{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// call is one request as a service saw it.
type call struct {
	Model          string
	Messages       []message
	MaxTokens      int            `json:"max_tokens"`
	Completion     int            `json:"max_completion_tokens"`
	Temperature    *float64       `json:"temperature"`
	ResponseFormat map[string]any `json:"response_format"`
	Stream         *bool          `json:"stream"`
	EnableThinking *bool          `json:"enable_thinking"`
	header         http.Header
	path           string
}

// isPing reports whether it is the cheap call.
func (c call) isPing() bool { return len(c.Messages) == 1 && c.Messages[0].Content == "ping" }

// article is what stands between the marks.
func (c call) article() string {
	text := c.Messages[len(c.Messages)-1].Content
	_, text, _ = strings.Cut(text, "⟦begin ")
	mark, text, _ := strings.Cut(text, "⟧\n")
	text, _, _ = strings.Cut(text, "\n⟦end "+mark+"⟧")
	return text
}

// service is a scripted AI service.
type service struct {
	mu     sync.Mutex
	calls  []call
	answer func(w http.ResponseWriter, r *http.Request, c call)
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := call{header: r.Header, path: r.URL.Path}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &c)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	}
	s.mu.Lock()
	s.calls = append(s.calls, c)
	answer := s.answer
	s.mu.Unlock()
	answer(w, r, c)
}

// becomes changes what the service answers.
func (s *service) becomes(answer func(http.ResponseWriter, *http.Request, call)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// seen returns the calls since the last time.
func (s *service) seen() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

// pings counts the cheap calls among calls.
func pings(calls []call) (n int) {
	for _, c := range calls {
		if c.isPing() {
			n++
		}
	}
	return n
}

// start serves a script on a loopback listener and returns it as a provider.
func start(t testing.TB, answer func(http.ResponseWriter, *http.Request, call)) (*service, Provider) {
	t.Helper()
	s := &service{answer: answer}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, Provider{BaseURL: server.URL + "/v1", APIKey: key, Model: "m1", MaxTokens: 4096}
}

const key = "key-that-nobody-may-see"

// status answers with a status and a body.
func status(code int, body string) func(http.ResponseWriter, *http.Request, call) {
	return func(w http.ResponseWriter, _ *http.Request, _ call) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// says answers with a completion of that content.
func says(content string) func(http.ResponseWriter, *http.Request, call) {
	return status(http.StatusOK, completion(content, "stop"))
}

func scores(score float64) func(http.ResponseWriter, *http.Request, call) {
	return says(fmt.Sprintf(`{"score": %v, "pass": true, "details": "well", "issues": []}`, score))
}

func completion(content, finish string) string {
	quoted, _ := json.Marshal(content) // a string always has a JSON form
	return fmt.Sprintf(`{"id":"1","choices":[{"index":0,"finish_reason":%q,"message":{"role":"assistant","content":%s}}]}`, finish, quoted)
}

// newJudge makes a judge with a pass score of 0.7.
func newJudge(t testing.TB, o Options) *Judge {
	t.Helper()
	o.PassScore = 0.7
	j, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// overlay is a RoundTripper in process, for the time of a bubble.
type overlay struct{ http.Handler }

func (o overlay) RoundTrip(r *http.Request) (*http.Response, error) {
	pr, pw := io.Pipe()
	w := &pipeWriter{header: http.Header{}, body: pw, ready: make(chan int, 1)}
	go func() {
		o.ServeHTTP(w, r)
		w.WriteHeader(http.StatusOK)
		_ = pw.Close()
	}()
	select {
	case code := <-w.ready:
		return &http.Response{
			StatusCode: code, Header: w.header, Request: r, ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
			Body: &pipeReader{pr, r},
		}, nil
	case <-r.Context().Done():
		_ = pr.CloseWithError(r.Context().Err())
		return nil, r.Context().Err()
	}
}

type pipeWriter struct {
	header http.Header
	body   *io.PipeWriter
	once   sync.Once
	ready  chan int
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(code int) { w.once.Do(func() { w.ready <- code }) }

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// pipeReader ends a read with the request's context, as a connection does.
type pipeReader struct {
	*io.PipeReader
	r *http.Request
}

func (p *pipeReader) Read(b []byte) (int, error) {
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-p.r.Context().Done():
			_ = p.CloseWithError(p.r.Context().Err())
		case <-stop:
		}
	}()
	return p.PipeReader.Read(b)
}
