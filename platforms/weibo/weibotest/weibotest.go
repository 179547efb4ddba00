// Package weibotest is Sina Weibo's open platform in memory: an [http.Handler]
// with the vendor's quirks, for tests and for demonstrations. Errors come with a
// status that decides nothing and a code that does, links come back shortened, and
// of all posts only the five newest can be read.
//
// It knows no adapter, keeps nothing on disk, and leaves out whatever herald never
// calls, but for two endpoints that are closed to ordinary apps.
package weibotest

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options are what a test may want to be otherwise. The zero value is the owner of
// an audited app on a good day.
type Options struct {
	// Token is the access token, by default "2.00token"; UID its user.
	Token string
	UID   int64
	// Domain is the security domain of the app, by default "example.com".
	Domain string
	// NoDomain is an app without a security domain.
	NoDomain bool
	// Now is the platform's clock; nil is the machine's.
	Now func() time.Time
	// Limit of a text in characters, ASCII counting half; by default 140.
	Limit int

	// ExpiresIn is what is left of the token, by default 30 days; below zero it has
	// expired.
	ExpiresIn time.Duration
	// Withdrawn is a user who took the grant back: 21332.
	Withdrawn bool
	// Revoked is the same, in the platform's other words: 21319.
	Revoked bool
	// Unaudited is an app that only its test users may use, and this is none: 21321.
	Unaudited bool
	// Bare answers errors as some gateways do: with their status and no JSON.
	Bare bool

	// Repeats lets the same text be posted again; otherwise it is refused with 20019
	// for ten minutes.
	Repeats bool
	// Lag is how long a new post is in no list.
	Lag time.Duration
	// PerHour and PerDay limit posts and calls; by default 30 and 100.
	PerHour, PerDay int
	// KeepLinks shows the links of a text as they were sent.
	KeepLinks bool
}

// Server is the platform. It is safe for concurrent use.
type Server struct {
	mu      sync.Mutex
	options Options
	posts   []*Post // oldest first
	lastID  int64
	calls   map[string]int // by endpoint
	called  []time.Time    // with a good token
	script  []*scripted
}

// New returns an empty platform.
func New(o Options) *Server {
	s := &Server{options: o, calls: map[string]int{}, lastID: 4404101091169383}
	s.defaults()
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
	o.Token = cmp.Or(o.Token, "2.00token")
	o.UID = cmp.Or(o.UID, 1404376560)
	o.Domain = cmp.Or(o.Domain, "example.com")
	o.Limit = cmp.Or(o.Limit, 140)
	o.ExpiresIn = cmp.Or(o.ExpiresIn, 30*24*time.Hour)
	o.PerHour = cmp.Or(o.PerHour, 30)
	o.PerDay = cmp.Or(o.PerDay, 100)
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Calls returns how many requests an endpoint got ("statuses/share"), those with a
// fault included; an empty endpoint sums all.
func (s *Server) Calls(endpoint string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if endpoint != "" {
		return s.calls[endpoint]
	}
	sum := 0
	for n := range maps.Values(s.calls) {
		sum += n
	}
	return sum
}

// endpoint is one path. Those that are open need no valid token.
type endpoint struct {
	method string
	open   bool
	handle func(*Server, *http.Request) (any, *refusal)
}

var endpoints = map[string]endpoint{
	"/2/statuses/share.json":            {http.MethodPost, false, (*Server).share},
	"/2/statuses/user_timeline.json":    {http.MethodGet, false, (*Server).timeline},
	"/2/statuses/show.json":             {http.MethodGet, false, (*Server).show},
	"/2/statuses/update.json":           {http.MethodPost, false, closed},
	"/2/statuses/upload.json":           {http.MethodPost, false, closed},
	"/2/account/rate_limit_status.json": {http.MethodGet, false, (*Server).rateLimit},
	"/oauth2/get_token_info":            {http.MethodPost, true, (*Server).tokenInfo},
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e, ok := endpoints[r.URL.Path]
	fault := s.due(name(r.URL.Path))
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
	usual := func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		// What is no form leaves no parameters, and is refused for that.
		_ = r.ParseMultipartForm(20 << 20)
		answer, fault := s.serve(e, r)
		switch {
		case fault != nil && s.options.Bare:
			w.WriteHeader(statusOf(fault.code))
		case fault != nil:
			refuse(w, r, fault)
		default:
			write(w, http.StatusOK, answer)
		}
	}
	switch {
	case !ok:
		refuse(w, r, &refusal{code: 10020})
	case fault != nil:
		fault(w, r, usual)
	default:
		usual(w, r)
	}
}

