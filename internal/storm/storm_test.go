package storm

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/control"
	"herald/state"
)

var (
	articles = flag.Int("articles", 25, "articles in the storm")
	seed     = flag.Uint64("seed", 1, "of the storm")
)

// stormSettings stand in for what settings say of waits: they are as short as the
// platforms' lateness allows.
const stormSettings = `data_dir: data
timezone: Asia/Shanghai
http: { listen: "" }
queue: { settle: 10ms }
reconcile: { every: "@every 1s" }
log: { level: warn }
defaults:
  timeout: 500ms
  concurrency: 4
  pace: { every: 0s }
  retry: { strategy: exponential, base: 50ms, max: 500ms }
  lookup: { absent_after: 1s, times: 2 }
  probe: { every: 200ms, max: 400ms }
  breaker: { open_for: 300ms }
targets:
`

// storm is one run.
type storm struct {
	t       *testing.T
	p       *place
	weather []*weather
	random  *rand.Rand
	kills   int
	began   time.Time
}

// B04, B06, B07, B14: four platforms on which a third of all calls go wrong, and
// a daemon that is killed every second or so. In the end no post is there twice,
// none is lost, what is not published has its reason, and every post has its own
// article's text and pictures.
func TestInAStormNothingIsTwiceAndNothingIsLost(t *testing.T) {
	t.Parallel()
	s := &storm{t: t, random: rand.New(rand.NewPCG(*seed, 0)), began: time.Now()}
	config := stormSettings
	for n := 1; n <= 4; n++ {
		w := newWeather(t, n, *seed)
		s.weather = append(s.weather, w)
		config += w.target()
	}
	s.p = newPlace(t)
	s.p.write("herald.yaml", []byte(config))

	s.rage()
	s.calm()
	s.aDayLater()
	s.count()
}

func name(i int) string { return fmt.Sprintf("a%03d", i) }

// rage drops all articles while everything goes wrong, until most deliveries
// have been decided.
func (s *storm) rage() {
	dropped := 0
	for undecided := 1; dropped < *articles || undecided > *articles/10; {
		d := s.p.start()
		for range min(*articles-dropped, max(5, *articles/20)) {
			dropped++
			s.p.drop(name(dropped), "Title of "+name(dropped))
		}
		pause(s.t.Context(), s.random, time.Second)
		d.kill()
		s.kills++
		undecided = s.undecided()
		if time.Since(s.began) > 15*time.Minute {
			s.t.Fatalf("after %s %d deliveries are undecided", time.Since(s.began), undecided)
		}
	}
}

// records reads all deliveries while no daemon runs.
func (s *storm) records() (ds []state.Delivery) {
	s.t.Helper()
	s.p.view(func(r state.Reader) error {
		ids, err := r.Newest(*articles + 1)
		for _, id := range ids {
			of, err := r.Deliveries(id)
			if err != nil {
				return err
			}
			ds = append(ds, of...)
		}
		return err
	})
	return ds
}

// undecided counts the deliveries that herald goes on with by itself, and those
// that are not admitted yet.
func (s *storm) undecided() int {
	n := len(s.weather) * *articles
	for _, d := range s.records() {
		if d.Due.IsZero() && d.State != state.Queued {
			n--
		}
	}
	return n
}

// calm is the end of the storm: a person has what waits tried again, until that
// changes nothing any more.
func (s *storm) calm() {
	for _, w := range s.weather {
		w.clear()
	}
	d := s.p.start()
	s.settled(d)
	for range 5 {
		for _, w := range s.weather {
			err := d.poll(func(ctx context.Context) (bool, error) {
				_, err := s.p.client().Do(ctx, "retry", control.Command{Target: w.name})
				return err == nil || !strings.Contains(err.Error(), "not running"), nil
			})
			if err != nil {
				s.t.Fatal(err)
			}
		}
		s.settled(d)
	}
	d.stop()
}

// settled waits until every delivery is final or waits for a person.
func (s *storm) settled(d *process) {
	s.t.Helper()
	var last string
	err := d.poll(func(ctx context.Context) (bool, error) {
		st, err := s.p.client().Status(ctx, *articles+1, false)
		if err != nil || len(st.Articles) < *articles {
			last = fmt.Sprintf("%d articles, %v", len(st.Articles), err)
			return false, nil
		}
		for _, a := range st.Articles {
			for _, dl := range a.Deliveries {
				if dl.State != state.Published && !dl.NeedsPerson() {
					last = fmt.Sprintf("%s %+v", a.ID, dl)
					return false, nil
				}
			}
		}
		return true, nil
	})
	if err != nil {
		s.t.Fatalf("the deliveries do not settle: %v; %s", err, last)
	}
}

