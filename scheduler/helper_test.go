package scheduler

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"herald/article"
	"herald/compensate"
	"herald/internal/config"
	"herald/platforms"
	"herald/publisher"
	"herald/state"
)

// account is a platform in memory that can update a post.
type account struct {
	mu    sync.Mutex
	posts []platforms.Post
	began []time.Time
}

func (a *account) Render(src *article.Article) (platforms.Post, error) {
	return platforms.Post{Slug: src.ID, Title: src.Title, Body: src.Body, Images: src.Images, Date: src.Date}, nil
}

func (a *account) Publish(_ context.Context, p platforms.Post, _ platforms.Memo) (platforms.Receipt, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.posts, a.began = append(a.posts, p), append(a.began, time.Now())
	return platforms.Receipt{ID: p.Key}, nil
}

func (a *account) Update(_ context.Context, p platforms.Post, r platforms.Receipt, _ platforms.Memo) (platforms.Receipt, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.posts = append(a.posts, p)
	return r, nil
}

// bodies are the texts that reached the account, in order.
func (a *account) bodies() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var bs []string
	for _, p := range a.posts {
		bs = append(bs, strings.TrimSpace(p.Body))
	}
	return bs
}

// settings are those of a target without pace.
func settings(name string) config.Target {
	return config.Target{
		Name: name, Type: "memory", Enabled: true, Timeout: 30 * time.Second, Concurrency: 1,
		Retry:   config.Retry{Strategy: config.Exponential, Base: 10 * time.Minute, Max: 6 * time.Hour, Attempts: 20},
		Lookup:  config.Lookup{AbsentAfter: time.Minute, Times: 2},
		Probe:   config.Probe{Every: 15 * time.Minute, Max: 6 * time.Hour},
		Breaker: config.Breaker{Consecutive: 5, Window: time.Minute, OpenFor: time.Minute, Probes: 1},
	}
}

// rig is a queue folder with a real store and a real driver behind it, on a clock
// that the test moves.
type rig struct {
	*testing.T
	dir      string
	now      time.Time
	options  QueueOptions
	queue    *Queue
	store    *state.Bolt
	driver   *compensate.Driver
	targets  []*publisher.Target
	accounts map[string]*account
	log      *logBuffer
	admit    Admitter
	renamed  map[string]bool
}

