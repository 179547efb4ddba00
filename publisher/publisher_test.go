package publisher_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/article"
	"herald/internal/config"
	"herald/platforms"
	"herald/publisher"
)

// nothing is a platform that is never asked.
type nothing struct{ account string }

func (nothing) Render(*article.Article) (platforms.Post, error) { return platforms.Post{}, nil }

func (nothing) Publish(context.Context, platforms.Post, platforms.Memo) (platforms.Receipt, error) {
	return platforms.Receipt{}, nil
}

// shared is one with an account.
type shared struct{ nothing }

func (s shared) Account() string { return s.account }

func settings(name string) config.Target {
	return config.Target{
		Name: name, Type: "fake", Enabled: true, Timeout: 30 * time.Second, Concurrency: 1,
		Breaker: config.Breaker{Consecutive: 3, FailureRatio: 0.5, Window: time.Minute, MinCalls: 10, OpenFor: time.Minute, Probes: 1},
	}
}

func target(t *testing.T, c config.Target) *publisher.Target {
	t.Helper()
	return publisher.New([]publisher.Spec{{Config: c, Platform: nothing{}}}, slog.New(slog.DiscardHandler))[0]
}

// call makes one call that changes something and ends with kind; empty: success.
func call(t *testing.T, tg *publisher.Target, kind platforms.Kind) publisher.Outcome {
	t.Helper()
	permit, at := tg.Permit(time.Now(), true)
	if permit == nil {
		t.Fatalf("no permit until %v", at)
	}
	return permit.Call(t.Context(), "publish", func(context.Context) error {
		if kind == "" {
			return nil
		}
		return &platforms.Error{Platform: "fake", Kind: kind}
	})
}

func breakerState(tg *publisher.Target) string {
	word, _, _ := tg.Breaker()
	return word
}

func TestTheBreakerOpensByTheRulesOfTheKinds(t *testing.T) {
	u, r, ok := platforms.Unavailable, platforms.Rejected, platforms.Kind("")
	for _, c := range []struct {
		name  string
		kinds []platforms.Kind
		want  string
	}{
		{"three failures in a row", []platforms.Kind{u, platforms.Dependency, platforms.Uncertain}, "open"},
		{"a success interrupts the row", []platforms.Kind{u, u, ok, u, u}, "closed"},
		{"refused content does not interrupt it (B32)", []platforms.Kind{u, r, u, r, u}, "open"},
		{"refused content alone never opens it", []platforms.Kind{r, r, r, r, r, r, r, r, r, r, r, r}, "closed"},
		{"rate limits are not counted", []platforms.Kind{u, u, platforms.RateLimited, platforms.RateLimited, platforms.RateLimited}, "closed"},
		{"credentials are not counted (B26)", []platforms.Kind{platforms.Unauthorized, platforms.Unauthorized, platforms.Unauthorized}, "closed"},
		{"half of ten calls", []platforms.Kind{u, u, ok, u, u, ok, ok, u, ok, ok}, "closed"},
		{"half of ten calls, the last a failure", []platforms.Kind{u, u, ok, u, u, ok, ok, ok, ok, u}, "open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tg := target(t, settings("a"))
			for _, k := range c.kinds {
				call(t, tg, k)
			}
			if got := breakerState(tg); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// A platform that fails once in ten minutes is down as surely as one that fails
// ten times a second (B43).
func TestFailuresFarApartStillCountAsARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := target(t, settings("a"))
		for range 3 {
			call(t, tg, platforms.Uncertain)
			<-time.After(10 * time.Minute)
		}
		if permit, _ := tg.Permit(time.Now().Add(-10*time.Minute), true); permit == nil {
			t.Fatal("no probe after open_for")
		}
		if got := breakerState(tg); got != "half-open" {
			t.Errorf("got %s, want half-open: it opened at the third failure, ten minutes ago", got)
		}
	})
}

