package compensate_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"herald/article"
	"herald/compensate"
	"herald/internal/config"
	"herald/platforms"
	"herald/state"
)

// honest is a platform whose look-ups tell the truth, if a little late. It errs
// by the script of its base, and never gives an id twice.
type honest struct {
	*base
	made    int
	creates map[string]int // by idempotency key, the withdrawn ones included
	there   map[string]made
}

type made struct {
	key string
	at  time.Time
}

// visible is how long a new post is not found yet. It is less than absent_after.
const visible = 40 * time.Second

func newHonest() *honest {
	return &honest{base: &base{}, creates: map[string]int{}, there: map[string]made{}}
}

func (h *honest) Publish(ctx context.Context, p platforms.Post, _ platforms.Memo) (platforms.Receipt, error) {
	f := h.next("publish")
	id := ""
	if f.stored || f.kind == "" && !f.hang && !f.panics {
		h.mu.Lock()
		h.made++
		id = fmt.Sprintf("p%d", h.made)
		h.creates[p.Key]++
		h.there[id] = made{p.Key, time.Now()}
		h.mu.Unlock()
	}
	if err := f.err(ctx); err != nil {
		return platforms.Receipt{}, err
	}
	if f.noID {
		return platforms.Receipt{}, nil
	}
	return platforms.Receipt{ID: id, URL: "https://example.com/" + id, Pending: f.pending}, nil
}

func (h *honest) Update(ctx context.Context, _ platforms.Post, r platforms.Receipt, _ platforms.Memo) (platforms.Receipt, error) {
	return r, h.next("update").err(ctx)
}

func (s seeing) Withdraw(ctx context.Context, r platforms.Receipt) error {
	if err := s.next("withdraw").err(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.there, r.ID)
	return nil
}

// find is what a person sees, who waits long enough.
func (h *honest) find(key string, now time.Time) (id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for candidate, m := range h.there {
		if m.key == key && !m.at.After(now) {
			id = candidate
		}
	}
	return id
}

// seeing is honest with the abilities that need to be asked.
type seeing struct{ *honest }

func (s seeing) Find(ctx context.Context, p platforms.Post, _ time.Time, _ platforms.Memo) (platforms.Found, error) {
	if err := s.next("find").err(ctx); err != nil {
		return platforms.Found{}, err
	}
	id := s.find(p.Key, time.Now().Add(-visible))
	if id == "" {
		return platforms.Found{}, nil
	}
	return platforms.Found{Outcome: platforms.Present, Receipt: platforms.Receipt{ID: id, URL: "https://example.com/" + id}}, nil
}

func (s seeing) Review(ctx context.Context, r platforms.Receipt) (platforms.Receipt, error) {
	f := s.next("review")
	r.Pending = f.pending
	return r, f.err(ctx)
}

func (s seeing) Probe(ctx context.Context) error { return s.next("probe").err(ctx) }

// fuse is a store whose process dies: from then on nothing is written any more.
// With late the last write is on disk, but nobody learns of it.
type fuse struct {
	state.Store
	blown, late atomic.Bool
}

var errDead = errors.New("the process is dead")

func (f *fuse) Update(fn func(state.Tx) error) error {
	if !f.blown.Load() {
		return f.Store.Update(fn)
	}
	if f.late.Swap(false) {
		_ = f.Store.Update(fn) // whatever came of it is on disk
	}
	return errDead
}

// deed is one thing that happens: a platform errs, time passes, a person gives a
// command, herald is killed.
type deed struct {
	What   string
	Target string
	ID     string
	Op     string
	Fault  fault
	Pass   time.Duration
	Whole  bool // all or nothing
}

var (
	targets = []string{"seeing", "blind"}
	ids     = []string{"x", "y"}
	kinds   = []platforms.Kind{
		platforms.Unavailable, platforms.RateLimited, platforms.Dependency, platforms.Unauthorized, platforms.Rejected,
		platforms.Invalid, platforms.Exists, platforms.Uncertain, platforms.Unknown,
	}
)

