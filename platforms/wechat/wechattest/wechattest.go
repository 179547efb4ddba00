// Package wechattest is the WeChat Official Account platform in memory: an
// [http.Handler] with the vendor's quirks, for tests and for demonstrations.
// Business errors come with HTTP 200 and a request id, tokens run out and replace
// one another, quotas end at Beijing's midnight, and pictures from elsewhere
// vanish from what readers see.
//
// It knows no adapter, keeps nothing on disk, and leaves out mass sending, videos,
// events and everything else that herald never calls.
package wechattest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Options are what a test may want to be otherwise. The zero value is a verified
// account on a good day.
type Options struct {
	// AppID and Secret are the account's; by default "wx0123456789abcdef" and
	// "secret".
	AppID, Secret string
	// Now is the platform's clock; nil is the machine's.
	Now func() time.Time
	// TokenLife is how long a token is good for, by default 2 h.
	TokenLife time.Duration

	// RefusedIP is an address that is not on the account's allow list: whoever asks
	// for a token is told that it has that one. Empty lets everybody in.
	RefusedIP string
	// NoPublish is the account of a person: 48001 for all of freepublish.
	NoPublish bool
	// NoComments is an account without comments: 88000 if they are asked for.
	NoComments bool
	// Daily and PerMinute limit the calls of an endpoint; those that Daily does not
	// name have the limits of a new account.
	Daily, PerMinute map[string]int
	// Library is how many permanent pictures there may be, by default 100,000.
	Library int

	// MediaDelay is how long a new media_id is unknown to drafts.
	MediaDelay time.Duration
	// Statuses are what freepublish/get answers about a new job, one after the
	// other, the last one for ever; by default 0 at once. With a 0 among them the
	// article is published.
	Statuses []int
	// PublishTime is how long a draft that was submitted stays in the draft box.
	PublishTime time.Duration
	// NumericIDs sends publish_id and msg_data_id as numbers.
	NumericIDs bool
	// DeletedTwice is what draft/delete answers about a draft that is not there:
	// 0 or 40007.
	DeletedTwice int
	// LetEscapesIn takes \uXXXX in a request and shows it to readers as it is;
	// otherwise it is refused with 47002.
	LetEscapesIn bool
	// OldestFirst turns the order of lists round, which is not promised.
	OldestFirst bool
}

// Server is the platform. It is safe for concurrent use.
type Server struct {
	mu      sync.Mutex
	options Options
	serial  int // of whatever needs a new id

	tokens   map[string]*token
	stable   *token // the current one of stable_token
	plain    *token // the current one of token
	forced   []time.Time
	used     map[string]*usage // by endpoint
	calls    map[string]int    // by endpoint
	script   []*scripted
	images   map[string]Image // by URL
	uploads  int
	material map[string]Image // by media_id
	drafts   []*Draft         // oldest first
	jobs     map[string]*job  // by publish_id
	articles []*Publication   // oldest first
	reserved map[string]bool  // article_id
}

// New returns an empty platform.
func New(o Options) *Server {
	s := &Server{
		tokens: map[string]*token{}, used: map[string]*usage{}, calls: map[string]int{}, images: map[string]Image{},
		material: map[string]Image{}, jobs: map[string]*job{}, reserved: map[string]bool{},
	}
	s.options = o
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
	o.AppID = cmp.Or(o.AppID, "wx0123456789abcdef")
	o.Secret = cmp.Or(o.Secret, "secret")
	o.TokenLife = cmp.Or(o.TokenLife, 2*time.Hour)
	o.Library = cmp.Or(o.Library, 100_000)
	if o.Now == nil {
		o.Now = time.Now
	}
	if len(o.Statuses) == 0 {
		o.Statuses = []int{statusPublished}
	}
}

// Calls returns how many requests an endpoint got ("draft/add"), those with a
// fault included; an empty endpoint sums all.
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

// endpoint is one path below /cgi-bin/.
type endpoint struct {
	method string
	// open endpoints need no access_token.
	open bool
	// plain is the Content-Type of uploadimg, which is a lie.
	plain  bool
	handle func(s *Server, c *call) (any, error)
}

