// Package publisher makes one guarded call to a platform: leave from the pace
// and the breaker first, then the call with its deadline, its panic caught and
// its answer classified. It keeps no record, makes no second try and does not
// know what an answer means for a delivery.
package publisher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"herald/internal/config"
	"herald/internal/failpoint"
	"herald/platforms"
)

// ErrStopping is the cause of a context that ends because herald stops. A call
// that it cuts short was interrupted, it did not fail.
var ErrStopping = errors.New("herald is stopping")

// Target is one configured account with everything that guards its calls.
type Target struct {
	Name     string
	Type     string
	Account  string // shared by targets with one credential
	Platform platforms.Platform

	settings    atomic.Pointer[config.Target]
	pace        *rate.Limiter // shared by the account
	breaker     atomic.Pointer[breaker]
	lastSuccess atomic.Pointer[time.Time]
	log         *slog.Logger
}

// Spec is what a Target is made of.
type Spec struct {
	Config   config.Target
	Platform platforms.Platform
}

// New makes the targets, in the order given. Those with one account share one
// pace: the slowest that any of them asks for.
func New(specs []Spec, log *slog.Logger) []*Target {
	targets := make([]*Target, 0, len(specs))
	paces := map[string]*rate.Limiter{}
	for _, s := range specs {
		t := &Target{
			Name: s.Config.Name, Type: s.Config.Type, Account: s.Config.Name, Platform: s.Platform,
			log: log.With("target", s.Config.Name),
		}
		if a, ok := s.Platform.(platforms.Accounter); ok {
			t.Account = t.Type + ":" + a.Account()
		}
		if paces[t.Account] == nil {
			paces[t.Account] = rate.NewLimiter(rate.Inf, 1)
		}
		t.pace = paces[t.Account]
		targets = append(targets, t)
	}
	configs := make([]config.Target, len(specs))
	for i, s := range specs {
		configs[i] = s.Config
	}
	Configure(targets, configs)
	return targets
}

// Configure puts new settings into force, at start and after a reload. A target
// whose breaker settings did not change keeps its breaker as it stands.
func Configure(targets []*Target, configs []config.Target) {
	slowest := map[*rate.Limiter]config.Pace{}
	for _, c := range configs {
		i := slices.IndexFunc(targets, func(t *Target) bool { return t.Name == c.Name })
		if i < 0 {
			continue
		}
		t := targets[i]
		old := t.settings.Swap(&c)
		if old == nil || old.Breaker != c.Breaker {
			t.breaker.Store(newBreaker(c, t.log))
		}
		if p, ok := slowest[t.pace]; !ok || c.Pace.Every > p.Every {
			slowest[t.pace] = c.Pace
		}
	}
	for lim, p := range slowest {
		lim.SetBurst(max(1, p.Burst))
		if p.Every <= 0 {
			lim.SetLimit(rate.Inf)
			continue
		}
		lim.SetLimit(rate.Every(p.Every))
	}
}

// Settings returns the settings in force.
func (t *Target) Settings() config.Target { return *t.settings.Load() }

// Breaker returns the breaker's state in words (closed, open, half-open), since
// when it is open, and when it lets a probe through; both zero unless open.
func (t *Target) Breaker() (state string, since, until time.Time) {
	return t.breaker.Load().describe()
}

// LastSuccess returns when a call last succeeded since the start; zero if none.
func (t *Target) LastSuccess() time.Time {
	if at := t.lastSuccess.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// Ready says when a call could begin: now, or the time at which pace or breaker
// give way. It takes nothing; Permit may still refuse.
func (t *Target) Ready(now time.Time, changing bool) time.Time {
	at := now
	if missing := 1 - t.pace.TokensAt(now); missing > 0 && t.pace.Limit() != rate.Inf {
		at = now.Add(time.Duration(missing / float64(t.pace.Limit()) * float64(time.Second)))
	}
	if changing {
		if _, _, until := t.Breaker(); until.After(at) {
			at = until
		}
	}
	return at
}

// Permit is leave to make one call. It ends with exactly one of Call and Return,
// so that a half-open breaker's probe slot is always freed.
type Permit struct {
	target *Target
	done   func(error) // tells the breaker; nil for a call that it does not guard
	report *breaker
	trial  bool
}

// Permit asks for leave to make one call, before the intent is written down. A
// refusal is a nil Permit and the time to ask again. Calls that change nothing
// are paced, but neither refused nor counted by the breaker.
func (t *Target) Permit(now time.Time, changing bool) (*Permit, time.Time) {
	slot := t.pace.ReserveN(now, 1)
	if wait := slot.DelayFrom(now); wait > 0 {
		slot.CancelAt(now)
		return nil, now.Add(wait)
	}
	if !changing {
		return &Permit{target: t}, time.Time{}
	}
	b := t.breaker.Load()
	done, trial, err := b.allow()
	if err != nil {
		slot.CancelAt(now)
		return nil, b.again(now)
	}
	return &Permit{target: t, done: done, report: b, trial: trial}, time.Time{}
}

// Return gives the permit back unused.
func (p *Permit) Return() {
	if p.done != nil {
		p.done(errNeutral)
	}
}

// Outcome is how a call ended.
type Outcome struct {
	Err  *platforms.Error // nil: success
	Took time.Duration
	// Trial says that this was a half-open breaker's probe.
	Trial bool
	// Interrupted says that the call ended because herald stops.
	Interrupted bool
}

// Call makes the call under the target's deadline and reports its answer to the
// breaker. ctx ends early only when herald stops.
func (p *Permit) Call(ctx context.Context, op string, call func(context.Context) error) Outcome {
	t := p.target
	settings := t.Settings()
	callCtx, cancel := context.WithTimeout(ctx, settings.Timeout)
	defer cancel()

	began := time.Now()
	failpoint.Hit("call/before")
	err := t.Guard(op, func() error { return call(callCtx) })
	failpoint.Hit("call/after")
	out := Outcome{Took: time.Since(began), Trial: p.trial}
	out.Err = t.classify(op, err, p.done != nil)
	out.Interrupted = out.Err != nil && ctx.Err() != nil
	t.log.Debug("call", "op", op, "took", out.Took, "kind", platforms.KindOf(err))
	if out.Err == nil {
		now := time.Now()
		t.lastSuccess.Store(&now)
	}
	if p.done != nil {
		p.report.count(p.done, out)
	}
	return out
}

// panicError is what a panic in an adapter becomes.
type panicError struct{ value any }

func (e panicError) Error() string { return fmt.Sprintf("adapter panicked: %v", e.value) }

// Guard is the one place where a panic is caught: around the adapter's code. Call
// uses it by itself; rendering, which needs no permit, uses it directly.
func (t *Target) Guard(op string, call func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			t.log.Error("adapter panicked", "op", op, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = panicError{v}
		}
	}()
	return call()
}

// classify makes a platform error of whatever came back. What an adapter did not
// classify itself is not known: after a call that changes something the outcome
// is uncertain, after one that only asks nothing happened.
func (t *Target) classify(op string, err error, changing bool) *platforms.Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*platforms.Error](err); ok {
		return e
	}
	e := &platforms.Error{Platform: t.Type, Op: op, Kind: platforms.Unavailable, Message: err.Error(), Err: err}
	if changing {
		e.Kind = platforms.Uncertain
	}
	return e
}
