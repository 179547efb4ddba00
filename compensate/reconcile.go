package compensate

import (
	"errors"
	"fmt"
	"time"

	"herald/platforms"
	"herald/state"
)

// Finding is something that should not be, or that a sweep has mended.
type Finding struct {
	Article state.ArticleID
	Target  string
	What    string
	Mended  bool
}

const (
	// overdueAfter is how long a delivery may be due before the sweep says so.
	overdueAfter = 10 * time.Minute
	// openAfter is how long an outcome may be open before the sweep says so.
	openAfter = 24 * time.Hour
	// observeEvery is the least time between two readings of a published post.
	observeEvery = 24 * time.Hour
	// observeDepth bounds how many of the newest articles a sweep reads again.
	observeDepth = 1000
)

// Reconcile looks for what should not be: deliveries that are overdue, outcomes
// open for a day, articles without deliveries, wakes too far away to be true
// after the clock was set back. It mends what is safe to mend and returns the
// rest. Posts published within recent are read again, once a day.
func (dr *Driver) Reconcile(recent time.Duration, now time.Time) ([]Finding, error) {
	found, far, err := dr.lookOver(now)
	if err != nil {
		return nil, err
	}
	for _, k := range far {
		if err := dr.bringNear(k, now); err != nil {
			return found, err
		}
		found = append(found, Finding{k.Article, k.Target, "its next step lay further away than any wait: the clock was set back", true})
	}
	if recent <= 0 {
		return found, nil
	}
	return found, dr.observeRecent(now.Add(-recent), now)
}

