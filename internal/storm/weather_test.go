package storm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"herald/platforms/platformtest"
)

// callTimeout is the deadline of a call in the storm, and absentAfter how long
// an absent post may still turn up: a platform that is slow stores within it.
const (
	callTimeout = 500 * time.Millisecond
	absentAfter = time.Second
)

// share is how many of the calls go wrong.
const share = 0.3

// ways are the ways in which a call goes wrong.
var ways = map[string]func(*weather) platformtest.LoopbackFault{
	"5xx, stored": func(*weather) platformtest.LoopbackFault { return storedThen(http.StatusBadGateway) },
	"5xx, not stored": func(*weather) platformtest.LoopbackFault {
		return platformtest.AnswerWith(http.StatusServiceUnavailable, "", nil)
	},
	"reset, stored or not":    (*weather).reset,
	"timeout, stored":         func(*weather) platformtest.LoopbackFault { return storedThenSilent },
	"hang, not stored":        func(*weather) platformtest.LoopbackFault { return platformtest.HangUntil(nil) },
	"slow":                    (*weather).slow,
	"half a reply":            func(*weather) platformtest.LoopbackFault { return platformtest.HalfReply() },
	"429 with Retry-After":    func(*weather) platformtest.LoopbackFault { return tooFast(http.Header{"Retry-After": {"1"}}) },
	"429 without Retry-After": func(*weather) platformtest.LoopbackFault { return tooFast(nil) },
	"token lost for a while":  (*weather).loseToken,
	"said to exist already": func(*weather) platformtest.LoopbackFault {
		return platformtest.AnswerWith(http.StatusConflict, "duplicate", nil)
	},
	"refused connections": (*weather).refuse,
	"lying success":       (*weather).lie,
}

// weather is what befalls one platform.
type weather struct {
	name    string
	server  *platformtest.LoopbackServer
	address string

	mu      sync.Mutex
	random  *rand.Rand
	calm    bool
	noToken time.Time // until when the token is not known
	calls   int
	struck  map[string]int
	lies    int
	front   http.Server
	outlet  net.Listener
}

// newWeather makes a platform on a real socket, with an address of its own, so
// that nobody else takes its port while it refuses connections.
func newWeather(t testing.TB, n int, seed uint64) *weather {
	w := &weather{
		name: fmt.Sprintf("p%d", n), server: platformtest.NewLoopbackServer(),
		random: rand.New(rand.NewPCG(seed, uint64(n))), struck: map[string]int{},
	}
	w.server.Token = w.name + "-token"
	w.server.Script("", 0, w.strike)
	w.front.Handler = w.server
	var err error
	if w.outlet, err = net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", n+1)); err != nil {
		t.Skipf("a loopback address for each platform is needed: %v", err)
	}
	w.address = w.outlet.Addr().String()
	go w.serve(w.outlet)
	t.Cleanup(func() {
		w.mu.Lock()
		w.calm = true
		w.mu.Unlock()
		_ = w.front.Close() // what is under way is nobody's any more
	})
	return w
}

func (w *weather) serve(l net.Listener) { _ = w.front.Serve(l) } // ends with its listener

func (w *weather) target() string {
	return fmt.Sprintf("  - { name: %s, type: loopback, base_url: \"http://%s\", token: %s }\n", w.name, w.address, w.server.Token)
}

// strike lets one call in three go wrong.
func (w *weather) strike(rw http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
	w.choose(r)(rw, r, usual)
}

func (w *weather) choose(r *http.Request) platformtest.LoopbackFault {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	if time.Now().Before(w.noToken) {
		return platformtest.AnswerWith(http.StatusUnauthorized, "unauthorized", nil)
	}
	if w.calm || w.random.Float64() >= share {
		return asUsual
	}
	names := slices.Sorted(maps.Keys(ways))
	name := names[w.random.IntN(len(names))]
	if name == "lying success" && (r.Method != http.MethodPost || r.URL.Path != "/posts") {
		name = "5xx, not stored" // a look-up that lies cannot be told from one that does not
	}
	w.struck[name]++
	return ways[name](w)
}

// clear ends the storm.
func (w *weather) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calm, w.noToken = true, time.Time{}
}

func asUsual(rw http.ResponseWriter, r *http.Request, usual http.HandlerFunc) { usual(rw, r) }

// The ways that need the weather are called with its lock held.

func (w *weather) reset() platformtest.LoopbackFault {
	if w.random.IntN(2) == 0 {
		return platformtest.ResetFirst()
	}
	return platformtest.LoseReply()
}

// slow answers late, and perhaps too late: the post is stored all the same.
func (w *weather) slow() platformtest.LoopbackFault {
	delay := time.Duration(w.random.Int64N(int64(callTimeout + absentAfter/4)))
	return func(rw http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
		readAll(r)
		<-time.After(delay)
		usual(rw, r)
	}
}

func (w *weather) loseToken() platformtest.LoopbackFault {
	w.noToken = time.Now().Add(time.Duration(w.random.Int64N(int64(400 * time.Millisecond))))
	return platformtest.AnswerWith(http.StatusUnauthorized, "unauthorized", nil)
}

// lie says that the post is there, with an id that is none: it was not stored, or
// under another one.
func (w *weather) lie() platformtest.LoopbackFault {
	w.lies++
	id, stored := fmt.Sprintf("lie%d", w.lies), w.random.IntN(2) == 0
	return func(rw http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
		if stored {
			usual(httptest.NewRecorder(), r)
		}
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusCreated)
		fmt.Fprintf(rw, `{"id":%q,"url":"http://%s/%s","state":"public"}`, id, w.address, id)
	}
}

// refuse closes the door for a moment, after this call.
func (w *weather) refuse() platformtest.LoopbackFault {
	if w.outlet != nil {
		_ = w.outlet.Close() // the calls under way go on
		w.outlet = nil
		time.AfterFunc(time.Duration(w.random.Int64N(int64(200*time.Millisecond))), w.reopen)
	}
	return platformtest.ResetFirst()
}

func (w *weather) reopen() {
	l, err := net.Listen("tcp", w.address)
	if err != nil {
		panic(err) // nobody else uses this address
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outlet = l
	go w.serve(l)
}

func storedThen(status int) platformtest.LoopbackFault {
	return func(rw http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
		usual(httptest.NewRecorder(), r)
		rw.WriteHeader(status)
	}
}

func storedThenSilent(_ http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
	readAll(r)
	usual(httptest.NewRecorder(), r)
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

func tooFast(header http.Header) platformtest.LoopbackFault {
	return platformtest.AnswerWith(http.StatusTooManyRequests, "too_fast", header)
}

// readAll has the body here before the client can go: a server notices that it
// has gone only then.
func readAll(r *http.Request) {
	body, _ := io.ReadAll(r.Body) // half a body is as good a fault
	r.Body = io.NopCloser(bytes.NewReader(body))
}

// pause waits for a second or so: a little random, so that kills meet everything.
func pause(ctx context.Context, r *rand.Rand, about time.Duration) {
	timer := time.NewTimer(about/2 + time.Duration(r.Int64N(int64(about))))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
