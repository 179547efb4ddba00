package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"herald/article"
	"herald/compensate"
	"herald/state"
)

// CheckDriver is the driver as the checks see it.
type CheckDriver interface {
	DueChecks(now time.Time, limit int) ([]state.Article, time.Time, error)
	Checked(id state.ArticleID, revision int, c compensate.Checked, now time.Time) error
}

// Judge judges a revision of an article. It ends within its own deadline and
// never fails: what cannot be judged is judged by less.
type Judge func(ctx context.Context, a state.Article, src *article.Article) compensate.Checked

// checksAtOnce is how many articles are judged at a time: a judge that hangs
// until its deadline must not keep the next article waiting.
const checksAtOnce = 4

// Checks makes the quality checks that are due.
type Checks struct {
	driver  CheckDriver
	sources compensate.Sources
	judge   Judge
	log     *slog.Logger
	wake    chan struct{}
}

// NewChecks makes the runner of the checks; it stands still until Run.
func NewChecks(driver CheckDriver, sources compensate.Sources, judge Judge, log *slog.Logger) *Checks {
	return &Checks{driver: driver, sources: sources, judge: judge, log: log, wake: make(chan struct{}, 1)}
}

// Wake makes it look for checks that are due.
func (c *Checks) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run checks until ctx ends. A check that is cut short by that is made again
// after the next start, since its article still says that it is due.
func (c *Checks) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-timer.C:
		}
		if next := c.round(ctx); !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

// round makes what is due and returns when to look again; zero: when woken.
func (c *Checks) round(ctx context.Context) time.Time {
	for {
		now := time.Now()
		due, next, err := c.driver.DueChecks(now, checksAtOnce)
		if err != nil {
			c.log.Error("due checks cannot be found", "error", err)
			return now.Add(faultRest)
		}
		if len(due) == 0 || ctx.Err() != nil {
			return next
		}
		failed := false
		var mu sync.Mutex
		var running sync.WaitGroup
		for _, a := range due {
			running.Go(func() {
				if err := c.check(ctx, a); err != nil && ctx.Err() == nil {
					c.log.Error("quality cannot be checked", "article", a.ID, "error", err)
					mu.Lock()
					failed = true
					mu.Unlock()
				}
			})
		}
		running.Wait()
		if failed {
			return time.Now().Add(faultRest)
		}
	}
}

func (c *Checks) check(ctx context.Context, a state.Article) (err error) {
	defer func() { // a judge that panics is as unwell as one that does not answer
		if v := recover(); v != nil {
			c.log.Error("the quality check panicked", "article", a.ID, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = c.driver.Checked(a.ID, a.Revision, compensate.Checked{Quality: state.Quality{
				By: "basic", Pass: true, Degraded: true, Details: "the quality check failed; the article goes out unchecked",
			}}, time.Now())
		}
	}()
	src, err := c.sources.Read(a, a.Revision)
	if err != nil {
		return err
	}
	began := time.Now()
	verdict := c.judge(ctx, a, src)
	if ctx.Err() != nil {
		return nil
	}
	q := verdict.Quality
	c.log.Info("quality checked", "article", a.ID, "by", q.By, "pass", q.Pass, "degraded", q.Degraded, "took", time.Since(began).Round(time.Millisecond))
	return c.driver.Checked(a.ID, a.Revision, verdict, time.Now())
}
