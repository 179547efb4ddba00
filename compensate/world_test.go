package compensate_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"herald/article"
	"herald/compensate"
	"herald/internal/config"
	"herald/platforms"
	"herald/publisher"
	"herald/scheduler"
	"herald/state"
)

// base is a platform in memory with a script: each call takes the next fault of
// its operation, or succeeds. A fault may store the post first.
type base struct {
	mu     sync.Mutex
	posts  []post
	script map[string][]fault
	calls  map[string]int
	times  []time.Time // of the publish calls
	hidden bool        // look-ups do not see the posts (yet)
	render error
}

type post struct {
	id, key, title string
	revision       int
	changed        string // by the owner
}

// fault is one scripted answer.
type fault struct {
	stored  bool // it took effect before it failed
	kind    platforms.Kind
	code    string
	retryIn time.Duration
	pending bool // not a fault: accepted, under review
	noID    bool // not a fault: accepted without an id
	hang    bool // until the context ends
	panics  bool
}

func (b *base) on(op string, faults ...fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.script == nil {
		b.script = map[string][]fault{}
	}
	b.script[op] = append(b.script[op], faults...)
}

// forget drops what is left of the script.
func (b *base) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.script = nil
}

func (b *base) next(op string) fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls == nil {
		b.calls = map[string]int{}
	}
	b.calls[op]++
	if len(b.script[op]) == 0 {
		return fault{}
	}
	f := b.script[op][0]
	b.script[op] = b.script[op][1:]
	return f
}

func (b *base) count(op string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls[op]
}

func (b *base) stored() []post {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.posts)
}

func (f fault) err(ctx context.Context) error {
	if f.panics {
		panic("scripted")
	}
	if f.hang {
		<-ctx.Done()
		return &platforms.Error{Platform: "fake", Kind: platforms.Uncertain, Message: "no answer", Err: context.Cause(ctx)}
	}
	if f.kind == "" {
		return nil
	}
	e := &platforms.Error{Platform: "fake", Op: "call", Kind: f.kind, Code: f.code, Message: "scripted"}
	if f.retryIn > 0 {
		e.RetryAt = time.Now().Add(f.retryIn)
	}
	return e
}

func (b *base) Render(a *article.Article) (platforms.Post, error) {
	return platforms.Post{Slug: a.ID, Title: a.Title, Body: a.Body}, b.render
}

func (b *base) Publish(ctx context.Context, p platforms.Post, _ platforms.Memo) (platforms.Receipt, error) {
	f := b.next("publish")
	b.mu.Lock()
	b.times = append(b.times, time.Now())
	id := ""
	if f.stored || (f.kind == "" && !f.hang && !f.panics) {
		id = fmt.Sprintf("p%d", len(b.posts)+1)
		b.posts = append(b.posts, post{id: id, key: p.Key, title: p.Title, revision: p.Revision})
	}
	b.mu.Unlock()
	if err := f.err(ctx); err != nil {
		return platforms.Receipt{}, err
	}
	if f.noID {
		return platforms.Receipt{}, nil
	}
	return platforms.Receipt{ID: id, URL: "https://example.com/" + id, Pending: f.pending}, nil
}

// whole has every ability.
type whole struct{ *base }

