// Package platformtest is the suite that every adapter must pass. It plays the
// delivery's part against a real or simulated platform (publish, look up,
// resume, update, withdraw), breaks every single call of it in turn, and counts
// the posts that are there in the end: exactly one.
//
// It knows no adapter and no platform. What a platform's codes mean and how its
// posts look is tested beside the adapter; whether the adapter keeps herald's
// promises (never twice, never lost, no secret told) is tested here.
package platformtest

import (
	"bytes"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"herald/article"
	"herald/platforms"
)

// Case describes an adapter to the suite.
type Case struct {
	// Type is the target type that every error must name, "wechat".
	Type string
	// New makes a fresh and empty world. What it starts it stops by t.Cleanup.
	New func(t testing.TB) *World
	// Articles replaces the built-in [Samples] where a platform takes only
	// articles of some other shape.
	Articles func(t testing.TB) Articles
	// TooLong is over one of the platform's limits; nil if there is none.
	TooLong *article.Article
	// Codes is the adapter's table. Each code is provoked by World.Answer.
	Codes platforms.Codes
	// Unlisted is a code that the platform could send and the table lacks;
	// empty if the adapter has no table.
	Unlisted string
	// Secrets are the credentials that the world was opened with.
	Secrets []string
	// Repeats says that a second Publish after a success makes a second post,
	// because the platform offers nothing against it.
	Repeats bool
}

// World is one platform with nothing on it, and the ways to look at it that do
// not lead through the adapter.
type World struct {
	// Open makes an adapter on this world. It is called again for a restart:
	// with the same Env, while the world keeps what it has.
	Open func(env platforms.Env) (platforms.Platform, error)
	// Posts returns everything that a reader sees of each post, title and body,
	// read from the platform itself.
	Posts func() []string
	// Transport is the network that leads to the world. The suite puts faults
	// into it and hands it to the adapter as Env.Transport.
	Transport http.RoundTripper
	// Faults breaks the calls of an adapter that uses no Transport.
	Faults Faults
	// Answer makes the platform give code as its answer to whichever call can
	// meet it. Nil if the adapter has no table.
	Answer func(code string)
	// Uploads counts the media on the platform; nil if there are none.
	Uploads func() int
}

// Run checks an adapter. Each promise is a subtest; what the adapter cannot do
// (no Finder, no Updater, …) is skipped.
func Run(t *testing.T, c Case) {
	for _, ch := range checks {
		t.Run(ch.name, func(t *testing.T) { ch.on(t, c) })
	}
}

// check is one promise. It takes a testing.TB so that the suite's own test can
// watch it fail.
type check struct {
	name string
	run  func(t testing.TB, c Case)
}

// on runs the check with articles that are made once.
func (ch check) on(t testing.TB, c Case) {
	if c.Articles == nil {
		c.Articles = Samples
	}
	articles := c.Articles(t)
	c.Articles = func(testing.TB) Articles { return articles }
	ch.run(t, c)
}

// since is what look-ups are given: the begin of the delivery's first attempt,
// less two seconds.
func since(began time.Time) time.Time { return began.Add(-2 * time.Second) }

// bench is one adapter on one world, with everything that it says kept.
type bench struct {
	t        testing.TB
	c        Case
	world    *World
	faults   Faults
	env      platforms.Env
	log      *logBuffer
	platform platforms.Platform
	articles Articles
	began    time.Time

	mu   sync.Mutex
	errs []error // every error that the adapter returned
	said []any   // every receipt and look-up that it returned
}

// setUp makes a fresh world with an adapter on it.
func setUp(t testing.TB, c Case) *bench {
	t.Helper()
	w := c.New(t)
	b := &bench{t: t, c: c, world: w, faults: w.Faults, log: &logBuffer{}, articles: c.Articles(t), began: time.Now()}
	dir := t.TempDir()
	b.env = platforms.Env{
		Target:   "test",
		Dir:      filepath.Join(dir, "private"),
		Base:     dir,
		Location: time.FixedZone("+08:00", 8*60*60),
		Log:      slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if b.faults == nil && w.Transport != nil {
		ft := NewFaultTransport(w.Transport)
		b.faults, b.env.Transport = ft, ft
	}
	b.reopen()
	return b
}

// reopen starts a new adapter on the same world, as a restart does.
func (b *bench) reopen() {
	b.t.Helper()
	p, err := b.world.Open(b.env)
	if err != nil {
		b.t.Fatalf("open the adapter: %v", err)
	}
	b.platform = p
}

// needFaults skips the check where nothing can be broken.
func (b *bench) needFaults() {
	b.t.Helper()
	if b.faults == nil {
		b.t.Skip("the world has neither a Transport nor Faults")
	}
}

// ability returns the platform's optional interface T, or skips the check.
func ability[T any](b *bench) T {
	b.t.Helper()
	p, ok := b.platform.(T)
	if !ok {
		b.t.Skipf("%T is no %T", b.platform, (*T)(nil))
	}
	return p
}

// render makes a post of a, with the key and the revision that the delivery
// would set.
func (b *bench) render(a *article.Article, revision int) platforms.Post {
	b.t.Helper()
	p, err := b.platform.Render(a)
	if err != nil {
		b.t.Fatalf("render %q: %v", a.ID, err)
	}
	p.Key, p.Revision = keyOf(a), revision
	return p
}

// keep remembers what a call returned, for the checks that read all of it.
func (b *bench) keep(err error, answer any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.errs = append(b.errs, err)
	}
	b.said = append(b.said, answer)
}

// logBuffer collects log lines from several goroutines.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
