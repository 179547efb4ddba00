// Package xiaohongshutest is Xiaohongshu behind its HTTP interface in memory
// (xpzouying/xiaohongshu-mcp): an [http.Handler] with the quirks of both, for tests
// and for demonstrations. Nearly everything that goes wrong is a 500 with a Chinese
// text, a publication takes long and answers without an id, and of the own notes
// only the first page can be read.
//
// It knows no adapter, opens no browser and makes no call, but reads the pictures
// that it is given the paths of.
package xiaohongshutest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"os"
	"sync"
	"time"
)

// Options are what a test may want to be otherwise. The zero value is an account
// that is logged in, with a browser that takes no time.
type Options struct {
	// Token that requests must bear; empty lets everybody in.
	Token string
	// LoggedOut is a session that has ended.
	LoggedOut bool
	// Now is the platform's clock; nil is the machine's.
	Now func() time.Time
	// Version of the interface, by default "v2.3.0".
	Version string
	// PublishTime is how long a publication takes.
	PublishTime time.Duration
	// Lag is how long a new note is in no list.
	Lag time.Duration
	// Stall is how long the browser waits for what never comes; by default 300 s.
	Stall time.Duration
	// Page is the number of notes that can be listed, by default 30.
	Page int
	// Pinned is an old note that comes before all others, by its title.
	Pinned string
	// ReadFile reads a picture where the interface runs; nil is this machine's disk.
	ReadFile func(path string) ([]byte, error)
}

// Server is the interface and the platform behind it. It is safe for concurrent
// use.
type Server struct {
	mux *http.ServeMux

	mu       sync.Mutex
	options  Options
	notes    []*Note // oldest first
	serial   int
	calls    map[string]int // by endpoint
	script   []*scripted
	browsers int
	most     int
}

// New returns an empty platform.
func New(o Options) *Server {
	s := &Server{mux: http.NewServeMux(), options: o, calls: map[string]int{}}
	s.defaults()
	for endpoint, e := range map[string]struct {
		browser bool
		handle  http.HandlerFunc
	}{
		"GET /health":               {false, s.health},
		"GET /api/v1/login/status":  {true, s.loginStatus},
		"POST /api/v1/publish":      {true, s.publish},
		"GET /api/v1/user/me":       {true, s.me},
		"POST /api/v1/feeds/detail": {true, s.detail},
	} {
		s.mux.HandleFunc(endpoint, s.guarded(endpoint, e.browser, e.handle))
	}
	return s
}

// Configure changes the options while the platform runs.
func (s *Server) Configure(change func(*Options)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.options)
	s.defaults()
}

func (s *Server) defaults() {
	o := &s.options
	o.Version = cmp.Or(o.Version, "v2.3.0")
	o.Stall = cmp.Or(o.Stall, 300*time.Second)
	o.Page = cmp.Or(o.Page, 30)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.ReadFile == nil {
		o.ReadFile = os.ReadFile
	}
}

// Calls returns how many requests an endpoint got ("POST /api/v1/publish"), those
// with a fault included; an empty endpoint sums all.
func (s *Server) Calls(endpoint string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if endpoint != "" {
		return s.calls[endpoint]
	}
	sum := 0
	for _, n := range s.calls {
		sum += n
	}
	return sum
}

// Browsers returns how many browsers were open on the account at once, at most.
func (s *Server) Browsers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// guarded counts a call, checks the token, and lets the script have its way.
func (s *Server) guarded(endpoint string, browser bool, handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		fault := s.due(endpoint)
		o := s.current()
		if browser {
			s.open(1)
			defer s.open(-1)
		}
		switch {
		case browser && o.Token != "" && r.Header.Get("Authorization") != "Bearer "+o.Token:
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, &refusal{http.StatusUnauthorized, "UNAUTHORIZED", nil})
		case fault != nil:
			fault(w, r, handle)
		default:
			handle(w, r)
		}
	}
}

func (s *Server) current() Options {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options
}

func (s *Server) open(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.browsers += n
	s.most = max(s.most, s.browsers)
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	succeed(w, "服务正常", map[string]any{
		"status": "healthy", "service": "xiaohongshu-mcp", "version": s.current().Version, "account": "", "timestamp": "now",
	})
}

func (s *Server) loginStatus(w http.ResponseWriter, _ *http.Request) {
	data := map[string]any{"is_logged_in": false}
	if !s.current().LoggedOut {
		data = map[string]any{"is_logged_in": true, "username": "herald", "user_id": userID}
	}
	succeed(w, "检查登录状态成功", data)
}

// refusal is an answer of the interface that is no success.
type refusal struct {
	status  int
	code    string
	details any
}

// words are the texts that come with the codes.
var words = map[string]string{
	"UNAUTHORIZED":           "未授权",
	"INVALID_REQUEST":        "请求参数错误",
	"INTERNAL_ERROR":         "服务器内部错误",
	"STATUS_CHECK_FAILED":    "检查登录状态失败",
	"GET_MY_PROFILE_FAILED":  "获取我的主页失败",
	"GET_FEED_DETAIL_FAILED": "获取Feed详情失败",
	publishFailed:            "发布失败",
}

func refuse(w http.ResponseWriter, f *refusal) {
	body := map[string]any{"error": cmp.Or(words[f.code], "失败"), "code": f.code}
	if f.details != nil {
		body["details"] = f.details
	}
	write(w, f.status, body)
}

func succeed(w http.ResponseWriter, message string, data any) {
	write(w, http.StatusOK, map[string]any{"success": true, "data": data, "message": message})
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that has gone needs no answer
}