func (w whole) Find(ctx context.Context, p platforms.Post, _ time.Time, _ platforms.Memo) (platforms.Found, error) {
	f := w.next("find")
	if err := f.err(ctx); err != nil {
		return platforms.Found{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var found platforms.Found
	for _, q := range w.posts {
		if q.key == p.Key && !w.hidden {
			r := platforms.Receipt{ID: q.id, URL: "https://example.com/" + q.id}
			if found.Outcome == platforms.Present {
				found.Twins = append(found.Twins, r)
				continue
			}
			found = platforms.Found{Outcome: platforms.Present, Receipt: r, Changed: q.changed}
		}
	}
	return found, nil
}

func (w whole) Review(ctx context.Context, r platforms.Receipt) (platforms.Receipt, error) {
	f := w.next("review")
	r.Pending = f.pending
	return r, f.err(ctx)
}

func (w whole) Update(ctx context.Context, p platforms.Post, r platforms.Receipt, _ platforms.Memo) (platforms.Receipt, error) {
	f := w.next("update")
	if err := f.err(ctx); err != nil {
		return r, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.posts {
		if w.posts[i].id == r.ID {
			w.posts[i].title, w.posts[i].revision = p.Title, p.Revision
		}
	}
	return r, nil
}

func (w whole) Withdraw(ctx context.Context, r platforms.Receipt) error {
	f := w.next("withdraw")
	if err := f.err(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.posts = slices.DeleteFunc(w.posts, func(q post) bool { return q.id == r.ID })
	return nil
}

func (w whole) Probe(ctx context.Context) error { return w.next("probe").err(ctx) }

// world is a herald on a temporary directory: real store, publisher, policy and
// lanes. It lives inside a synctest bubble, so hours pass in no time.
type world struct {
	t         *testing.T
	path      string
	platforms map[string]platforms.Platform
	configs   []config.Target
	sources   sync.Map           // "id/revision" → *article.Article
	options   compensate.Options // notify, check, room, moved
	wrap      func(state.Store) state.Store

	store   *state.Bolt
	driver  *compensate.Driver
	lanes   *scheduler.Lanes
	targets []*publisher.Target
	stop    context.CancelFunc
	ended   chan struct{}
}

// Read is what the stored sources would give.
func (w *world) Read(a state.Article, revision int) (*article.Article, error) {
	src, ok := w.sources.Load(fmt.Sprintf("%s/%d", a.ID, revision))
	if !ok {
		return nil, fmt.Errorf("no source of %s, revision %d", a.ID, revision)
	}
	return src.(*article.Article), nil
}

func settings(name string) config.Target {
	return config.Target{
		Name: name, Type: "fake", Enabled: true, Timeout: 30 * time.Second, Concurrency: 1,
		Retry:   config.Retry{Strategy: config.Exponential, Base: 10 * time.Minute, Max: 6 * time.Hour, Attempts: 20, GiveUpAfter: 72 * time.Hour},
		Lookup:  config.Lookup{AbsentAfter: time.Minute, Times: 2},
		Review:  config.Review{Every: 10 * time.Second, Max: 30 * time.Minute},
		Probe:   config.Probe{Every: 15 * time.Minute, Max: 6 * time.Hour},
		Breaker: config.Breaker{Consecutive: 5, FailureRatio: 0.5, Window: time.Minute, MinCalls: 10, OpenFor: time.Minute, Probes: 1},
	}
}

// newWorld starts a herald with one target for each platform.
func newWorld(t *testing.T, ps map[string]platforms.Platform, adjust ...func(*config.Target)) *world {
	w := &world{t: t, path: filepath.Join(t.TempDir(), "herald.db"), platforms: ps}
	var names []string
	for name := range ps {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		c := settings(name)
		for _, f := range adjust {
			f(&c)
		}
		w.configs = append(w.configs, c)
	}
	w.start()
	t.Cleanup(w.halt)
	return w
}

func (w *world) start() {
	w.t.Helper()
	var err error
	if w.store, err = state.Open(w.path); err != nil {
		w.t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	var specs []publisher.Spec
	for _, c := range w.configs {
		specs = append(specs, publisher.Spec{Config: c, Platform: w.platforms[c.Name]})
	}
	w.targets = publisher.New(specs, log)
	w.lanes = scheduler.NewLanes(w.targets, log)
	o := w.options
	o.Store, o.Targets, o.Sources, o.Log, o.Wake = w.store, w.targets, w, log, w.lanes.Wake
	if w.wrap != nil {
		o.Store = w.wrap(w.store)
	}
	w.driver = compensate.New(o)
	if _, err := w.driver.Recover(time.Now()); err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	w.stop, w.ended = stop, make(chan struct{})
	go func() {
		defer close(w.ended)
		w.lanes.Run(ctx, w.driver, 25*time.Second)
	}()
}

func (w *world) halt() {
	if w.stop == nil {
		return
	}
	w.stop()
	<-w.ended
	if err := w.store.Close(); err != nil {
		w.t.Error(err)
	}
	w.stop = nil
}

// admit drops an article.
func (w *world) admit(id string, change ...func(*article.Article)) compensate.Admission {
	w.t.Helper()
	src := &article.Article{ID: id, Title: "标题 " + id, Body: "正文\n", Hash: id + "-1", Fingerprint: id}
	for _, f := range change {
		f(src)
	}
	revision, _, err := w.driver.Revision(src)
	if err != nil {
		w.t.Fatal(err)
	}
	w.sources.Store(fmt.Sprintf("%s/%d", id, revision), src)
	adm, err := w.driver.Admit(src, fmt.Sprintf(".done/%s/r%d/index.md", id, revision), nil, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return adm
}

// with restarts the herald with other options.
func (w *world) with(o compensate.Options) {
	w.halt()
	w.options = o
	w.start()
}

// told returns the notices that wait, as "event target: message".
func (w *world) told() (all []string) {
	w.t.Helper()
	err := w.store.View(func(r state.Reader) error {
		ns, err := r.Notices(1000)
		for _, n := range ns {
			all = append(all, fmt.Sprintf("%s %s%s", n.Event, n.Target, n.Article))
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// pass lets time pass.
func (w *world) pass(d time.Duration) { <-time.After(d) }

func (w *world) delivery(id, target string) state.Delivery {
	w.t.Helper()
	var d state.Delivery
	err := w.store.View(func(r state.Reader) (err error) {
		d, err = r.Delivery(state.Key{Article: state.ArticleID(id), Target: target})
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *world) report(id string) state.Report {
	w.t.Helper()
	rep, err := w.driver.Report(state.ArticleID(id), time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return rep
}

// is checks where a delivery stands.
func (w *world) is(id, target string, want state.State) state.Delivery {
	w.t.Helper()
	d := w.delivery(id, target)
	if d.State != want {
		w.t.Fatalf("%s on %s: got %s (%+v), want %s", id, target, d.State, d.Error, want)
	}
	return d
}