// aDayLater has herald read every post again, as it does a day after publication:
// the records are made a day older, which is the same as to wait.
func (s *storm) aDayLater() {
	store, err := state.Open(s.p.path("data/herald.db"))
	if err != nil {
		s.t.Fatal(err)
	}
	err = store.Update(func(tx state.Tx) error {
		ids, err := tx.Newest(*articles + 1)
		for _, id := range ids {
			ds, err := tx.Deliveries(id)
			if err != nil {
				return err
			}
			for _, d := range ds {
				if d.PublishedAt.IsZero() {
					continue
				}
				d.PublishedAt, d.ObservedAt = d.PublishedAt.Add(-25*time.Hour), time.Time{}
				if err := tx.PutDelivery(d); err != nil {
					return err
				}
			}
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		s.t.Fatal(err)
	}
	for left := 1; left > 0; {
		d := s.p.start()
		pause(s.t.Context(), s.random, 3*time.Second)
		d.stop()
		left = 0
		for _, dl := range s.records() {
			if dl.State == state.Published && dl.ObservedAt.IsZero() {
				left++
			}
		}
	}
}

// sums are what the storm came to.
type sums struct {
	deliveries, once, twice, lost, mixed int
	waiting                              map[string]int // for a person, by the reason
}

// count compares what herald says with what the platforms have.
func (s *storm) count() {
	ds := s.records()
	if want := len(s.weather) * *articles; len(ds) != want {
		s.t.Errorf("there are %d deliveries of %d articles, want %d", len(ds), *articles, want)
	}
	n := sums{deliveries: len(ds), waiting: map[string]int{}}
	for _, w := range s.weather {
		copies := map[state.ArticleID]int{}
		for _, post := range w.server.Posts() {
			copies[state.ArticleID(post.Slug)]++
			if fault := mixed(post.Slug, post.Title, post.Body, w.address); fault != "" {
				n.mixed++
				s.t.Errorf("%s: %s", w.name, fault)
			}
		}
		for _, d := range ds {
			if d.Target == w.name {
				s.judge(&n, d, copies[d.Article])
			}
		}
	}
	s.table(n)
}

// judge counts one delivery, of which a platform has so many copies.
func (s *storm) judge(n *sums, d state.Delivery, copies int) {
	asked := d.Error != nil && d.Due.IsZero() // a person, and told why
	switch {
	case copies > 1:
		n.twice++
		s.t.Errorf("%s has %d copies of %s: %+v", d.Target, copies, d.Article, d.History)
	case asked:
		there := "there"
		if copies == 0 {
			there = "not there"
		}
		n.waiting[fmt.Sprintf("%s; %s: %s", there, d.State, d.Error.Message)]++
	case copies == 1 && d.State == state.Published:
		n.once++
	default:
		n.lost++
		s.t.Errorf("lost, with %d copies: %+v", copies, d)
	}
}

// mixed says what a post has that is not its own article's, or lacks of it.
func mixed(id, title, body, address string) string {
	want := map[string]bool{}
	for name, content := range sources(id, "Title of "+id) {
		if strings.HasSuffix(name, ".png") {
			want[fmt.Sprintf("http://%s/media/%x", address, sha256.Sum256(content))] = true
		}
	}
	var faults []string
	if title != "Title of "+id || !strings.Contains(body, "Text of "+id+".") || strings.Count(body, "Text of ") != 1 {
		faults = append(faults, "it has another article's text: "+title+": "+body)
	}
	for url := range want {
		if !strings.Contains(body, url) {
			faults = append(faults, "it lacks its picture "+url)
		}
	}
	if n := strings.Count(body, "/media/"); n != len(want) {
		faults = append(faults, fmt.Sprintf("it has %d pictures, want %d", n, len(want)))
	}
	if faults == nil {
		return ""
	}
	return id + ": " + strings.Join(faults, "; ")
}

// table prints the results as they stand in docs/RELIABILITY.md.
func (s *storm) table(n sums) {
	var b strings.Builder
	row := func(what string, n any) { fmt.Fprintf(&b, "| %s | %v |\n", what, n) }
	calls, struck := 0, map[string]int{}
	for _, w := range s.weather {
		calls += w.calls
		for way, n := range w.struck {
			struck[way] += n
		}
	}
	row("articles × platforms = deliveries", fmt.Sprintf("%d × %d = %d", *articles, len(s.weather), n.deliveries))
	row("calls that the platforms got", calls)
	for _, way := range slices.Sorted(maps.Keys(struck)) {
		row("… that went wrong: "+way, struck[way])
	}
	row("SIGKILLs of the daemon", s.kills)
	row("**published, once**", n.once)
	row("**published twice**", n.twice)
	row("**lost**", n.lost)
	row("**with another article's text or picture**", n.mixed)
	for _, why := range slices.Sorted(maps.Keys(n.waiting)) {
		row("a person is asked ("+why+")", n.waiting[why])
	}
	row("took", time.Since(s.began).Round(time.Second))
	s.t.Logf("seed %d\n%s", *seed, &b)
}
