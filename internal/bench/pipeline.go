package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"herald/article"
	"herald/compensate"
	"herald/internal/config"
	"herald/platforms"
	"herald/platforms/platformtest"
	"herald/publisher"
	"herald/scheduler"
	"herald/state"
)

// servePlatform is the platform in a process of its own: it takes a post of 10 KB
// and answers with an id after delay.
func servePlatform(delay time.Duration) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("http://" + l.Addr().String())
	var n atomic.Int64
	_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if delay > 0 {
			select {
			case <-time.After(delay):
			case <-r.Context().Done():
				return
			}
		}
		id := strconv.FormatInt(n.Add(1), 10)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]string{"id": id, "url": "https://example.com/" + id})
	}))
}

// platform starts that process and returns its address.
func platform(ctx context.Context, delay time.Duration) (url string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-serve", delay.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	return strings.TrimSpace(line), func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }, err
}

// memory gives every article one body of 10 KB, as a cache of parsed sources
// would.
type memory struct{ body string }

func (m memory) Read(a state.Article, _ int) (*article.Article, error) {
	return &article.Article{ID: string(a.ID), Title: a.Title, Body: m.body}, nil
}

var body = strings.Repeat("错误不是例外，而是常态。", 10<<10/36)

// ready is the loopback adapter with posts that need no rendering: what Markdown
// costs is measured with package article.
type ready struct{ *platformtest.Loopback }

func (ready) Render(a *article.Article) (platforms.Post, error) {
	return platforms.Post{Slug: a.ID, Title: a.Title, ContentType: "text/markdown", Body: a.Body}, nil
}

// pipeline is a whole herald without its queue folder.
type pipeline struct {
	store  *state.Bolt
	driver *compensate.Driver
	lanes  *scheduler.Lanes
}

func newPipeline(path string, configs []config.Target, urls []string) (*pipeline, error) {
	store, err := state.Open(path)
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.DiscardHandler)
	var specs []publisher.Spec
	for i, c := range configs {
		p, err := platformtest.NewLoopback(platformtest.LoopbackConfig{BaseURL: urls[i], Token: platforms.Secret(c.Name)}, platforms.Env{Target: c.Name, Log: log})
		if err != nil {
			return nil, err
		}
		specs = append(specs, publisher.Spec{Config: c, Platform: ready{p}})
	}
	targets := publisher.New(specs, log)
	p := &pipeline{store: store, lanes: scheduler.NewLanes(targets, log)}
	p.driver = compensate.New(compensate.Options{Store: store, Targets: targets, Sources: memory{body}, Log: log, Wake: p.lanes.Wake})
	return p, nil
}

func target(name string, concurrency int) config.Target {
	return config.Target{
		Name: name, Type: "loopback", Enabled: true, Timeout: 30 * time.Second, Concurrency: concurrency,
		Retry:   config.Retry{Strategy: config.Exponential, Base: time.Minute, Max: time.Hour, Attempts: 20, GiveUpAfter: 72 * time.Hour},
		Lookup:  config.Lookup{AbsentAfter: time.Minute, Times: 2},
		Review:  config.Review{Every: 10 * time.Second, Max: time.Minute},
		Probe:   config.Probe{Every: time.Minute, Max: time.Hour},
		Breaker: config.Breaker{Consecutive: 5, FailureRatio: 0.5, Window: time.Minute, MinCalls: 10, OpenFor: time.Minute, Probes: 1},
	}
}