var endpoints = map[string]endpoint{
	"token":                 {method: http.MethodGet, open: true, handle: (*Server).plainToken},
	"stable_token":          {method: http.MethodPost, open: true, handle: (*Server).stableToken},
	"openapi/quota/get":     {method: http.MethodPost, handle: (*Server).quota},
	"media/uploadimg":       {method: http.MethodPost, plain: true, handle: (*Server).uploadImage},
	"material/add_material": {method: http.MethodPost, handle: (*Server).addMaterial},
	"draft/add":             {method: http.MethodPost, handle: (*Server).addDraft},
	"draft/update":          {method: http.MethodPost, handle: (*Server).updateDraft},
	"draft/get":             {method: http.MethodPost, handle: (*Server).getDraft},
	"draft/batchget":        {method: http.MethodPost, handle: (*Server).listDrafts},
	"draft/count":           {method: http.MethodGet, handle: (*Server).countDrafts},
	"draft/delete":          {method: http.MethodPost, handle: (*Server).deleteDraft},
	"freepublish/submit":    {method: http.MethodPost, handle: (*Server).submit},
	"freepublish/get":       {method: http.MethodPost, handle: (*Server).status},
	"freepublish/batchget":  {method: http.MethodPost, handle: (*Server).listArticles},
	"freepublish/delete":    {method: http.MethodPost, handle: (*Server).deleteArticle},
}

// call is one request, read to its end.
type call struct {
	*http.Request
	endpoint string
	now      time.Time
	body     []byte
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	name := strings.TrimPrefix(r.URL.Path, "/cgi-bin/")
	usual := func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, &call{Request: r, endpoint: name, body: body})
	}
	if f := s.due(name); f != nil {
		f(w, r, usual)
		return
	}
	usual(w, r)
}

func (s *Server) serve(w http.ResponseWriter, c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.now = s.options.Now()
	s.finishJobs(c.now)
	e, ok := endpoints[c.endpoint]
	if !ok {
		s.refuse(w, fail(codeURL))
		return
	}
	reply, err := s.answer(c, e)
	if err != nil {
		s.refuse(w, err)
		return
	}
	kind := "application/json; encoding=utf-8"
	if e.plain {
		kind = "text/plain"
	}
	write(w, kind, reply)
}

// answer checks what all endpoints check, and lets the endpoint do the rest.
func (s *Server) answer(c *call, e endpoint) (any, error) {
	if c.Method != e.method {
		if e.method == http.MethodGet {
			return nil, fail(codeGET)
		}
		return nil, fail(codePOST)
	}
	if !e.open {
		if err := s.checkToken(c.URL.Query().Get("access_token"), c.now); err != nil {
			return nil, err
		}
	}
	if strings.HasPrefix(c.endpoint, "freepublish/") && s.options.NoPublish {
		return nil, fail(codeNoPermission)
	}
	if err := s.count(c.endpoint, c.now); err != nil {
		return nil, err
	}
	if shown, escapes := literal(c.body); escapes && isJSON(c.Header) {
		if !s.options.LetEscapesIn {
			return nil, fail(codeEscapes)
		}
		c.body = shown
	}
	return e.handle(s, c)
}

// decode reads a request's JSON.
func (c *call) decode(into any) error {
	if len(bytes.TrimSpace(c.body)) == 0 {
		return fail(codeEmptyBody)
	}
	if err := json.Unmarshal(c.body, into); err != nil {
		return fail(codeParse)
	}
	return nil
}

func isJSON(h http.Header) bool { return !strings.HasPrefix(h.Get("Content-Type"), "multipart/") }

// literal doubles the backslash of each \uXXXX, as readers will see it, and reports
// whether there is any. A backslash before a u that is itself escaped is none.
func literal(body []byte) (shown []byte, escapes bool) {
	for i := 0; i < len(body); i++ {
		shown = append(shown, body[i])
		if body[i] != '\\' || i+1 == len(body) {
			continue
		}
		if i++; body[i] == 'u' {
			shown, escapes = append(shown, '\\'), true
		}
		shown = append(shown, body[i])
	}
	return shown, escapes
}

// ok is the reply of endpoints that have nothing else to say.
type ok struct {
	Code    int    `json:"errcode"`
	Message string `json:"errmsg"`
}

var done = ok{0, "ok"}

func (s *Server) refuse(w http.ResponseWriter, err error) {
	f, isFailure := err.(failure) //nolint:errorlint // failures are never wrapped
	if !isFailure {
		f = failure{codeSystem, err.Error()}
	}
	s.serial++
	write(w, "application/json; encoding=utf-8", ok{f.code, fmt.Sprintf("%s rid: %08x-%08x-%08x", f.message, s.serial, 0x5eed, s.serial*7919)})
}

// write answers as the platform does: raw UTF-8, and each slash escaped.
func write(w http.ResponseWriter, kind string, reply any) {
	w.Header().Set("Content-Type", kind)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(reply) // replies hold nothing that has no JSON
	text := bytes.ReplaceAll(bytes.TrimSpace(b.Bytes()), []byte("/"), []byte(`\/`))
	_, _ = w.Write(text) // a client that has gone needs no answer
}

// id returns a new id that looks like one of the platform's.
func (s *Server) id(prefix string) string {
	s.serial++
	return fmt.Sprintf("%s%06d_%s", prefix, s.serial, strings.Repeat("x9Kd", 8))
}