// lookOver reads every unfinished article and names what is not as it should be.
func (dr *Driver) lookOver(now time.Time) (found []Finding, far []state.Key, err error) {
	err = dr.store.View(func(r state.Reader) error {
		found, far = nil, nil
		if found, err = empty(r); err != nil {
			return err
		}
		return r.Unfinished(func(id state.ArticleID) error {
			a, err := r.Article(id)
			if err != nil {
				return err
			}
			ds, err := r.Deliveries(id)
			if err != nil {
				return err
			}
			if _, err := dr.sources.Read(a, a.Revision); err != nil {
				found = append(found, Finding{id, "", fmt.Sprintf("its stored source cannot be read (%v); drop the article again", err), false})
			}
			for _, d := range ds {
				t := dr.targets[d.Target]
				if t == nil {
					found = append(found, Finding{id, d.Target, "the target is not configured any more; `herald cancel` drops the delivery", false})
					continue
				}
				hold, err := r.Hold(t.Account)
				if err != nil {
					return err
				}
				late := now.Sub(d.Due)
				switch {
				case d.State == state.Uncertain && now.Sub(d.LastBegun) > openAfter:
					found = append(found, Finding{id, d.Target, "its outcome is open for more than a day", false})
				case d.Due.IsZero():
				case d.Due.After(farthest(a, t.Settings().Retry.Max, t.Settings().Review.Max, t.Settings().Timeout+leaseMargin, now)):
					far = append(far, d.Key())
				case late > overdueAfter && !hold.Active(now) && !t.Ready(now, true).After(now):
					found = append(found, Finding{id, d.Target, fmt.Sprintf("overdue by %s, though nothing holds it", late.Round(time.Second)), false})
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, nil, fmt.Errorf("reconcile: %w", err)
	}
	return found, far, nil
}

// empty names articles that go nowhere: no admission leaves one, a damaged store
// may.
func empty(r state.Reader) (found []Finding, err error) {
	ids, err := r.Newest(observeDepth)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		ds, err := r.Deliveries(id)
		if err != nil {
			return nil, err
		}
		if len(ds) == 0 {
			found = append(found, Finding{id, "", "it has no delivery; drop the article again", false})
		}
	}
	return found, nil
}

// farthest is the latest time that a wait can end at: by policy, or because the
// article says so. A platform's own Retry-After is capped at a day.
func farthest(a state.Article, retryMax, reviewMax, lease time.Duration, now time.Time) time.Time {
	const retryAfterCap = 25 * time.Hour
	at := now.Add(2*max(retryMax, reviewMax, lease) + retryAfterCap)
	return later(at, a.PublishAt)
}

// bringNear lets a delivery whose wake was written under another clock go on.
func (dr *Driver) bringNear(k state.Key, now time.Time) error {
	w, err := dr.load(k)
	if err != nil {
		return err
	}
	if w.State == state.Sending {
		_, err = dr.apply(w, lost(w.Delivery, dr.context(w, now), state.DoubtLost, "the clock was set back during the call"))
		return err
	}
	_, err = dr.apply(w, state.Event{Verb: state.Delay, At: now, Due: now, Free: true, Note: "the clock was set back"})
	return err
}

// observeRecent has what was published since read again.
func (dr *Driver) observeRecent(since, now time.Time) error {
	var due []state.Key
	err := dr.store.View(func(r state.Reader) error {
		ids, err := r.Newest(observeDepth)
		if err != nil {
			return err
		}
		for _, id := range ids {
			ds, err := r.Deliveries(id)
			if err != nil {
				return err
			}
			if dr.moved != nil {
				dr.moved(id) // its receipt may be the one that could not be written
			}
			for _, d := range ds {
				if d.State == state.Published && d.Due.IsZero() && d.PublishedAt.After(since) &&
					now.Sub(later(d.ObservedAt, d.PublishedAt)) >= observeEvery && dr.canFind(d.Target) {
					due = append(due, d.Key())
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reconcile: %w", err)
	}
	for i, k := range due {
		err := dr.store.Update(func(tx state.Tx) error {
			d, err := tx.Delivery(k)
			if err != nil || d.State != state.Published {
				return err
			}
			d.Due = now.Add(time.Duration(i) * time.Microsecond)
			return tx.PutDelivery(d)
		})
		if err != nil {
			return fmt.Errorf("reconcile %s: %w", k, err)
		}
		dr.wake(k.Target)
	}
	return nil
}

func (dr *Driver) canFind(target string) bool {
	t := dr.targets[target]
	if t == nil {
		return false
	}
	_, ok := t.Platform.(platforms.Finder)
	return ok
}

// Known reports whether the store has a record of the article.
func (dr *Driver) Known(id state.ArticleID) (known bool, err error) {
	err = dr.store.View(func(r state.Reader) error {
		switch _, err := r.Article(id); {
		case errors.Is(err, state.ErrNotFound):
			return nil
		case err != nil:
			return err
		}
		known = true
		return nil
	})
	return known, err
}

// Record returns an article with its deliveries, for the receipt that is kept
// beside its source.
func (dr *Driver) Record(id state.ArticleID) (a state.Article, ds []state.Delivery, err error) {
	err = dr.store.View(func(r state.Reader) error {
		if a, err = r.Article(id); err != nil {
			return err
		}
		ds, err = r.Deliveries(id)
		return err
	})
	if err != nil {
		return a, ds, fmt.Errorf("read record of %s: %w", id, err)
	}
	return a, ds, nil
}

// Restore puts a record back that the store has lost. A delivery that was under
// way becomes an open question; one the store knows already is left alone.
func (dr *Driver) Restore(a state.Article, ds []state.Delivery, now time.Time) (bool, error) {
	restored := false
	err := dr.store.Update(func(tx state.Tx) error {
		restored = false
		if _, err := tx.Article(a.ID); err == nil {
			return nil
		}
		a.Version = 0
		if err := tx.PutArticle(a); err != nil {
			return err
		}
		for _, d := range ds {
			d.Version = 0
			switch d.State {
			case state.Sending:
				d.State, d.Doubt, d.Due = state.Uncertain, state.DoubtCrash, time.Time{}
				if dr.canFind(d.Target) {
					d.Due = now
				}
			case state.Published:
				d.Due = time.Time{}
			}
			if err := tx.PutDelivery(d); err != nil {
				return err
			}
		}
		restored = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("restore %s: %w", a.ID, err)
	}
	return restored, nil
}