// deeds draws what happens. All is drawn before the bubble begins, so that rapid
// can shorten it.
var deeds = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) deed {
	d := deed{
		What: rapid.SampledFrom([]string{
			"err", "err", "err", "admit", "admit", "pass", "pass", "kill", "restart",
			"retry", "retry target", "resolve", "cancel", "withdraw", "republish", "reconcile",
		}).Draw(t, "what"),
		Target: rapid.SampledFrom(targets).Draw(t, "target"),
		ID:     rapid.SampledFrom(ids).Draw(t, "article"),
	}
	switch d.What {
	case "admit":
		d.Whole = rapid.Bool().Draw(t, "all or nothing")
	case "err":
		d.Op = rapid.SampledFrom([]string{"publish", "publish", "publish", "find", "review", "update", "withdraw", "probe"}).Draw(t, "op")
		d.Fault = rapid.Custom(drawFault).Draw(t, "fault")
	case "pass", "kill":
		d.Pass = rapid.SampledFrom([]time.Duration{0, 3 * time.Second, time.Minute, 10 * time.Minute, time.Hour}).Draw(t, "pass")
	}
	return d
}), 1, 25)

func drawFault(t *rapid.T) fault {
	f := fault{stored: rapid.Bool().Draw(t, "stored")}
	switch rapid.SampledFrom([]string{"kind", "kind", "kind", "hang", "panic", "no id", "pending", "in time"}).Draw(t, "how") {
	case "kind":
		f.kind = rapid.SampledFrom(kinds).Draw(t, "kind")
		if m := f.kind.Meaning(); m.Class != platforms.StateUnclear {
			f.stored = false // a kind that says so is the platform's word that nothing is there
		}
	case "hang":
		f.hang = true
	case "panic":
		f.panics = true
	case "no id":
		f.noID = true
	case "pending":
		f.pending = true
	case "in time":
		f.kind, f.stored, f.retryIn = platforms.RateLimited, false, 20*time.Minute
	}
	return f
}

// attempts is the limit in this test.
const attempts = 5

// history is one run.
type history struct {
	*world
	platforms map[string]*honest
	texts     map[string]int
	admitted  map[string]bool
	fuse      *fuse
	faults    []string
}

// quick is how many plans daily work tries; -rapid.checks=3000 tries more.
const quick = "50"

func TestWhateverHappensNothingIsTwiceAndNothingIsLost(t *testing.T) {
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set(quick); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		plan := deeds.Draw(rt, "deeds")
		var faults []string
		synctest.Test(t, func(t *testing.T) { faults = live(t, plan) })
		for _, f := range faults {
			rt.Error(f)
		}
	})
}

// live lets a plan happen, then leaves herald alone with platforms that are well,
// and returns what is wrong in the end.
func live(t *testing.T, plan []deed) []string {
	see, blind := newHonest(), newHonest()
	h := &history{
		platforms: map[string]*honest{"seeing": see, "blind": blind}, texts: map[string]int{}, admitted: map[string]bool{},
	}
	h.world = newWorld(t, map[string]platforms.Platform{"seeing": seeing{see}, "blind": blind}, func(c *config.Target) {
		c.Retry = config.Retry{Strategy: config.Exponential, Base: 10 * time.Second, Max: 10 * time.Minute, Jitter: 0.2, Attempts: attempts, GiveUpAfter: 3 * time.Hour}
		c.Review = config.Review{Every: 10 * time.Second, Max: 5 * time.Minute}
		c.Probe = config.Probe{Every: 5 * time.Minute, Max: time.Hour}
	})
	h.wrap = func(s state.Store) state.Store {
		h.fuse = &fuse{Store: s}
		return h.fuse
	}
	h.with(h.options)
	for _, d := range plan {
		h.happen(d)
		h.check()
	}
	for _, p := range h.platforms {
		p.forget()
	}
	for range 48 {
		h.pass(10 * time.Minute)
		if h.check(); len(h.ended()) == 0 {
			break
		}
	}
	h.pass(time.Hour) // and it stays so
	h.check()
	h.faults = append(h.faults, h.ended()...)
	h.halt()
	return h.faults
}

func (h *history) wrong(format string, args ...any) {
	h.faults = append(h.faults, fmt.Sprintf(format, args...))
}

