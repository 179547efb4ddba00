package scheduler_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/article"
	"herald/compensate"
	"herald/scheduler"
	"herald/state"
)

// checkDesk remembers verdicts; an article is due until it has one.
type checkDesk struct {
	mu       sync.Mutex
	due      map[state.ArticleID]time.Time
	verdicts map[state.ArticleID][]compensate.Checked
}

func (d *checkDesk) DueChecks(now time.Time, limit int) (due []state.Article, next time.Time, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, at := range d.due {
		switch {
		case at.After(now):
			if next.IsZero() || at.Before(next) {
				next = at
			}
		case len(due) < limit:
			due = append(due, state.Article{ID: id, Revision: 1})
		}
	}
	return due, next, nil
}

func (d *checkDesk) Checked(id state.ArticleID, _ int, c compensate.Checked, _ time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.verdicts[id] = append(d.verdicts[id], c)
	delete(d.due, id)
	if !c.Again.IsZero() {
		d.due[id] = c.Again
	}
	return nil
}

func (d *checkDesk) got(id state.ArticleID) []compensate.Checked {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.verdicts[id]
}

type noSources struct{}

func (noSources) Read(a state.Article, _ int) (*article.Article, error) {
	return &article.Article{ID: string(a.ID)}, nil
}

func runChecks(t *testing.T, d *checkDesk, judge scheduler.Judge) (wake func(), stop func()) {
	t.Helper()
	c := scheduler.NewChecks(d, noSources{}, judge, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); c.Run(ctx) }()
	return c.Wake, func() { cancel(); <-ended }
}

func TestADegradedArticleIsCheckedAgainAtItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &checkDesk{due: map[state.ArticleID]time.Time{"x": time.Now()}, verdicts: map[state.ArticleID][]compensate.Checked{}}
		calls := 0
		_, stop := runChecks(t, d, func(context.Context, state.Article, *article.Article) compensate.Checked {
			if calls++; calls < 3 {
				return compensate.Checked{Quality: state.Quality{Degraded: true}, Again: time.Now().Add(10 * time.Minute)}
			}
			return compensate.Checked{Quality: state.Quality{By: "ai", Pass: true}}
		})
		defer stop()
		<-time.After(9 * time.Minute)
		if n := len(d.got("x")); n != 1 {
			t.Fatalf("verdicts before its time: got %d, want 1", n)
		}
		<-time.After(24 * time.Hour)
		if v := d.got("x"); len(v) != 3 || v[2].Quality.By != "ai" {
			t.Errorf("verdicts: got %+v, want two degraded and one by ai", v)
		}
	})
}

func TestAHangingCheckKeepsNoOtherArticleWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &checkDesk{due: map[state.ArticleID]time.Time{"hangs": time.Now(), "x": time.Now()}, verdicts: map[state.ArticleID][]compensate.Checked{}}
		_, stop := runChecks(t, d, func(ctx context.Context, a state.Article, _ *article.Article) compensate.Checked {
			if a.ID == "hangs" {
				<-ctx.Done()
			}
			return compensate.Checked{}
		})
		<-time.After(time.Second)
		if len(d.got("x")) != 1 {
			t.Error("x was kept waiting")
		}
		stop()
		if len(d.got("hangs")) != 0 {
			t.Error("a check that was cut short left a verdict")
		}
	})
}

func TestAJudgeThatPanicsLetsTheArticleGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &checkDesk{due: map[state.ArticleID]time.Time{}, verdicts: map[state.ArticleID][]compensate.Checked{}}
		wake, stop := runChecks(t, d, func(context.Context, state.Article, *article.Article) compensate.Checked { panic("broken") })
		defer stop()
		<-time.After(time.Hour)
		d.mu.Lock()
		d.due["x"] = time.Now()
		d.mu.Unlock()
		wake()
		<-time.After(time.Second)
		if v := d.got("x"); len(v) != 1 || !v[0].Quality.Pass || !v[0].Quality.Degraded {
			t.Errorf("got %+v, want one degraded pass", v)
		}
	})
}
