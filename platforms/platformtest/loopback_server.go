package platformtest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	stateReview = "review"
	statePublic = "public"
	// reviewHeader tells the server how many polls a new post stays in review.
	// Only [ReviewFirst] sets it.
	reviewHeader = "Loopback-Review"
)

// LoopbackPost is a post on a [LoopbackServer].
type LoopbackPost struct {
	loopbackBody
	loopbackReply
	reviews int // polls that still find it in review
}

// LoopbackServer is a platform in memory. It stores whatever it is sent, does
// nothing against duplicates, and errs where its script says so. It serves real
// sockets, or none by [LoopbackServer.Transport].
//
// Endpoints are named as in "POST /posts", "GET /posts", "GET /posts/{id}",
// "PUT /posts/{id}", "DELETE /posts/{id}", "POST /media" and "GET /me".
type LoopbackServer struct {
	// Token that requests must bear; empty lets everybody in.
	Token string
	// Latency of each answer.
	Latency time.Duration

	mux *http.ServeMux

	mu     sync.Mutex
	lastID int
	posts  map[string]*LoopbackPost
	media  map[string]bool // by content hash
	calls  map[string]int
	script []*scripted
}

type scripted struct {
	endpoint string
	left     int // calls until it is due
	always   bool
	fault    LoopbackFault
}

// NewLoopbackServer returns an empty platform.
func NewLoopbackServer() *LoopbackServer {
	s := &LoopbackServer{
		mux: http.NewServeMux(), posts: map[string]*LoopbackPost{}, media: map[string]bool{}, calls: map[string]int{},
	}
	for endpoint, handle := range map[string]http.HandlerFunc{
		"POST /posts":        s.create,
		"GET /posts":         s.list,
		"GET /posts/{id}":    s.one(s.get),
		"PUT /posts/{id}":    s.one(s.update),
		"DELETE /posts/{id}": s.one(s.remove),
		"POST /media":        s.upload,
		"GET /me":            func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, map[string]string{"id": "me"}) },
	} {
		s.mux.HandleFunc(endpoint, s.guarded(endpoint, handle))
	}
	return s
}

// ServeHTTP implements [http.Handler].
func (s *LoopbackServer) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Transport leads to the server without sockets, as synctest wants it. A reply
// that the server breaks off is a reset connection.
func (s *LoopbackServer) Transport() http.RoundTripper { return loopbackTransport{s} }

type loopbackTransport struct{ s *LoopbackServer }

func (t loopbackTransport) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	defer func() {
		if v := recover(); v != nil {
			if v != http.ErrAbortHandler { //nolint:errorlint // the value net/http panics with
				panic(v)
			}
			if resp, err = nil, r.Context().Err(); err == nil {
				err = errReset
			}
		}
	}()
	return HandlerTransport(t.s).RoundTrip(r)
}

// Script makes the n-th call from now on to an endpoint meet a fault, counted
// from 1; n = 0 means every call, an empty endpoint any. One fault strikes at a
// time; another that is due waits for the next call.
func (s *LoopbackServer) Script(endpoint string, n int, f LoopbackFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, &scripted{endpoint: endpoint, left: n, always: n == 0, fault: f})
}

// Unscript forgets the script: from here on all is well.
func (s *LoopbackServer) Unscript() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = nil
}

// Posts returns copies of all posts, oldest first.
func (s *LoopbackServer) Posts() []LoopbackPost {
	s.mu.Lock()
	defer s.mu.Unlock()
	var posts []LoopbackPost
	for _, p := range s.posts {
		posts = append(posts, *p)
	}
	slices.SortFunc(posts, func(a, b LoopbackPost) int { return cmp.Or(len(a.ID)-len(b.ID), cmp.Compare(a.ID, b.ID)) })
	return posts
}

// Media returns how many different pictures were uploaded.
func (s *LoopbackServer) Media() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.media)
}

// Calls returns how many requests an endpoint got, those with a fault included;
// an empty endpoint sums all.
func (s *LoopbackServer) Calls(endpoint string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for e, calls := range s.calls {
		if endpoint == "" || e == endpoint {
			n += calls
		}
	}
	return n
}

// guarded counts a call, checks the token, and lets the script have its way.
func (s *LoopbackServer) guarded(endpoint string, handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f := s.due(endpoint)
		if s.Latency > 0 {
			select {
			case <-time.After(s.Latency):
			case <-r.Context().Done():
				panic(http.ErrAbortHandler)
			}
		}
		switch {
		case f != nil:
			f(w, r, handle)
		case s.Token != "" && r.Header.Get("Authorization") != "Bearer "+s.Token:
			refuse(w, http.StatusUnauthorized, "unauthorized")
		default:
			handle(w, r)
		}
	}
}

func (s *LoopbackServer) due(endpoint string) LoopbackFault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[endpoint]++
	var due LoopbackFault
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

func (s *LoopbackServer) create(w http.ResponseWriter, r *http.Request) {
	var body loopbackBody
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refuse(w, http.StatusBadRequest, "malformed")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	id := "p" + strconv.Itoa(s.lastID)
	p := &LoopbackPost{loopbackBody: body, loopbackReply: loopbackReply{
		ID: id, URL: "http://" + r.Host + "/" + id, State: statePublic, CreatedAt: time.Now(),
	}}
	if n, err := strconv.Atoi(r.Header.Get(reviewHeader)); err == nil {
		p.State, p.reviews = stateReview, n
	}
	s.posts[id] = p
	answer(w, http.StatusCreated, p.loopbackReply)
}

func (s *LoopbackServer) list(w http.ResponseWriter, r *http.Request) {
	posts := []loopbackReply{}
	for _, p := range s.Posts() {
		if key := r.FormValue("key"); key == "" || key == p.Key {
			posts = append(posts, p.loopbackReply)
		}
	}
	answer(w, http.StatusOK, map[string]any{"posts": posts})
}

// one finds the post of the path and holds the lock while handle works on it.
func (s *LoopbackServer) one(handle func(http.ResponseWriter, *http.Request, *LoopbackPost)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		p, ok := s.posts[r.PathValue("id")]
		if !ok {
			refuse(w, http.StatusNotFound, "not_found")
			return
		}
		handle(w, r, p)
	}
}

func (s *LoopbackServer) get(w http.ResponseWriter, _ *http.Request, p *LoopbackPost) {
	if p.reviews--; p.reviews < 0 {
		p.State = statePublic
	}
	answer(w, http.StatusOK, p.loopbackReply)
}

func (s *LoopbackServer) update(w http.ResponseWriter, r *http.Request, p *LoopbackPost) {
	if err := json.NewDecoder(r.Body).Decode(&p.loopbackBody); err != nil {
		refuse(w, http.StatusBadRequest, "malformed")
		return
	}
	answer(w, http.StatusOK, p.loopbackReply)
}

func (s *LoopbackServer) remove(w http.ResponseWriter, _ *http.Request, p *LoopbackPost) {
	delete(s.posts, p.ID)
	w.WriteHeader(http.StatusNoContent)
}

func (s *LoopbackServer) upload(w http.ResponseWriter, r *http.Request) {
	hash := sha256.New()
	if _, err := io.Copy(hash, r.Body); err != nil {
		refuse(w, http.StatusBadRequest, "malformed")
		return
	}
	id := hex.EncodeToString(hash.Sum(nil))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.media[id] = true
	answer(w, http.StatusCreated, map[string]string{"id": id, "url": "http://" + r.Host + "/media/" + id})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that has gone needs no answer
}

func refuse(w http.ResponseWriter, status int, code string) {
	answer(w, status, map[string]string{"code": code, "message": "refused: " + code})
}