func (h *history) happen(d deed) {
	now := time.Now()
	id := state.ArticleID(d.ID)
	switch d.What {
	case "err":
		h.platforms[d.Target].on(d.Op, d.Fault)
	case "admit":
		h.texts[d.ID]++
		revision := h.texts[d.ID]
		h.admit(d.ID, func(a *article.Article) {
			a.Hash = fmt.Sprint(a.Hash, revision)
			if d.Whole {
				a.Consistency = article.AllOrNothing
			}
		})
		h.admitted[d.ID] = true
	case "pass":
		h.pass(d.Pass)
	case "kill":
		h.fuse.late.Store(d.Pass > 0)
		h.fuse.blown.Store(true)
		h.pass(d.Pass / 10)
		h.with(h.options)
	case "restart":
		h.with(h.options)
	case "retry":
		h.obey(h.driver.Retry(id, "", now))
	case "retry target":
		h.obey(h.driver.RetryTarget(d.Target, now))
	case "resolve":
		h.resolve(d.ID, d.Target, now)
	case "cancel":
		h.obey(h.driver.Cancel(id, d.Target, now))
	case "withdraw":
		h.obey(h.driver.Withdraw(id, "", now))
	case "republish":
		h.obey(h.driver.Republish(id, d.Target, now))
	case "reconcile":
		if _, err := h.driver.Reconcile(72*time.Hour, now); err != nil {
			h.wrong("reconcile: %v", err)
		}
	}
}

// obey demands that a command applies, or says why not.
func (h *history) obey(_ any, err error) {
	if err != nil && !errors.Is(err, compensate.ErrNothing) && !errors.Is(err, state.ErrNotFound) {
		h.wrong("command: %v", err)
	}
}

// resolve is a person who has looked, and says the truth.
func (h *history) resolve(id, target string, now time.Time) {
	d, ok := h.record(id, target)
	if !ok || d.State != state.Uncertain {
		return
	}
	url := ""
	if there := h.platforms[target].find(d.IdempotencyKey(), now); there != "" {
		url = "https://example.com/" + there
	}
	h.obey(h.driver.Resolve(state.ArticleID(id), target, url, now))
}

func (h *history) record(id, target string) (d state.Delivery, ok bool) {
	err := h.store.View(func(r state.Reader) (err error) {
		d, err = r.Delivery(state.Key{Article: state.ArticleID(id), Target: target})
		return err
	})
	return d, err == nil
}

// check is what holds at any moment.
func (h *history) check() {
	for name, p := range h.platforms {
		p.mu.Lock()
		for key, n := range p.creates {
			if n > 1 {
				h.wrong("%s: %d posts under the key %s", name, n, key)
			}
		}
		p.mu.Unlock()
	}
	for id := range h.admitted {
		for _, target := range targets {
			d, ok := h.record(id, target)
			if !ok {
				h.wrong("%s has no delivery on %s", id, target)
				continue
			}
			h.sound(d)
		}
	}
}

// sound checks one record in itself.
func (h *history) sound(d state.Delivery) {
	if d.Spent > attempts {
		h.wrong("%s: %d attempts are spent, the limit is %d", d.Key(), d.Spent, attempts)
	}
	if !d.LastBegun.IsZero() && d.LastBegun.Before(d.Begun) {
		h.wrong("%s: the last attempt began at %s, before the first at %s", d.Key(), d.LastBegun, d.Begun)
	}
	if !d.PublishedAt.IsZero() && d.PublishedAt.Before(d.Begun) {
		h.wrong("%s: published at %s, before it began at %s", d.Key(), d.PublishedAt, d.Begun)
	}
	if !slices.IsSortedFunc(d.History, func(a, b state.Entry) int { return a.At.Compare(b.At) }) {
		h.wrong("%s: its history goes back in time: %+v", d.Key(), d.History)
	}
	from := state.Queued
	for i, e := range d.History {
		if to, err := state.Next(from, e.Verb); i < len(d.History) && len(d.History) < 40 && (err != nil || to != e.State) {
			h.wrong("%s: %s --%s--> %s is no move", d.Key(), from, e.Verb, e.State)
		}
		from = e.State
	}
	if len(d.History) > 0 && from != d.State {
		h.wrong("%s: it is %s, and its history ends with %s", d.Key(), d.State, from)
	}
}

// ended is what holds after hours without trouble: each delivery is final and
// true, or waits for a person and says so.
func (h *history) ended() (faults []string) {
	for id := range h.admitted {
		report := h.report(id)
		for _, r := range report.Deliveries {
			d, _ := h.record(id, r.Target)
			there := h.platforms[r.Target].find(d.IdempotencyKey(), time.Now()) != ""
			switch {
			case r.NeedsPerson(), d.Waits == state.WaitsOthers && report.NeedsPerson():
			case d.State == state.Published && there, d.State == state.Withdrawn && !there, d.State == state.Canceled && !there:
			default:
				faults = append(faults, fmt.Sprintf("%s is %s (post there: %v), and nobody is asked: %+v", d.Key(), d.State, there, d))
			}
		}
	}
	return faults
}