func TestAnOpenBreakerRefusesUntilItsTimeAndThenLetsOneProbeThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := target(t, settings("a"))
		for range 3 {
			call(t, tg, platforms.Unavailable)
		}
		opened := time.Now()
		permit, at := tg.Permit(time.Now(), true)
		if permit != nil || !at.After(opened.Add(time.Minute)) || at.After(opened.Add(62*time.Second)) {
			t.Fatalf("open: got %v until %v, want a refusal until shortly after %v", permit, at, opened.Add(time.Minute))
		}
		if _, since, until := tg.Breaker(); !since.Equal(opened) || !until.Equal(at) {
			t.Errorf("open since %v until %v, want %v and %v", since, until, opened, at)
		}
		if reading, _ := tg.Permit(time.Now(), false); reading == nil {
			t.Error("an open breaker refused a call that changes nothing")
		}
		<-time.After(time.Until(at))
		probe, _ := tg.Permit(time.Now(), true)
		if probe == nil {
			t.Fatal("no probe when its time came")
		}
		if second, _ := tg.Permit(time.Now(), true); second != nil {
			t.Error("two probes at a time, want one")
		}
		out := probe.Call(t.Context(), "publish", func(context.Context) error { return nil })
		if !out.Trial || breakerState(tg) != "closed" {
			t.Errorf("after a good probe: trial %v, breaker %s; want true, closed", out.Trial, breakerState(tg))
		}
	})
}

func TestTheProbeSlotIsFreedHoweverTheProbeEnds(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, p *publisher.Permit){
		"returned unused": func(_ *testing.T, p *publisher.Permit) { p.Return() },
		"rate limited": func(t *testing.T, p *publisher.Permit) {
			p.Call(t.Context(), "x", func(context.Context) error { return &platforms.Error{Kind: platforms.RateLimited} })
		},
		"panicked": func(t *testing.T, p *publisher.Permit) {
			p.Call(t.Context(), "x", func(context.Context) error { panic("broken") })
		},
		"interrupted": func(t *testing.T, p *publisher.Permit) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(publisher.ErrStopping)
			p.Call(ctx, "x", func(ctx context.Context) error { return ctx.Err() })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tg := target(t, settings("a"))
				for range 3 {
					call(t, tg, platforms.Unavailable)
				}
				for range 5 {
					<-time.After(62 * time.Second)
					probe, _ := tg.Permit(time.Now(), true)
					if probe == nil {
						t.Fatal("no probe: the slot was not freed")
					}
					end(t, probe)
				}
			})
		})
	}
}

func TestACallHasADeadlineAndItsPanicIsAnOpenOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		tg := publisher.New([]publisher.Spec{{Config: settings("a"), Platform: nothing{}}}, slog.New(slog.NewTextHandler(&log, nil)))[0]
		permit, _ := tg.Permit(time.Now(), true)
		began := time.Now()
		out := permit.Call(t.Context(), "publish", func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if time.Since(began) != 30*time.Second || out.Took != 30*time.Second || out.Err.Kind != platforms.Uncertain || out.Interrupted {
			t.Errorf("deadline: got %+v after %s", out, time.Since(began))
		}
		permit, _ = tg.Permit(time.Now(), true)
		out = permit.Call(t.Context(), "publish", func(context.Context) error { panic("nil map") })
		if out.Err == nil || out.Err.Kind != platforms.Uncertain || !strings.Contains(out.Err.Message, "nil map") {
			t.Errorf("panic: got %+v", out.Err)
		}
		if !strings.Contains(log.String(), "publisher_test.go") {
			t.Errorf("the log keeps no stack:\n%s", log.String())
		}
		permit, _ = tg.Permit(time.Now(), false)
		out = permit.Call(t.Context(), "find", func(context.Context) error { return errors.New("odd") })
		if out.Err.Kind != platforms.Unavailable {
			t.Errorf("an unclassified error of a call that only asks: got %s, want unavailable", out.Err.Kind)
		}
	})
}

