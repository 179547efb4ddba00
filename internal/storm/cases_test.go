package storm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"

	"herald/compensate"
	"herald/platforms/platformtest"
	"herald/state"
)

// B01: what follows a publication fails, and the publication is not made again.
func TestAFailureAfterThePublicationDoesNotRepeatIt(t *testing.T) {
	t.Parallel()
	d := newDrill(t, newLoopback)
	d.p.edit("targets:\n", "reconcile: { every: \"@every 1s\" }\nnotify: [ { type: webhook, url: \"http://127.0.0.8:9/\" } ]\ntargets:\n")
	receipt := d.p.path("data/queue/.done/a/receipt.json")
	inTheWay := make(chan error, 1)
	d.w.(*loopback).server.Script("POST /posts", 1, func(w http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
		inTheWay <- errors.Join(os.RemoveAll(receipt), os.MkdirAll(receipt+"/in-the-way", 0o750))
		usual(w, r)
	})
	d.p.drop("a", title(1))
	h := d.p.start()
	h.await("a", published(1))
	h.said("receipt cannot be written")
	if err := errors.Join(<-inTheWay, os.RemoveAll(receipt)); err != nil {
		t.Fatal(err)
	}
	err := h.poll(func(context.Context) (bool, error) {
		info, err := os.Stat(receipt)
		return err == nil && info.Mode().IsRegular(), nil
	})
	if err != nil {
		t.Errorf("the receipt is never written: %v", err)
	}
	h.stop()
	d.has("a", 1, 0, title(1))
	d.calls("POST /posts", 1)
}

// calls demands how often an endpoint of a loopback platform was called.
func (d *drill) calls(endpoint string, want int) {
	d.t.Helper()
	if n := d.w.(*loopback).server.Calls(endpoint); n != want {
		d.t.Errorf("%s: got %d calls, want %d", endpoint, n, want)
	}
}

// B03: killed right after the platform's answer to the post, herald looks it up.
func TestKilledBehindTheAnswerThePostIsLookedUpAndAdopted(t *testing.T) {
	t.Parallel()
	d := newDrill(t, newLoopback)
	d.p.drop("a", title(1))
	h := d.p.start("FAILPOINT=http/after:3") // after two pictures
	if !h.wait() {
		t.Fatal("it was not killed")
	}
	if left := d.p.deliveries("a")[0]; left.State != state.Sending || len(d.w.posts("a")) != 1 {
		t.Fatalf("killed at another moment: the delivery is %s, the platform has %q", left.State, d.w.posts("a"))
	}
	h = d.p.start()
	h.await("a", published(1))
	h.stop()
	d.has("a", 1, 1, title(1))
	d.calls("POST /posts", 1)
	var verbs []state.Verb
	for _, e := range d.p.deliveries("a")[0].History {
		verbs = append(verbs, e.Verb)
	}
	if want := []state.Verb{state.Begin, state.Lose, state.Land}; !slices.Equal(verbs[len(verbs)-3:], want) {
		t.Errorf("its history is %v, want it to end with %v", verbs, want)
	}
}

// B04: the answer never comes, and the post is not sent again.
func TestALostAnswerIsNoReasonToSendAgain(t *testing.T) {
	for name, f := range map[string]platformtest.LoopbackFault{
		"closed without an answer": platformtest.LoseReply(),
		"silent past the deadline": storedThenSilent,
		"half an answer":           platformtest.HalfReply(),
		"a gateway's 504":          storedThen(http.StatusGatewayTimeout),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDrill(t, newLoopback)
			d.p.edit("timeout: 10s", "timeout: 500ms")
			d.w.(*loopback).server.Script("POST /posts", 0, f)
			d.p.drop("a", title(1))
			h := d.p.start()
			h.await("a", published(1))
			h.stop()
			d.has("a", 1, 0, title(1))
			d.calls("POST /posts", 1)
		})
	}
}

// B06: every attempt bears the same key, also after a restart.
func TestEveryAttemptBearsTheSameKey(t *testing.T) {
	t.Parallel()
	d := newDrill(t, newLoopback)
	server := d.w.(*loopback).server
	var mu sync.Mutex
	var keys []string
	refused := true
	server.Script("POST /posts", 0, func(w http.ResponseWriter, r *http.Request, usual http.HandlerFunc) {
		body, _ := io.ReadAll(r.Body)
		var post struct{ Key string }
		_ = json.Unmarshal(body, &post) // an empty key is told below
		mu.Lock()
		keys = append(keys, post.Key)
		refuse := refused
		mu.Unlock()
		if refuse {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		usual(w, r)
	})
	d.p.drop("a", title(1))
	for range 2 {
		h := d.p.start()
		before := server.Calls("POST /posts")
		err := h.poll(func(context.Context) (bool, error) { return server.Calls("POST /posts") >= before+2, nil })
		if err != nil {
			t.Fatal(err)
		}
		h.kill()
	}
	mu.Lock()
	refused = false
	mu.Unlock()
	h := d.p.start()
	h.await("a", published(1))
	h.stop()
	d.has("a", 1, 2, title(1))
	if slices.Sort(keys); keys[0] == "" || keys[0] != keys[len(keys)-1] {
		t.Errorf("the attempts bore the keys %q", keys)
	}
}

// B07: a platform that answers 502 to everything, though it stores, gets each
// post once; the breaker keeps the others back, and the look-up mends what it can.
func TestAServerThatIsDownForADayHasNoCopiesAfterwards(t *testing.T) {
	t.Parallel()
	d := newDrill(t, newLoopback)
	server := d.w.(*loopback).server
	d.p.edit("breaker: { consecutive: 0, min_calls: 0 }", "breaker: { consecutive: 3, min_calls: 0, open_for: 1h }")
	server.Script("POST /posts", 0, storedThen(http.StatusBadGateway))
	server.Script("GET /posts", 0, platformtest.AnswerWith(http.StatusBadGateway, "", nil))
	ids := []string{"a", "b", "c", "d", "e"}
	for _, id := range ids {
		d.p.drop(id, title(1))
	}
	h := d.p.start()
	var of compensate.TargetReport
	err := h.poll(func(ctx context.Context) (bool, error) {
		targets, err := d.p.client().Targets(ctx)
		if err == nil {
			of = targets[0]
		}
		return of.Breaker == "open" && server.Calls("GET /posts") >= 20, nil
	})
	if err != nil {
		t.Fatalf("the breaker does not open, or nothing is looked up: %v; %+v", err, of)
	}
	d.calls("POST /posts", 3)
	server.Unscript()
	there := func() (n int) {
		for _, id := range ids {
			n += len(d.w.posts(id))
		}
		return n
	}
	if n := there(); n != 3 {
		t.Errorf("the platform has %d posts, want 3", n)
	}
	for _, id := range ids {
		if len(d.w.posts(id)) == 1 {
			h.await(id, published(1))
		}
	}
	h.stop()
	h = d.p.start() // with a breaker that is closed
	for _, id := range ids {
		h.await(id, published(1))
	}
	h.stop()
	for _, id := range ids { // now that no upload is under way
		d.has(id, 1, 0, title(1))
	}
	d.calls("POST /posts", len(ids))
}