// newRig makes a rig; change alters it before the queue is made.
func newRig(t *testing.T, change ...func(*rig)) *rig {
	t.Helper()
	base := t.TempDir()
	r := &rig{
		T: t, dir: filepath.Join(base, "queue"), now: time.Now(), log: &logBuffer{}, renamed: map[string]bool{},
		accounts: map[string]*account{"blog": {}, "weibo": {}},
	}
	r.options = QueueOptions{Dir: r.dir, Settle: 2 * time.Second, Location: time.UTC, Targets: []string{"blog", "weibo", "off"}}
	for _, c := range change {
		c(r)
	}
	r.options.Dir = r.dir
	store, err := state.Open(filepath.Join(base, "herald.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	r.store = store
	var specs []publisher.Spec
	for _, name := range []string{"blog", "weibo"} {
		specs = append(specs, publisher.Spec{Config: settings(name), Platform: r.accounts[name]})
	}
	log := slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r.targets = publisher.New(specs, log)
	r.driver = compensate.New(compensate.Options{Store: store, Targets: r.targets, Sources: NewSources(r.dir, r.options.Location), Log: log})
	r.around(&admitter{})
	return r
}

// restart makes the queue anew, as a daemon that starts does.
func (r *rig) restart() {
	r.Helper()
	q, err := NewQueue(r.options, r.admit, slog.New(slog.NewTextHandler(r.log, nil)))
	if err != nil {
		r.Fatal(err)
	}
	r.queue = q
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

// put writes files, by path in the queue, making their folders.
func (r *rig) put(files map[string]string) {
	r.Helper()
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(r.path(name)), 0o755); err != nil {
			r.Fatal(err)
		}
		if err := os.WriteFile(r.path(name), []byte(content), 0o644); err != nil {
			r.Fatal(err)
		}
	}
}

func (r *rig) drop(name, text string) { r.Helper(); r.put(map[string]string{name: text}) }

// dropNow writes a file whose times are those of the test's clock.
func (r *rig) dropNow(name, content string) {
	r.Helper()
	r.drop(name, content)
	r.must(os.Chtimes(r.path(name), r.now, r.now))
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// look looks once, after d.
func (r *rig) look(d time.Duration) time.Time {
	r.now = r.now.Add(d)
	return r.queue.Look(r.now, func(name string) bool { return r.renamed[name] })
}

// settle looks until the entries have had their time, and that of one more look
// for pictures.
func (r *rig) settle() {
	r.look(0)
	r.look(r.options.Settle)
	r.look(r.options.Settle)
}

// article returns a record, or fails.
func (r *rig) article(id string) (a state.Article) {
	r.Helper()
	r.must(r.store.View(func(s state.Reader) (err error) {
		a, err = s.Article(state.ArticleID(id))
		return err
	}))
	return a
}

func (r *rig) delivery(id, target string) (d state.Delivery) {
	r.Helper()
	r.must(r.store.View(func(s state.Reader) (err error) {
		d, err = s.Delivery(state.Key{Article: state.ArticleID(id), Target: target})
		return err
	}))
	return d
}

// articles are the ids of everything admitted, sorted.
func (r *rig) articles() []string {
	r.Helper()
	var ids []string
	r.must(r.store.View(func(s state.Reader) error {
		found, err := s.Newest(1000)
		for _, id := range found {
			ids = append(ids, string(id))
		}
		return err
	}))
	slices.Sort(ids)
	return ids
}

func (r *rig) wantArticles(ids ...string) {
	r.Helper()
	if diff := cmp.Diff(ids, r.articles()); diff != "" {
		r.Errorf("admitted articles (-want +got):\n%s\n%s", diff, r.log)
	}
}

// publish makes every step that is due.
func (r *rig) publish() {
	r.Helper()
	for _, target := range []string{"blog", "weibo"} {
		for again := true; again; {
			work, err := r.driver.Work(target, time.Now(), 100)
			r.must(err)
			for _, k := range work.Keys {
				_, err := r.driver.Step(context.Background(), k)
				r.must(err)
			}
			again = len(work.Keys) > 0
		}
	}
}

// files are all files in the queue folder, by path, with the markers of those
// that are none.
func (r *rig) files() map[string]string {
	r.Helper()
	found := map[string]string{}
	r.must(filepath.WalkDir(r.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(r.dir, p)
		if err != nil {
			return err
		}
		if !d.Type().IsRegular() {
			found[rel] = d.Type().String()
			return nil
		}
		content, err := os.ReadFile(p)
		found[rel] = string(content)
		return err
	}))
	return found
}

// wantFiles checks the names of all files in the queue folder.
func (r *rig) wantFiles(names ...string) {
	r.Helper()
	var got []string
	for name := range r.files() {
		got = append(got, name)
	}
	slices.Sort(got)
	slices.Sort(names)
	if diff := cmp.Diff(names, got); diff != "" {
		r.Errorf("files in the queue (-want +got):\n%s\n%s", diff, r.log)
	}
}

// reason returns the text beside a refused entry, or fails.
func (r *rig) reason(name string) string {
	r.Helper()
	text, err := os.ReadFile(r.path(".bad/" + name + ".reason.txt"))
	if err != nil {
		r.Fatalf("%v\n%s", err, r.log)
	}
	return string(text)
}

// text is a valid article.
func text(title, body string) string { return "---\ntitle: " + title + "\n---\n\n" + body + "\n" }

// picture returns a PNG; each shade has other bytes.
func picture(shade uint8) string {
	img := image.NewGray(image.Rect(0, 0, 1, 1))
	img.SetGray(0, 0, color.Gray{shade})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.String()
}

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// admitter is a driver with something happening around its calls. It admits by the
// real clock, which the driver's steps go by, and not by that of the test.
type admitter struct {
	Admitter
	beforeRevision func(*article.Article)
	admit          func(src *article.Article, admit func() (compensate.Admission, error)) (compensate.Admission, error)
}

func (a *admitter) Revision(src *article.Article) (int, bool, error) {
	if a.beforeRevision != nil {
		a.beforeRevision(src)
	}
	return a.Admitter.Revision(src)
}

func (a *admitter) Admit(src *article.Article, source string, quality *state.Quality, _ time.Time) (compensate.Admission, error) {
	admit := func() (compensate.Admission, error) { return a.Admitter.Admit(src, source, quality, time.Now()) }
	if a.admit == nil {
		return admit()
	}
	return a.admit(src, admit)
}

var errCrash = errors.New("the daemon ended here")

// around puts an admitter between queue and driver.
func (r *rig) around(a *admitter) {
	a.Admitter = r.driver
	r.admit = a
	r.restart()
}