func (s *Server) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options.Now()
}

// name is how tests call a path: "statuses/share".
func name(path string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(path, "/"), "2/"), ".json")
}

func (s *Server) serve(e endpoint, r *http.Request) (any, *refusal) {
	if r.Method != e.method {
		return nil, &refusal{code: 10021}
	}
	switch token := tokenOf(r); {
	case token == "":
		return nil, &refusal{code: 10006}
	case token != s.options.Token, s.options.Withdrawn:
		return nil, &refusal{code: 21332}
	case s.options.Revoked:
		return nil, &refusal{code: 21319}
	case e.open:
	case s.options.ExpiresIn < 0:
		return nil, &refusal{code: 21327}
	case s.options.Unaudited:
		return nil, &refusal{code: 21321}
	case s.since(24*time.Hour, s.called) >= s.options.PerDay:
		return nil, &refusal{code: 10023}
	}
	s.called = append(s.called, s.options.Now())
	return e.handle(s, r)
}

// tokenOf finds the token in the header, the body or the address.
func tokenOf(r *http.Request) string {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "OAuth2 "); ok {
		return token
	}
	return r.FormValue("access_token")
}

// since counts the times within the last d.
func (s *Server) since(d time.Duration, times []time.Time) int {
	from, n := s.options.Now().Add(-d), 0
	for _, t := range times {
		if t.After(from) {
			n++
		}
	}
	return n
}

func closed(*Server, *http.Request) (any, *refusal) { return nil, &refusal{code: 10014} }

func (s *Server) tokenInfo(*http.Request) (any, *refusal) {
	return map[string]any{
		"uid": s.options.UID, "appkey": "1234567890", "scope": "", "create_at": s.options.Now().Add(-time.Hour).Unix(),
		"expire_in": int64(s.options.ExpiresIn / time.Second),
	}, nil
}

// rateLimit tells of the limits of an hour. It knows nothing of the day's, as the
// real one, which shows credit while calls are refused.
func (s *Server) rateLimit(*http.Request) (any, *refusal) {
	now := s.options.Now()
	reset := now.Truncate(time.Hour).Add(time.Hour)
	return map[string]any{
		"ip_limit": 1000, "limit_time_unit": "HOURS", "remaining_ip_hits": 1000, "user_limit": 150,
		"remaining_user_hits": 150 - s.since(time.Hour, s.called), "reset_time": reset.Format(time.DateTime),
		"reset_time_in_seconds": int(reset.Sub(now).Seconds()),
	}, nil
}

// refusal is an error of the platform.
type refusal struct {
	code int
	text string
}

// words are the texts as the platform writes them, spelling included.
var words = map[int]string{
	10006: "Source paramter (appkey) is missing.", //nolint:misspell // as the platform writes it
	10014: "Insufficient app permissions!",
	10016: "miss required parameter (status), see doc for more info.",
	10017: "text not find domain!",
	10020: "Request Api not found!",
	10021: "HTTP METHOD is not suported for this request!",
	10023: "User requests out of rate limit!",
	10024: "User requests for /statuses/update out of rate limit!",
	20005: "unsupported image type, only suport JPG, GIF, PNG!", //nolint:misspell // as the platform writes it
	20006: "image size too large.",
	20008: "content is null!",
	20012: "Text too long, please input text less than 140 characters!",
	20016: "out of limit",
	20019: "repeat content!",
	20032: "Update success, while server slow now, please wait 1-2 minutes!",
	20101: "target weibo does not exist!",
	20102: "not your own weibo!",
	21321: "applications over the unaudited use restrictions!",
	21327: "expired_token",
	21332: "invalid_access_token",
	21335: "uid parameter is illegal!",
}

// limits are the codes that come with 403; those from 21301 on come with 401, and
// any other with 400.
var limits = []int{10004, 10005, 10014, 10022, 10023, 10024, 20016}

func statusOf(code int) int {
	switch {
	case slices.Contains(limits, code):
		return http.StatusForbidden
	case code >= 21301 && code < 21400:
		return http.StatusUnauthorized
	default:
		return http.StatusBadRequest
	}
}

func refuse(w http.ResponseWriter, r *http.Request, f *refusal) {
	write(w, statusOf(f.code), map[string]any{
		"error": cmp.Or(f.text, words[f.code], "error "+strconv.Itoa(f.code)), "error_code": f.code, "request": r.URL.Path,
	})
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that has gone needs no answer
}
