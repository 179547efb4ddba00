package compensate

import (
	"errors"
	"fmt"
	"time"

	"herald/state"
)

// DueChecks returns the articles whose quality is to be checked now, and when the
// next one is.
func (dr *Driver) DueChecks(now time.Time, limit int) (articles []state.Article, next time.Time, err error) {
	err = dr.store.View(func(r state.Reader) error {
		ids, at, err := r.DueChecks(now, limit)
		if err != nil {
			return err
		}
		articles, next = nil, at
		for _, id := range ids {
			a, err := r.Article(id)
			if err != nil {
				return err
			}
			articles = append(articles, a)
		}
		return nil
	})
	if err != nil {
		return nil, next, fmt.Errorf("find due checks: %w", err)
	}
	return articles, next, nil
}

// Recent returns the articles accepted since then, newest first.
func (dr *Driver) Recent(since time.Time) (articles []state.Article, err error) {
	err = dr.store.View(func(r state.Reader) error {
		articles = nil
		ids, err := r.Newest(recentDepth)
		if err != nil {
			return err
		}
		for _, id := range ids {
			a, err := r.Article(id)
			if err != nil {
				return err
			}
			if a.AcceptedAt.Before(since) {
				return nil
			}
			articles = append(articles, a)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find recent articles: %w", err)
	}
	return articles, nil
}

// recentDepth bounds how many of the newest articles are compared with.
const recentDepth = 2000

// Checked is a verdict on a revision of an article.
type Checked struct {
	Quality state.Quality
	// Hold keeps the article from being published; nil lets it go.
	Hold *state.ArticleHold
	// Again is when to check once more; zero: not.
	Again time.Time
}

// Checked saves the verdict on a revision and lets the article's deliveries go,
// or holds them. A verdict on an older revision is dropped. One that comes after
// publication changes nothing by itself: a person is told.
func (dr *Driver) Checked(id state.ArticleID, revision int, c Checked, now time.Time) error {
	var wake []string
	err := dr.store.Update(func(tx state.Tx) error {
		wake = nil
		a, err := tx.Article(id)
		if err != nil || a.Revision != revision {
			return err
		}
		a.Quality, a.CheckDue = &c.Quality, c.Again
		ds, err := tx.Deliveries(id)
		if err != nil {
			return err
		}
		begun := false
		for _, d := range ds {
			begun = begun || d.Attempts > 0
		}
		if c.Hold != nil && !a.IsApproved(c.Hold.Reason) {
			if err := dr.tellHeld(tx, a, *c.Hold); err != nil {
				return err
			}
			if !begun {
				a.Hold = c.Hold
			}
		}
		if c.Hold == nil && !c.Quality.Degraded && a.Hold != nil && a.Hold.Reason == state.HeldQuality {
			a.Hold = nil // it was held because nobody could check it
		}
		for _, d := range ds {
			if d.State != state.Queued || d.Waits == state.WaitsOthers || !d.Due.IsZero() {
				continue
			}
			if d.Waits = ""; dr.comesLast(&a, d.Target) {
				d.Waits = state.WaitsOthers
			}
			if a.Hold == nil && d.Waits == "" {
				e := state.Event{Verb: state.Delay, At: now, Due: later(now, a.PublishAt), Free: true, Note: "checked: " + c.Quality.By}
				if d, err = d.Apply(e); err != nil {
					return err
				}
				wake = append(wake, d.Target)
			}
			if err := tx.PutDelivery(d); err != nil {
				return err
			}
		}
		return errors.Join(dr.releaseLast(tx, &a, now), tx.PutArticle(a))
	})
	if err != nil {
		return fmt.Errorf("save verdict on %s: %w", id, err)
	}
	for _, target := range wake {
		dr.wake(target)
	}
	return nil
}
