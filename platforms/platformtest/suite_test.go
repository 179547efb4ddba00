package platformtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"herald/platforms"
)

func whole(p platforms.Platform) platforms.Platform { return p }

func TestAnAdapterThatKeepsItsPromisesPasses(t *testing.T) {
	c := fakeCase("", whole)
	Run(t, c)
	for _, ch := range checks {
		if r := watch(t, ch, c); r.skipped != "" {
			t.Errorf("%q was skipped (%s); the fake has every ability", ch.name, r.skipped)
		}
	}
}

func TestAnAdapterThatCanOnlyPublishPassesAndTheRestIsSkipped(t *testing.T) {
	c := fakeCase("", func(p platforms.Platform) platforms.Platform { return struct{ platforms.Platform }{p} })
	Run(t, c)
	for name, skipped := range map[string]bool{
		"finds nothing on an empty platform":                        true,
		"updates in place, and again with the same result":          true,
		"withdraws, and again with success":                         true,
		"publishes once and returns an id":                          false,
		"ends with one post when any reply is lost":                 false,
		"makes no second post when called again with the same memo": false,
	} {
		if r := watch(t, named(t, name), c); (r.skipped != "") != skipped {
			t.Errorf("%q: skipped %q, want skipped: %v", name, r.skipped, skipped)
		}
	}
}

func TestEachPromiseFailsForAnAdapterThatBreaksIt(t *testing.T) {
	tests := []struct{ flaw, check string }{
		{"renders differently", "renders the same post from the same article"},
		{"changes the article", "renders the same post from the same article"},
		{"takes any title", "refuses what is over a limit"},
		{"names no limit", "refuses what is over a limit"},
		{"posts twice", "publishes once and returns an id"},
		{"gives no id", "publishes once and returns an id"},
		{"forgets its post", "makes no second post when called again with the same memo"},
		{"calls absence an error", "finds nothing on an empty platform"},
		{"finds any post", "finds its own post and no other"},
		{"finds nothing", "finds its own post and no other"},
		{"updates by deleting first", "updates in place, and again with the same result"},
		{"cannot withdraw twice", "withdraws, and again with success"},
		{"mixes articles", "keeps two articles apart that are published at once"},
		{"probes by posting", "probes without leaving a trace"},
		{"uploads again", "ends with one post when any call was not sent"},
		{"gives up at a refused connection", "ends with one post when any call was not sent"},
		{"takes a lost reply for an outage", "ends with one post when any reply is lost"},
		{"finds nothing", "ends with one post when any reply is lost"},
		{"finds nothing", "ends with one post after a crash at any call"},
		{"takes a full disk for a refusal", "ends with one post when the memo cannot be written"},
		{"finds nothing", "ends with one post when the memo cannot be written"},
		{"takes a lost reply for an outage", "ends with one post when cancelled at any call"},
		{"probes without its context", "starts nothing once the context is cancelled"},
		{"updates by deleting first", "updates after a fault at any call"},
		{"cannot withdraw twice", "withdraws after a fault at any call"},
		{"takes any code for a pause", "gives every listed code its kind"},
		{"takes any code for a pause", "calls an unlisted code unknown"},
		{"returns bare errors", "names platform, operation and kind in every error"},
		{"names no operation", "names platform, operation and kind in every error"},
		{"logs the token", "tells no secret"},
		{"puts the token into the address", "tells no secret"},
		{"repeats the answer", "tells no secret"},
	}
	broken := map[string]bool{}
	for _, tt := range tests {
		t.Run(tt.flaw+"/"+tt.check, func(t *testing.T) {
			r := watch(t, named(t, tt.check), fakeCase(tt.flaw, whole))
			if len(r.failures) == 0 || r.skipped != "" {
				t.Errorf("passed (skipped: %q) for an adapter that %s", r.skipped, tt.flaw)
			}
		})
		broken[tt.check] = true
	}
	for _, ch := range checks {
		if !broken[ch.name] {
			t.Errorf("no adapter breaks the promise %q", ch.name)
		}
	}
}

func TestAWorldThatIgnoresItsFaultsFails(t *testing.T) {
	c := fakeCase("", whole)
	world := c.New
	c.New = func(t testing.TB) *World {
		w := world(t)
		w.Faults = deaf{} // counts calls that never happen
		open, network := w.Open, w.Transport
		w.Open = func(env platforms.Env) (platforms.Platform, error) {
			env.Transport = network
			return open(env)
		}
		return w
	}
	if r := watch(t, named(t, "ends with one post when any reply is lost"), c); len(r.failures) == 0 {
		t.Error("passed though no call was broken")
	}
}