// prepare admits n articles in few transactions, as if they had been dropped.
func (p *pipeline) prepare(n int, targets ...string) error {
	const group = 2000
	now := time.Now()
	for from := 0; from < n; from += group {
		err := p.store.Update(func(tx state.Tx) error {
			for i := from; i < min(from+group, n); i++ {
				id := state.ArticleID(fmt.Sprintf("a%06d", i))
				a := state.Article{ID: id, Title: "标题 " + string(id), Revision: 1, Fingerprint: string(id), Sources: []string{"x"}, AcceptedAt: now, Targets: targets}
				if err := tx.PutArticle(a); err != nil {
					return err
				}
				for _, t := range targets {
					d := state.Delivery{Article: id, Target: t, Type: "loopback", State: state.Queued, Generation: 1, Revision: 1, Since: now, Due: now.Add(time.Duration(i))}
					if err := tx.PutDelivery(d); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// timed makes steps and remembers how long each took.
type timed struct {
	*compensate.Driver
	mu    sync.Mutex
	took  map[string][]time.Duration
	left  map[string]int
	done  chan struct{}
	empty sync.Once
}

func (t *timed) Step(ctx context.Context, k state.Key) (compensate.Next, error) {
	began := time.Now()
	next, err := t.Driver.Step(ctx, k)
	if err == nil && next.Done {
		t.mu.Lock()
		t.took[k.Target] = append(t.took[k.Target], time.Since(began))
		t.left[k.Target]--
		over := true
		for _, n := range t.left {
			over = over && n <= 0
		}
		t.mu.Unlock()
		if over {
			t.empty.Do(func() { close(t.done) })
		}
	}
	return next, err
}

// work lets the lanes run until every target in left has made its deliveries.
func (p *pipeline) work(ctx context.Context, left map[string]int) (took map[string][]time.Duration, whole time.Duration, err error) {
	t := &timed{Driver: p.driver, took: map[string][]time.Duration{}, left: left, done: make(chan struct{})}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	began := time.Now()
	go func() {
		defer close(ended)
		p.lanes.Run(ctx, t, 0)
	}()
	select {
	case <-t.done:
	case <-time.After(5 * time.Minute):
		err = fmt.Errorf("deliveries did not end: %v left", left)
	}
	whole = time.Since(began)
	stop()
	<-ended
	return t.took, whole, err
}

// deliveries measures the whole: due index, permit, intent, POST, policy, outcome.
func (r *run) deliveries(ctx context.Context) error {
	for _, c := range []struct {
		delay       time.Duration
		concurrency int
		n           int
		line        float64
	}{
		{0, 1, 800, 0},
		{0, 4, 2000, 0.33 * 0.8},
		{0, 64, 8000, 1.7 * 0.8},
		{50 * time.Millisecond, 1, 40, 0},
		{50 * time.Millisecond, 4, 200, 0.85 * 0.8},
		{50 * time.Millisecond, 64, 3000, 0.85 * 0.8},
	} {
		url, stop, err := platform(ctx, c.delay)
		if err != nil {
			return err
		}
		path := filepath.Join(r.dir, fmt.Sprintf("deliveries-%s-%d.db", c.delay, c.concurrency))
		took, rate, err := r.deliver(ctx, path, url, c.concurrency, c.n)
		stop()
		if err != nil {
			return err
		}
		x := result{
			what:  fmt.Sprintf("deliveries, platform answers in %d ms, %d at a time", c.delay.Milliseconds(), c.concurrency),
			value: fmt.Sprintf("%.0f/s, p50 %s, p99 %s", rate, percentile(took, 50), percentile(took, 99)),
			ratio: rate / r.fsync, of: "fdatasync", line: c.line,
		}
		if c.delay > 0 {
			x.ratio, x.of = rate/(float64(c.concurrency)/c.delay.Seconds()), "concurrency / latency"
		}
		r.add(x)
	}
	return nil
}

func (r *run) deliver(ctx context.Context, path, url string, concurrency, n int) ([]time.Duration, float64, error) {
	p, err := newPipeline(path, []config.Target{target("t", concurrency)}, []string{url})
	if err != nil {
		return nil, 0, err
	}
	defer os.Remove(path)
	if err := p.prepare(n, "t"); err != nil {
		return nil, 0, err
	}
	took, whole, err := p.work(ctx, map[string]int{"t": n})
	if err != nil {
		return nil, 0, err
	}
	return took["t"], perSecond(n, whole), p.store.Close()
}

func percentile(all []time.Duration, p int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)].Round(10 * time.Microsecond)
}

// isolation measures what one hanging target does to the others. The runs with
// and without it alternate, since the machine changes with time.
func (r *run) isolation(ctx context.Context) error {
	well, stopWell, err := platform(ctx, 5*time.Millisecond)
	if err != nil {
		return err
	}
	defer stopWell()
	hanging, stopHanging, err := platform(ctx, time.Hour)
	if err != nil {
		return err
	}
	defer stopHanging()
	var with, without []time.Duration
	for i := range 6 {
		configs, urls := []config.Target{target("a", 2), target("b", 2)}, []string{well, well}
		names := []string{"a", "b"}
		if i%2 == 1 {
			configs, urls, names = append(configs, target("hanging", 2)), append(urls, hanging), append(names, "hanging")
		}
		path := filepath.Join(r.dir, fmt.Sprintf("isolation%d.db", i))
		p, err := newPipeline(path, configs, urls)
		if err != nil {
			return err
		}
		const n = 600
		if err := p.prepare(n, names...); err != nil {
			return err
		}
		took, _, err := p.work(ctx, map[string]int{"a": n, "b": n})
		if err != nil {
			return err
		}
		both := append(took["a"], took["b"]...)
		if i%2 == 1 {
			with = append(with, both...)
		} else {
			without = append(without, both...)
		}
		if err := p.store.Close(); err != nil {
			return err
		}
	}
	a, b := percentile(without, 99), percentile(with, 99)
	r.add(result{
		what: "p99 of the others beside a hanging target", value: fmt.Sprintf("%s, without it %s", b, a),
		ratio: float64(b) / float64(a), of: "without it", line: 1.05, atMost: true,
	})
	return nil
}
