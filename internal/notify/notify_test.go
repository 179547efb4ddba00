package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/notify"
	"herald/platforms"
	"herald/state"
)

// channel remembers what it was told, and fails while it is down.
type channel struct {
	mu    sync.Mutex
	told  []string
	down  bool
	tries int
}

func (c *channel) Notify(_ context.Context, n state.Notice) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tries++
	if c.down {
		return errors.New("down")
	}
	c.told = append(c.told, n.Message)
	return nil
}

func (c *channel) got() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.told)
}

func (c *channel) tried() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tries
}

func (c *channel) set(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

// running starts a notifier on a real store, inside a bubble.
func running(t *testing.T, channels ...notify.Channel) (tell func(...string), left func() int) {
	t.Helper()
	store, err := state.Open(filepath.Join(t.TempDir(), "herald.db"))
	if err != nil {
		t.Fatal(err)
	}
	n := notify.New(store, channels, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); n.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-ended
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	tell = func(messages ...string) {
		for _, m := range messages {
			err := store.Update(func(tx state.Tx) error { return tx.PutNotice(state.Notice{At: time.Now(), Message: m}) })
			if err != nil {
				t.Fatal(err)
			}
		}
		n.Wake()
	}
	left = func() (n int) {
		_ = store.View(func(r state.Reader) error {
			ns, err := r.Notices(1000)
			n = len(ns)
			return err
		})
		return n
	}
	return tell, left
}

func TestEveryNoticeIsToldOnceAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &channel{}
		tell, left := running(t, c)
		tell("first", "second")
		<-time.After(time.Second)
		tell("third")
		<-time.After(time.Hour)
		if got := c.got(); !slices.Equal(got, []string{"first", "second", "third"}) || left() != 0 {
			t.Errorf("got %v, %d left", got, left())
		}
	})
}

func TestAChannelThatIsDownDelaysOnlyItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		well, sick := &channel{}, &channel{down: true}
		tell, left := running(t, sick, well)
		tell("first", "second")
		<-time.After(time.Minute)
		if got := well.got(); !slices.Equal(got, []string{"first", "second"}) || left() != 2 {
			t.Fatalf("the well one: got %v, %d left", got, left())
		}
		<-time.After(5 * time.Hour)
		if n := sick.tried(); n > 20 {
			t.Errorf("the sick one was tried %d times in five hours", n)
		}
		sick.set(false)
		<-time.After(time.Hour)
		if got := sick.got(); !slices.Equal(got, []string{"first", "second"}) || len(well.got()) != 2 || left() != 0 {
			t.Errorf("got %v and %v, %d left; want each once", got, well.got(), left())
		}
	})
}

func TestANoticeNobodyTakesIsDroppedAfterThreeDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &channel{down: true}
		tell, left := running(t, c)
		tell("old")
		<-time.After(74 * time.Hour)
		c.set(false)
		tell("new")
		<-time.After(time.Hour)
		if got := c.got(); !slices.Equal(got, []string{"new"}) || left() != 0 {
			t.Errorf("got %v, %d left; want only the new one", got, left())
		}
	})
}

func TestAWebhookIsSignedAndLeaksNoSecret(t *testing.T) {
	const secret = platforms.Secret("s3cr3t-of-the-hook")
	var body []byte
	var header http.Header
	status := http.StatusNoContent
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		header = r.Header
		w.WriteHeader(status)
	}))
	defer srv.Close()
	hook := notify.NewWebhook(srv.URL+"/hook?token=in-the-query", secret, slog.New(slog.DiscardHandler), nil)
	n := state.Notice{ID: 7, Event: state.NeedsPerson, Article: "error-handling", Title: "错误处理", Message: "配额用尽"}
	if err := hook.Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	var got state.Notice
	if err := json.Unmarshal(body, &got); err != nil || got.Message != n.Message || header.Get("X-Herald-Id") != "7" {
		t.Errorf("got %s (%v), id %s", body, err, header.Get("X-Herald-Id"))
	}
	if want := "sha256=" + notify.Sign(secret, header.Get("X-Herald-Timestamp"), body); header.Get("X-Herald-Signature") != want {
		t.Errorf("signature: got %s, want %s", header.Get("X-Herald-Signature"), want)
	}
	if notify.Sign(secret, "1", body) == notify.Sign(secret, "2", body) {
		t.Error("the signature does not cover the time")
	}
	status = http.StatusInternalServerError
	err := hook.Notify(t.Context(), n)
	if err == nil || strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "in-the-query") {
		t.Errorf("a refusal: got %v, want an error without secrets", err)
	}
}