type deaf struct{}

func (deaf) Arm(int, Mode) <-chan struct{} { return make(chan struct{}) }
func (deaf) Disarm()                       {}
func (deaf) Calls() int                    { return 2 }

func TestFaultTransportBreaksTheRightRequest(t *testing.T) {
	tests := []struct {
		mode       Mode
		reached    int  // requests that reach the server, of 3 with the second broken
		third      bool // the third gets through
		wantDialed bool // the error says that nothing was sent
	}{
		{NotSent, 2, true, true},
		{ReplyLost, 3, true, false},
		{Crash, 2, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.mode.String(), func(t *testing.T) {
			reached := 0
			f := NewFaultTransport(HandlerTransport(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				reached++
				if body, err := io.ReadAll(r.Body); err != nil || string(body) != "hello" {
					t.Errorf("the server got %q, %v", body, err)
				}
			})))
			struck := f.Arm(2, tt.mode)
			var errs [3]error
			for i := range errs {
				errs[i] = post(t.Context(), f)
			}
			<-struck
			op, ok := errors.AsType[*net.OpError](errs[1])
			if !ok || (op.Op == "dial") != tt.wantDialed {
				t.Errorf("second request: %v", errs[1])
			}
			if errs[0] != nil || (errs[2] == nil) != tt.third || reached != tt.reached || f.Calls() != 3 {
				t.Errorf("errors %v, %d of %d calls reached the server", errs, reached, f.Calls())
			}
			f.Disarm()
			if err := post(t.Context(), f); err != nil {
				t.Errorf("disarmed: %v", err)
			}
		})
	}
}

func post(ctx context.Context, rt http.RoundTripper) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://fake/", strings.NewReader("hello"))
	if err != nil {
		return err
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func TestAMemoFailsWhenItIsTold(t *testing.T) {
	m := NewMemo()
	m.FailAt(2)
	for n, want := range []bool{true, false, true} {
		if err := m.Set("k", fmt.Sprint(n)); (err == nil) != want {
			t.Errorf("write %d: %v, want success: %v", n+1, err, want)
		}
	}
	gone := make(chan struct{})
	m.DieWith(gone)
	if err := m.Set("k", "alive"); err != nil {
		t.Errorf("before the process ended: %v", err)
	}
	close(gone)
	if err := m.Set("k", "dead"); err == nil {
		t.Error("written after the process ended")
	}
	m.DieWith(nil)
	if v, ok := m.Get("k"); v != "alive" || !ok {
		t.Errorf("kept %q, %v", v, ok)
	}
}

// named returns one of the checks.
func named(t *testing.T, name string) check {
	t.Helper()
	i := slices.IndexFunc(checks, func(ch check) bool { return ch.name == name })
	if i < 0 {
		t.Fatalf("there is no check %q", name)
	}
	return checks[i]
}

// watch runs one check and returns what it reported.
func watch(t *testing.T, ch check, c Case) *recorder {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() { // Fatal and Skip end the goroutine
		defer close(done)
		ch.on(r, c)
	}()
	<-done
	return r
}

// recorder is a testing.TB that keeps failures to itself.
type recorder struct {
	testing.TB
	failures []string
	skipped  string
}

func (r *recorder) Helper()           {}
func (r *recorder) Error(args ...any) { r.failures = append(r.failures, fmt.Sprint(args...)) }

func (r *recorder) Errorf(f string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(f, args...))
}
func (r *recorder) Fatal(args ...any)            { r.Error(args...); r.FailNow() }
func (r *recorder) Fatalf(f string, args ...any) { r.Errorf(f, args...); r.FailNow() }
func (r *recorder) FailNow()                     { r.Fail(); runtime.Goexit() }
func (r *recorder) Fail()                        { r.failures = append(r.failures, "failed") }
func (r *recorder) Failed() bool                 { return len(r.failures) > 0 }
func (r *recorder) Skip(args ...any)             { r.skipped = fmt.Sprint(args...); runtime.Goexit() }

func (r *recorder) Skipf(f string, args ...any) {
	r.skipped = fmt.Sprintf(f, args...)
	runtime.Goexit()
}