func TestAStopInterruptsAndDoesNotFail(t *testing.T) {
	tg := target(t, settings("a"))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(publisher.ErrStopping)
	for range 5 {
		permit, _ := tg.Permit(time.Now(), true)
		out := permit.Call(ctx, "publish", func(ctx context.Context) error { return context.Cause(ctx) })
		if !out.Interrupted || !errors.Is(out.Err, publisher.ErrStopping) {
			t.Errorf("got %+v, want interrupted", out)
		}
	}
	if got := breakerState(tg); got != "closed" {
		t.Errorf("breaker after five interruptions: got %s, want closed", got)
	}
}

func TestCallsArePacedByAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, fast, other := settings("slow"), settings("fast"), settings("other")
		slow.Pace = config.Pace{Every: 10 * time.Second, Burst: 1}
		fast.Pace = config.Pace{Every: time.Second, Burst: 5}
		tgs := publisher.New([]publisher.Spec{
			{Config: fast, Platform: shared{nothing{"x"}}}, {Config: slow, Platform: shared{nothing{"x"}}}, {Config: other, Platform: nothing{}},
		}, slog.New(slog.DiscardHandler))
		if tgs[0].Account != tgs[1].Account || tgs[0].Account == tgs[2].Account {
			t.Fatalf("accounts: got %s, %s, %s", tgs[0].Account, tgs[1].Account, tgs[2].Account)
		}
		now := time.Now()
		if p, _ := tgs[0].Permit(now, true); p == nil {
			t.Fatal("the first call was refused")
		}
		p, at := tgs[1].Permit(now, true)
		if want := now.Add(10 * time.Second); p != nil || at.Sub(want).Abs() > time.Millisecond {
			t.Errorf("second call of the account: got %v at %v, want a refusal until %v", p, at, want)
		}
		if at := tgs[0].Ready(now, true); at.Sub(now.Add(10*time.Second)).Abs() > time.Millisecond {
			t.Errorf("ready: got %v, want in 10 s", at.Sub(now))
		}
		for range 3 { // refusals take nothing
			if p, again := tgs[1].Permit(now, true); p != nil || !again.Equal(at) {
				t.Errorf("asked again: got %v at %v, want the same time", p, again)
			}
		}
		if p, _ := tgs[2].Permit(now, true); p == nil {
			t.Error("another account was paced along")
		}
		<-time.After(10 * time.Second)
		if p, _ := tgs[1].Permit(time.Now(), true); p == nil {
			t.Error("refused after its time")
		}
	})
}

func TestNewSettingsComeIntoForceAndKeepABreakerTheyDoNotChange(t *testing.T) {
	c := settings("a")
	tg := target(t, c)
	for range 3 {
		call(t, tg, platforms.Unavailable)
	}
	c.Timeout = time.Second
	publisher.Configure([]*publisher.Target{tg}, []config.Target{c})
	if got := tg.Settings().Timeout; got != time.Second || breakerState(tg) != "open" {
		t.Errorf("got timeout %s, breaker %s; want 1s, open", got, breakerState(tg))
	}
	c.Breaker.Consecutive = 10
	publisher.Configure([]*publisher.Target{tg}, []config.Target{c})
	if got := breakerState(tg); got != "closed" {
		t.Errorf("after new breaker settings: got %s, want closed", got)
	}
}

func TestATargetIsSafeForConcurrentUse(t *testing.T) {
	tg := target(t, settings("a"))
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if permit, _ := tg.Permit(time.Now(), i%2 == 0); permit != nil {
				permit.Call(context.Background(), "x", func(context.Context) error { return &platforms.Error{Kind: platforms.Unavailable} })
			}
			tg.Breaker()
			tg.Ready(time.Now(), true)
			publisher.Configure([]*publisher.Target{tg}, []config.Target{settings("a")})
		})
	}
	wg.Wait()
}
