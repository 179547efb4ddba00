package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
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

	"github.com/go-resty/resty/v2"

	"herald/article"
	"herald/compensate"
	"herald/internal/config"
	"herald/internal/httpx"
	"herald/platforms"
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

// ready is the smallest adapter: one POST, of a body that needs no rendering. What
// that costs is measured with package article; here a delivery is two commits,
// the intent and the outcome, and a call between them.
type ready struct{ http *httpx.Client }

func (ready) Render(a *article.Article) (platforms.Post, error) {
	return platforms.Post{Slug: a.ID, Title: a.Title, ContentType: "text/markdown", Body: a.Body}, nil
}

func (r ready) Publish(ctx context.Context, p platforms.Post, _ platforms.Memo) (platforms.Receipt, error) {
	reply, err := r.http.Do(ctx, httpx.Write, "publish", http.MethodPost, "/posts", func(r *resty.Request) {
		r.SetHeader("Content-Type", p.ContentType).SetBody([]byte(p.Body))
	})
	if err != nil {
		return platforms.Receipt{}, err
	}
	if err := reply.Err(); err != nil {
		return platforms.Receipt{}, err
	}
	var made platforms.Receipt
	return made, reply.JSON(&made)
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
		client := httpx.New(httpx.Options{Platform: c.Type, BaseURL: []string{urls[i]}, Log: log})
		specs = append(specs, publisher.Spec{Config: c, Platform: ready{client}})
	}
	targets := publisher.New(specs, log)
	p := &pipeline{store: store, lanes: scheduler.NewLanes(targets, log)}
	p.driver = compensate.New(compensate.Options{Store: store, Targets: targets, Sources: memory{body}, Log: log, Wake: p.lanes.Wake})
	return p, nil
}

func target(name string, concurrency int) config.Target {
	return config.Target{
		Name: name, Type: "bench", Enabled: true, Timeout: 30 * time.Second, Concurrency: concurrency,
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
					d := state.Delivery{Article: id, Target: t, Type: "bench", State: state.Queued, Generation: 1, Revision: 1, Since: now, Due: now.Add(time.Duration(i))}
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
		{0, 4, 4000, 0.33 * 0.8},
		{0, 64, 16000, 1.7 * 0.8},
		{50 * time.Millisecond, 1, 40, 0},
		{50 * time.Millisecond, 4, 200, 0.85 * 0.8},
		{50 * time.Millisecond, 64, 3000, 0.85 * 0.8},
	} {
		var tries []result
		for range rounds {
			x, err := r.try(ctx, c.delay, c.concurrency, c.n)
			if err != nil {
				return err
			}
			x.line = c.line
			tries = append(tries, x)
		}
		slices.SortFunc(tries, func(a, b result) int { return cmp.Compare(a.ratio, b.ratio) })
		r.add(tries[rounds/2])
	}
	return nil
}

// rounds is how often a noisy measurement is made; the median counts.
const rounds = 3

// try is one measurement of deliveries.
func (r *run) try(ctx context.Context, delay time.Duration, concurrency, n int) (x result, err error) {
	var took []time.Duration
	var rate float64
	measure := func() (err error) {
		took, rate, err = r.deliver(ctx, delay, concurrency, n)
		return err
	}
	of := float64(concurrency) / delay.Seconds()
	x.of = "concurrency / latency"
	if delay == 0 {
		x.of = "fdatasync"
		of, err = r.beside(measure)
	} else {
		err = measure()
	}
	x.what = fmt.Sprintf("deliveries, platform answers in %d ms, %d at a time", delay.Milliseconds(), concurrency)
	x.value = fmt.Sprintf("%.0f/s, p50 %s, p99 %s", rate, percentile(took, 50), percentile(took, 99))
	x.ratio = rate / of
	return x, err
}

// deliver publishes n articles on a platform that answers after delay.
func (r *run) deliver(ctx context.Context, delay time.Duration, concurrency, n int) ([]time.Duration, float64, error) {
	url, stop, err := platform(ctx, delay)
	if err != nil {
		return nil, 0, err
	}
	defer stop()
	path := filepath.Join(r.dir, fmt.Sprintf("deliveries-%s-%d.db", delay, concurrency))
	defer os.Remove(path)
	p, err := newPipeline(path, []config.Target{target("t", concurrency)}, []string{url})
	if err != nil {
		return nil, 0, err
	}
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
// and without it alternate, since the machine changes with time, and the quietest
// of each kind counts.
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
	var with, without []time.Duration // the p99 of each run
	for i := range 16 {
		configs, urls := []config.Target{target("a", 2), target("b", 2)}, []string{well, well}
		if i%2 == 1 {
			configs, urls = append(configs, target("hanging", 2)), append(urls, hanging)
		}
		path := filepath.Join(r.dir, fmt.Sprintf("isolation%d.db", i))
		p, err := newPipeline(path, configs, urls)
		if err != nil {
			return err
		}
		const n = 1000
		if err := p.prepare(n, "a", "b", "hanging"); err != nil {
			return err
		}
		took, _, err := p.work(ctx, map[string]int{"a": n, "b": n})
		if err != nil {
			return err
		}
		p99 := percentile(append(took["a"], took["b"]...), 99)
		if i%2 == 1 {
			with = append(with, p99)
		} else {
			without = append(without, p99)
		}
		if err := errors.Join(p.store.Close(), os.Remove(path)); err != nil {
			return err
		}
	}
	a, b := slices.Min(without), slices.Min(with)
	r.add(result{
		what: "p99 of the others beside a hanging target", value: fmt.Sprintf("%s, without it %s", b, a),
		ratio: float64(b) / float64(a), of: "without it", line: 1.05, atMost: true,
	})
	return nil
}
